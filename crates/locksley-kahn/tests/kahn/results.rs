//! What comes out of a network, and what its report says.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use locksley::Pool;
use locksley::task::Placement;
use locksley_kahn::{Network, Receiver, Sender};

use crate::common::pools;
use crate::{Counted, crossed, ring};

#[test]
fn messages_arrive_in_order_whatever_the_capacity() {
    for pool in pools() {
        for capacity in [1, 2, 3, 4, 7, 8, 9, 64, 1000] {
            let mut network = Network::new();
            let (output, input) = network.channel("numbers", capacity);
            network.process("count", output, async |mut output| {
                for n in 0..500_u32 {
                    output.send(n).await;
                }
            });
            let all = network.process("all", input, async |mut input: Receiver<u32>| {
                let mut all = Vec::new();
                while let Some(n) = input.recv().await {
                    all.push(n);
                }
                assert_eq!(input.recv().await, None, "it stays so");
                all
            });
            let report = network.run(&pool).unwrap();
            assert_eq!(all.take().unwrap(), Vec::from_iter(0..500));
            let numbers = &report.channels[0];
            assert_eq!((numbers.sent, numbers.received), (500, 500));
            assert_eq!((numbers.from, numbers.to), (Some(0), Some(1)));
            assert_eq!((numbers.capacity, report.times_grown), (capacity as u64, 0));
            assert_eq!((numbers.high_water, report.processes[1].busy), (None, None));
        }
    }
}

#[test]
fn what_is_not_received_is_dropped_and_counted() {
    for pool in pools() {
        for (capacity, received) in [(1, 0), (1, 3), (16, 3), (16, 99), (200, 5)] {
            let count = Arc::new(AtomicUsize::new(0));
            let mut network = Network::new();
            let (output, input) = network.channel("numbers", capacity);
            let made = Arc::clone(&count);
            network.process("count", output, async move |mut output| {
                for _ in 0..100 {
                    output.send(Counted::new(&made)).await;
                }
            });
            network.process("some", input, async move |mut input: Receiver<Counted>| {
                for _ in 0..received {
                    assert!(input.recv().await.is_some());
                }
            });
            let report = network.run(&pool).unwrap();
            let numbers = &report.channels[0];
            assert_eq!((numbers.sent, numbers.received), (100, received));
            assert_eq!(numbers.sent - numbers.received, 100 - received);
            assert_eq!(count.load(Ordering::Relaxed), 0, "all are dropped when it has run");
        }
    }
}

#[test]
fn a_token_goes_round() {
    for pool in pools() {
        for size in [1, 2, 3, 100] {
            let mut network = Network::new();
            ring(&mut network, size, 1, 20);
            let report = network.run(&pool).unwrap();
            let sent: u64 = report.channels.iter().map(|channel| channel.sent).sum();
            assert_eq!(sent, 20 * size as u64 + 1);
        }
    }
}

#[test]
fn measured_times_and_fillings_are_there() {
    // One worker, so that the sender continues until there is no room left, however busy the
    // machine is.
    let pool = Pool::new(1).unwrap();
    let mut network = Network::new().measured();
    let (output, input) = network.channel("numbers", 4);
    let slow = Duration::from_millis(5);
    network.process("sends", output, async move |mut output| {
        for n in 0..10 {
            output.send(n).await;
        }
    });
    network.process("slow", input, async move |mut input| {
        while input.recv().await.is_some() {
            std::thread::sleep(slow);
        }
    });
    let report = network.run(&pool).unwrap();
    let numbers = &report.channels[0];
    assert_eq!(numbers.high_water, Some(4));
    assert!(numbers.sender_waited.unwrap() >= slow);
    assert!(report.processes[1].busy.unwrap() >= 10 * slow);
    assert!(report.processes[0].busy.unwrap() < report.time);
    assert!(report.time >= 10 * slow);
}

#[test]
fn a_network_runs_on_the_worker_that_asks_for_it() {
    for placement in [Placement::Last, Placement::Current] {
        let pool = Pool::builder().workers(1).placement(placement).build().unwrap();
        let sum = pool.install(|_| {
            let mut network = Network::new();
            let sum = crossed(&mut network, 1, 10);
            network.run(&pool).unwrap();
            sum.take()
        });
        assert_eq!(sum, Some(45));
    }
}

#[test]
fn zero_sized_and_large_messages() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    let (units, all_units) = network.channel("units", 2);
    let (large, all_large) = network.channel("large", 2);
    network.process("sends", (units, large), async |(mut units, mut large)| {
        for n in 0..100_u64 {
            units.send(()).await;
            large.send([n; 64]).await;
        }
    });
    let count = network.process("units", all_units, async |mut units: Receiver<()>| {
        let mut count = 0;
        while units.recv().await.is_some() {
            count += 1;
        }
        count
    });
    let sum = network.process("large", all_large, async |mut large: Receiver<[u64; 64]>| {
        let mut sum = 0;
        while let Some(numbers) = large.recv().await {
            sum += numbers.iter().sum::<u64>();
        }
        sum
    });
    network.run(&pool).unwrap();
    assert_eq!((count.take(), sum.take()), (Some(100), Some(64 * 4950)));
}

/// Messages go out of their process for good: what is dropped is dropped once, in the midst of
/// growing.
#[test]
fn what_lies_in_rings_that_were_replaced_is_dropped_once() {
    for pool in pools() {
        let count = Arc::new(AtomicUsize::new(0));
        let received = Arc::new(Mutex::new(Vec::new()));
        for wanted in [0, 1, 5, 30] {
            let mut network = Network::new();
            let (numbers, last) = network.channel("numbers", 1);
            let (signal, done) = network.channel("signal", 1);
            let made = Arc::clone(&count);
            network.process("first", (numbers, signal), async move |(mut numbers, mut signal)| {
                for n in 0..30 {
                    numbers.send((n, Counted::new(&made))).await;
                }
                signal.send(()).await;
            });
            let all = Arc::clone(&received);
            network.process("second", (last, done), async move |(mut last, mut done)| {
                done.recv().await;
                for _ in 0..wanted {
                    let (n, _) = last.recv().await.unwrap();
                    all.lock().unwrap().push(n);
                }
            });
            network.run(&pool).unwrap();
            assert_eq!(count.load(Ordering::Relaxed), 0);
            assert_eq!(std::mem::take(&mut *received.lock().unwrap()), Vec::from_iter(0..wanted));
        }
    }
}

#[allow(dead_code, reason = "that it compiles")]
fn ends_may_be_sent(sender: Sender<u8>, running: Pin<&mut locksley_kahn::Running>) -> impl Send {
    (sender, running)
}
