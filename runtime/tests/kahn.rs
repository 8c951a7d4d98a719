//! Process networks: what goes through them, and how they end.

#![cfg(not(loom))]

mod common;

use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use common::{Restless, in_time, message, pools};
use locksley::kahn::{
    Awaited, Declared, Inlet, Network, NetworkError, Outlet, Owner, Ports, Receiver, Sender,
};
use locksley::sync::Semaphore;
use locksley::task::{Placement, yield_now};
use locksley::{Pool, Waiting, Worker, block_on};

fn of(names: &[(&str, &str, Awaited)]) -> Vec<(String, String, Awaited)> {
    let mut names: Vec<_> =
        names.iter().map(|&(p, c, need)| (p.to_owned(), c.to_owned(), need)).collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    names
}

fn cycle(cycle: &locksley::kahn::Cycle) -> Vec<(String, String, Awaited)> {
    let waits = cycle.waits().iter();
    let mut names: Vec<_> =
        waits.map(|wait| (wait.process.clone(), wait.channel.clone(), wait.need)).collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    names
}

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
            let numbers = &report.channels()[0];
            assert_eq!((numbers.sent, numbers.received, numbers.discarded()), (500, 500, 0));
            assert_eq!((numbers.from, numbers.to), (Some(0), Some(1)));
            assert_eq!((numbers.capacity, report.times_grown()), (capacity as u64, 0));
            assert_eq!((numbers.high_water, report.processes()[1].busy), (None, None));
        }
    }
}

/// Counts how many there are.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn what_nobody_receives_is_dropped_and_counted() {
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
            let numbers = &report.channels()[0];
            assert_eq!((numbers.sent, numbers.received), (100, received));
            assert_eq!(numbers.discarded(), 100 - received);
            assert_eq!(count.load(Ordering::Relaxed), 0, "all are dropped when it has run");
        }
    }
}

#[test]
fn an_end_that_is_dropped_before_the_run_is_no_end_of_anybody() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    let (output, input) = network.channel::<u8>("dropped", 1);
    drop(input);
    let (never, nothing) = network.channel::<u8>("never", 1);
    drop(never);
    network.process("sends", output, async |mut output| {
        for n in 0..9 {
            output.send(n).await;
        }
    });
    let nothing = network.process("receives", nothing, async |mut input| input.recv().await);
    let report = network.run(&pool).unwrap();
    assert_eq!(nothing.take(), Some(None));
    let dropped = &report.channels()[0];
    assert_eq!((dropped.sent, dropped.received, dropped.to), (9, 0, None));
}

#[test]
fn an_end_without_a_process_is_an_error() {
    let pool = Pool::new(1).unwrap();
    for keep_outlet in [true, false] {
        let mut network = Network::new();
        let (output, input) = network.channel::<u8>("loose", 1);
        let keep: Box<dyn std::any::Any> = if keep_outlet {
            network.process("end", input, async |_input| {});
            Box::new(output)
        } else {
            network.process("begin", output, async |_output| {});
            Box::new(input)
        };
        match network.run(&pool) {
            Err(NetworkError::Unowned { channel }) => assert_eq!(channel, "loose"),
            other => panic!("{other:?}"),
        }
        drop(keep);
    }
}

#[test]
fn ends_of_another_network_are_not_accepted() {
    let (mut one, mut other) = (Network::new(), Network::new());
    let (_, input) = one.channel::<u8>("one", 1);
    other.channel::<u8>("other", 1);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        other.process("thief", input, async |_| {});
    }));
    assert!(message(&*caught.unwrap_err()).contains("belongs to another network"));
}

#[test]
#[should_panic(expected = "holds a message at least")]
fn a_channel_without_room_is_refused() {
    let _ = Network::new().channel::<u8>("none", 0);
}

/// Passes on what it gets, `turns` times.
async fn pass_on(mut input: Receiver<u64>, mut output: Sender<u64>, turns: usize) -> u64 {
    let mut last = 0;
    for _ in 0..turns {
        let Some(n) = input.recv().await else { return last };
        last = n + 1;
        output.send(last).await;
    }
    last
}

/// A ring of processes, of which one has `tokens` to begin with.
fn ring(network: &mut Network, size: usize, tokens: usize, turns: usize) {
    let (outlets, mut inlets): (Vec<_>, Vec<_>) =
        (0..size).map(|n| network.channel(format!("{n}"), 1)).unzip();
    inlets.rotate_right(1);
    for (n, (output, input)) in outlets.into_iter().zip(inlets).enumerate() {
        network.process(format!("p{n}"), (output, input), async move |(mut output, input)| {
            if n == 0 {
                for _ in 0..tokens {
                    output.send(0).await;
                }
            }
            pass_on(input, output, turns).await
        });
    }
}

#[test]
fn a_token_goes_round() {
    for pool in pools() {
        for size in [1, 2, 3, 100] {
            let mut network = Network::new();
            ring(&mut network, size, 1, 20);
            let report = network.run(&pool).unwrap();
            let sent: u64 = report.channels().iter().map(|channel| channel.sent).sum();
            assert_eq!(sent, 20 * size as u64 + 1);
        }
    }
}

#[test]
fn a_ring_without_a_token_is_a_deadlock_and_all_of_it_is_named() {
    for pool in pools() {
        for size in [1, 2, 3, 50] {
            let mut network = Network::new();
            ring(&mut network, size, 0, 1);
            match network.run(&pool) {
                Err(NetworkError::Deadlock(found)) => {
                    let mut expected: Vec<_> = (0..size)
                        .map(|n| {
                            (
                                format!("p{n}"),
                                format!("{}", (n + size - 1) % size),
                                Awaited::Message,
                            )
                        })
                        .collect();
                    expected.sort_by(|a, b| a.0.cmp(&b.0));
                    assert_eq!(cycle(&found), expected);
                    // Each waits for the next one.
                    for (wait, next) in
                        found.waits().iter().zip(found.waits().iter().cycle().skip(1))
                    {
                        assert_eq!(format!("p{}", wait.channel), next.process);
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_full_ring_grows() {
    for pool in pools() {
        let mut network = Network::new();
        ring(&mut network, 5, 12, 30); // more tokens than there is room for
        let report = network.run(&pool).unwrap();
        assert!(report.times_grown() >= 1);
        let sent: u64 = report.channels().iter().map(|channel| channel.sent).sum();
        assert_eq!(sent, 5 * 30 + 12);
    }
}

/// Two processes that wait for each other, one of them for room. The other takes `wanted` messages at once in the end.
fn crossed(network: &mut Network, capacity: usize, sent: u32) -> locksley::kahn::Product<u32> {
    let (numbers, last) = network.channel("numbers", capacity);
    let (signal, done) = network.channel("signal", 1);
    network.process("first", (numbers, signal), async move |(mut numbers, mut signal)| {
        for n in 0..sent {
            numbers.send(n).await;
        }
        signal.send(()).await;
    });
    network.process("second", (last, done), async |(mut last, mut done)| {
        done.recv().await;
        let mut sum = 0;
        while let Some(n) = last.recv().await {
            sum += n;
        }
        sum
    })
}

#[test]
fn an_artificial_deadlock_is_resolved_up_to_the_limit() {
    for pool in pools() {
        let mut network = Network::new();
        let sum = crossed(&mut network, 3, 100);
        let report = network.run(&pool).unwrap();
        assert_eq!(sum.take(), Some(4950));
        assert_eq!(report.channels()[0].capacity, 192, "3, doubled until there is room for 100");
        assert_eq!(report.times_grown(), 6);
        assert_eq!(report.channels()[1].capacity, 1);

        let mut network = Network::new().limit(100);
        let sum = crossed(&mut network, 3, 100);
        assert_eq!(network.run(&pool).unwrap().channels()[0].capacity, 100);
        assert_eq!(sum.take(), Some(4950));

        let mut network = Network::new().limit(99);
        let sum = crossed(&mut network, 3, 100);
        match network.run(&pool) {
            Err(NetworkError::Limit { channel, capacity, cycle: found }) => {
                assert_eq!((channel.as_str(), capacity), ("numbers", 99));
                let expected =
                    [("first", "numbers", Awaited::Room), ("second", "signal", Awaited::Message)];
                assert_eq!(cycle(&found), of(&expected));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(sum.take(), None);
    }
}

#[test]
fn the_smallest_full_channel_grows() {
    for pool in pools() {
        let mut network = Network::new();
        let [a, b, c] =
            [("large", 100), ("small", 2), ("signal", 1)].map(|(n, c)| network.channel(n, c));
        network.process("a", (a.0, c.1), async |(mut output, mut signal)| {
            for n in 0..200 {
                output.send(n).await;
            }
            while signal.recv().await.is_some() {}
        });
        network.process("b", (a.1, b.0), async |(mut input, mut output)| {
            // Sends twice as many as it receives.
            while let Some(n) = input.recv().await {
                output.send(n).await;
                output.send(n).await;
            }
        });
        network.process(
            "c",
            (b.1, c.0),
            async |(mut input, mut signal): (Receiver<i32>, Sender<i32>)| {
                // Nothing is received before the signal is sent, and that is not received before all is sent.
                for n in 0..20 {
                    signal.send(n).await;
                }
                drop(signal);
                while input.recv().await.is_some() {}
            },
        );
        // All three wait for room, until there is some for all signals: the smallest grows, and of two the first.
        let report = network.run(&pool).unwrap();
        let capacities: Vec<u64> =
            report.channels().iter().map(|channel| channel.capacity).collect();
        assert_eq!(capacities, [100, 32, 32]);
        assert_eq!(report.times_grown(), 4 + 5);
    }
}

#[test]
fn a_local_deadlock_is_found_while_others_go_on() {
    for workers in [1, 2, 4] {
        let pool = Pool::new(workers).unwrap();
        let mut network = Network::new();
        // Two that never end, and a pair that needs room.
        let (ping, pinged) = network.channel("ping", 1);
        let (pong, ponged) = network.channel("pong", 1);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        network.process("a", (ping, ponged), async move |(mut ping, mut ponged)| {
            while !stopped.load(Ordering::Relaxed) {
                ping.send(()).await;
                ponged.recv().await;
            }
        });
        network.process("b", (pinged, pong), async |(mut pinged, mut pong)| {
            while pinged.recv().await.is_some() {
                pong.send(()).await;
            }
        });
        let (end, ended) = network.channel("end", 1);
        let (numbers, last) = network.channel("numbers", 1);
        let (signal, done) = network.channel("signal", 1);
        network.process("first", (numbers, signal), async move |(mut numbers, mut signal)| {
            for n in 0..50 {
                numbers.send(n).await;
            }
            signal.send(()).await;
        });
        network.process("second", (last, done, end), async |(mut last, mut done, mut end)| {
            done.recv().await;
            while last.recv().await.is_some() {}
            end.send(()).await;
        });
        network.process("stop", ended, async move |mut ended| {
            ended.recv().await;
            stop.store(true, Ordering::Relaxed);
        });
        network.run(&pool).unwrap();
    }
}

/// As above, with a chain so long that it is not followed at once.
#[test]
fn a_long_local_deadlock_is_found_while_others_go_on() {
    for workers in [1, 2, 4] {
        let pool = Pool::new(workers).unwrap();
        let mut network = Network::new();
        let (ping, pinged) = network.channel::<()>("ping", 1);
        let (pong, ponged) = network.channel("pong", 1);
        network.process("a", (ping, ponged), async move |(mut ping, mut ponged)| {
            loop {
                ping.send(()).await;
                ponged.recv().await;
            }
        });
        network.process("b", (pinged, pong), async |(mut pinged, mut pong)| {
            while pinged.recv().await.is_some() {
                pong.send(()).await;
            }
        });
        ring(&mut network, 300, 0, 1);
        match network.run(&pool) {
            Err(NetworkError::Deadlock(cycle)) => assert_eq!(cycle.waits().len(), 300),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_panic_arrives_and_the_others_are_dropped() {
    for pool in pools() {
        let count = Arc::new(AtomicUsize::new(0));
        let mut network = Network::new();
        let (_, input) = network.channel::<u8>("nothing", 1);
        let (held, wanted) = network.channel::<u8>("held", 1);
        let counted = Counted::new(&count);
        network.process("holds", held, async move |_held| {
            let _counted = counted;
            pending::<()>().await;
        });
        let counted = Counted::new(&count);
        network.process("waits", wanted, async move |mut wanted| {
            let _counted = counted;
            wanted.recv().await;
        });
        network.process("panics", input, async |mut input| {
            yield_now().await;
            input.recv().await;
            panic!("no more arrows");
        });
        let error = network.run(&pool).unwrap_err();
        assert_eq!(error.to_string(), "process 'panics': the task panicked: no more arrows");
        assert_eq!(message(&*error.try_into_panic().unwrap()), "no more arrows");
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}

/// Panics when it is dropped, and counts that.
struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("dropped");
    }
}

#[test]
fn a_panic_while_a_process_is_made_or_dropped_arrives() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    network.process("made", (), |()| {
        assert!(std::hint::black_box(false), "made");
        pending::<()>()
    });
    network.process("waits", (), async |()| pending::<()>().await);
    let error = network.run(&pool).unwrap_err();
    assert_eq!(error.to_string(), "process 'made': the task panicked: made");

    // What nobody wants is dropped where the process ends.
    let count = Arc::new(AtomicUsize::new(0));
    let bomb = Bomb(Arc::clone(&count));
    let mut network = Network::new();
    drop(network.process("returns", (), async move |()| bomb));
    let error = network.run(&pool).unwrap_err();
    assert_eq!(error.to_string(), "process 'returns': the task panicked: dropped");
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn messages_that_panic_when_they_are_dropped_are_all_dropped() {
    let pool = Pool::new(2).unwrap();
    // With the receiver, and after it.
    for is_left_over in [false, true] {
        let count = Arc::new(AtomicUsize::new(0));
        let (say, said) = tokio::sync::oneshot::channel();
        let mut network = Network::new();
        let (output, input) = network.channel("bombs", 4);
        let mut bombs = [0; 3].map(|_| Some(Bomb(Arc::clone(&count))));
        if is_left_over {
            network.process("sends", output, async move |mut output| {
                output.send(None).await;
                said.await.unwrap();
                // It has seen that there is room, and does not look again.
                for bomb in &mut bombs {
                    output.send(bomb.take()).await;
                }
            });
            network.process("drops", input, async move |mut input: Receiver<Option<Bomb>>| {
                assert!(input.recv().await.unwrap().is_none());
                drop(input);
                say.send(()).unwrap();
            });
        } else {
            network.process("sends", output, async move |mut output| {
                for bomb in &mut bombs {
                    output.send(bomb.take()).await;
                }
                say.send(()).unwrap();
            });
            network.process("drops", input, async move |input: Receiver<Option<Bomb>>| {
                said.await.unwrap();
                drop(input);
            });
        }
        let place = if is_left_over { "at the end, and in no process" } else { "process 'drops'" };
        let error = network.run(&pool).unwrap_err();
        assert_eq!(error.to_string(), format!("{place}: the task panicked: dropped"));
        assert_eq!(count.load(Ordering::Relaxed), 3);
    }
}

#[test]
fn a_panic_that_nobody_asks_for_goes_to_the_handler() {
    for drops_first in [true, false] {
        let (tell, told) = std::sync::mpsc::channel();
        let handler = move |payload: Box<dyn std::any::Any + Send>| {
            tell.send(message(&*payload).to_owned()).unwrap();
        };
        let pool = Pool::builder().workers(2).panic_handler(handler).build().unwrap();
        let (go, goes) = tokio::sync::oneshot::channel();
        let mut network = Network::new();
        network.process("panics", (), async move |()| {
            goes.await.unwrap();
            panic!("no more arrows");
        });
        let running = network.start(&pool).unwrap();
        if drops_first {
            drop(running);
            go.send(()).unwrap();
        } else {
            go.send(()).unwrap();
            drop(running);
        }
        let found = told.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(found, "no more arrows");
    }
}

/// Fails if it does not end soon.
fn ends(running: locksley::kahn::Running) -> Result<locksley::kahn::Report, NetworkError> {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(running.join()));
    told.recv_timeout(Duration::from_secs(20)).expect("the network ends")
}

#[test]
fn an_end_that_outlives_its_process_is_an_error() {
    type Keep<E> = fn(E) -> Option<E>;
    let keeps: [Keep<Box<dyn std::any::Any + Send + Sync>>; 3] = [
        Some,
        |end| {
            std::mem::forget(end);
            None
        },
        |end| {
            drop(locksley::task::spawn(async move {
                let _end = end;
                pending::<()>().await;
            }));
            None
        },
    ];
    for pool in pools() {
        for keep in keeps {
            for is_sender in [true, false] {
                let mut network = Network::new();
                let (output, input) = network.channel::<u32>("numbers", 1);
                let product = if is_sender {
                    network.process(
                        "waits",
                        input,
                        async |mut input| {
                            while input.recv().await.is_some() {}
                        },
                    );
                    network.process("keeps", output, async move |mut output| {
                        output.send(1).await;
                        keep(Box::new(output))
                    })
                } else {
                    network.process("waits", output, async |mut output| {
                        loop {
                            output.send(1).await;
                        }
                    });
                    network.process("keeps", input, async move |mut input| {
                        input.recv().await;
                        keep(Box::new(input))
                    })
                };
                match ends(network.start(&pool).unwrap()) {
                    Err(NetworkError::Kept { process, channel }) => {
                        assert_eq!((&*process, &*channel), ("keeps", "numbers"));
                    }
                    other => panic!("{other:?}"),
                }
                drop(product);
            }
        }
    }
}

/// Becomes nothing, when somebody waits at the other end.
struct Dropped(Outlet<u8>, Arc<AtomicBool>);

impl Ports for Dropped {
    type Owned = ();
    fn declare(&self, declared: &mut Declared<'_>) {
        self.0.declare(declared);
    }
    fn own(self, _owner: &Owner<'_>) {
        while !self.1.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }
}

#[test]
fn ports_that_drop_what_was_declared_close_it() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    let (output, input) = network.channel("nothing", 1);
    let waits = Arc::new(AtomicBool::new(false));
    let says = Arc::clone(&waits);
    let received = network.process("waits", input, async move |mut input| {
        let mut received = pin!(input.recv());
        poll_fn(|context| {
            let polled = received.as_mut().poll(context);
            says.store(true, Ordering::Release);
            polled
        })
        .await
    });
    network.process("drops", Dropped(output, waits), async |()| pending::<()>().await);
    let running = network.start(&pool).unwrap();
    let patience = std::time::Instant::now() + Duration::from_secs(20);
    while received.get().is_none() && std::time::Instant::now() < patience {
        std::thread::yield_now();
    }
    assert_eq!(received.get(), Some(&None));
    running.cancel();
    assert!(matches!(ends(running), Err(NetworkError::Cancelled)));
}

/// A guest makes the last step into a long cycle, and then does something else for good.
#[test]
fn a_guest_that_leaves_looks_for_deadlocks_first() {
    const SIZE: usize = 50;
    let guest = std::thread::spawn(|| {
        let pool = Pool::builder().workers(2).with_current_thread().build().unwrap();
        // The other worker is kept away from the network.
        let (say, said) = std::sync::mpsc::channel();
        let (let_go, wait) = std::sync::mpsc::channel::<()>();
        pool.spawn(move |_| {
            say.send(()).unwrap();
            let _ = wait.recv();
        });
        said.recv().unwrap();
        let mut network = Network::new();
        ring(&mut network, SIZE, 0, 1);
        let running = network.start(&pool).unwrap();
        Worker::with_current(|guest| {
            // The task that begins the processes, and these.
            (0..=SIZE).for_each(|_| assert!(guest.unwrap().run_one()));
        });
        drop(let_go);
        match ends(running) {
            Err(NetworkError::Deadlock(found)) => assert_eq!(found.waits().len(), SIZE),
            other => panic!("{other:?}"),
        }
    });
    guest.join().unwrap();
}

/// Closures that spawn each other leave their worker nothing to hunt for.
#[test]
fn closures_without_end_do_not_put_off_the_look_for_deadlocks() {
    fn again(worker: &Worker, is_over: Arc<AtomicBool>) {
        if !is_over.load(Ordering::Acquire) {
            worker.spawn(move |worker| again(worker, is_over));
        }
    }
    for placement in [Placement::Last, Placement::Current] {
        let pool = Pool::builder().workers(1).placement(placement).build().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let closures = Arc::clone(&is_over);
        let running = pool.run(|worker| {
            worker.spawn(move |worker| again(worker, closures));
            let mut network = Network::new();
            ring(&mut network, 50, 0, 1);
            network.start(&pool).unwrap()
        });
        let patience = std::time::Instant::now() + Duration::from_secs(20);
        let is_found = || format!("{running:?}").contains("is_over: true");
        while !is_found() && std::time::Instant::now() < patience {
            std::thread::yield_now();
        }
        let is_in_time = is_found();
        is_over.store(true, Ordering::Release);
        assert!(matches!(running.join(), Err(NetworkError::Deadlock(_))));
        assert!(is_in_time);
    }
}

/// It never waits, and still does not keep the only worker.
#[test]
fn who_is_its_own_partner_gives_way_and_can_be_cancelled() {
    let pool = Pool::new(1).unwrap();
    let mut network = Network::new();
    let (output, input) = network.channel("itself", 2);
    let (say, said) = tokio::sync::oneshot::channel();
    network.process("endless", (output, input), async |(mut output, mut input)| {
        for n in 0_u64.. {
            output.send(n).await;
            assert_eq!(input.recv().await, Some(n));
        }
    });
    network.process("other", (), async move |()| say.send(()).unwrap());
    let running = network.start(&pool).unwrap();
    said.blocking_recv().unwrap();
    running.cancel();
    assert!(matches!(ends(running), Err(NetworkError::Cancelled)));
}

#[test]
fn cancelling_drops_all() {
    for pool in pools() {
        let count = Arc::new(AtomicUsize::new(0));
        let (say, said) = tokio::sync::oneshot::channel();
        let mut network = Network::new();
        let (output, input) = network.channel("numbers", 2);
        let (counted, other) = (Counted::new(&count), Counted::new(&count));
        network.process("sends", output, async move |mut output| {
            let _counted = counted;
            loop {
                output.send(0).await;
            }
        });
        network.process("receives", input, async move |mut input| {
            let _other = other;
            input.recv().await;
            say.send(()).unwrap();
            while input.recv().await.is_some() {}
        });
        let running = network.start(&pool).unwrap();
        said.blocking_recv().unwrap();
        running.cancel();
        assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}

/// It never waits, and still does not keep the only worker.
#[test]
fn who_sends_what_nobody_wants_gives_way_and_can_be_cancelled() {
    let pool = Pool::new(1).unwrap();
    let mut network = Network::new();
    let (output, input) = network.channel("unwanted", 2);
    drop(input);
    let (say, said) = tokio::sync::oneshot::channel();
    network.process("endless", output, async |mut output| {
        loop {
            output.send(0).await;
        }
    });
    network.process("other", (), async move |()| say.send(()).unwrap());
    let running = network.start(&pool).unwrap();
    said.blocking_recv().unwrap();
    running.cancel();
    assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
}

#[test]
fn a_dropped_pool_cancels() {
    for workers in [1, 3] {
        let pool = Pool::new(workers).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let mut network = Network::new();
        let (output, input) = network.channel::<u8>("nothing", 2);
        let (counted, other) = (Counted::new(&count), Counted::new(&count));
        network.process("holds", output, async move |_output| {
            let _counted = counted;
            pending::<()>().await;
        });
        network.process("receives", input, async move |mut input| {
            let _other = other;
            input.recv().await;
        });
        let running = network.start(&pool).unwrap();
        drop(pool);
        assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_network_that_is_not_run_is_dropped() {
    let count = Arc::new(AtomicUsize::new(0));
    let mut network = Network::new();
    let (output, input): (Outlet<u8>, Inlet<u8>) = network.channel("numbers", 2);
    let counted = Counted::new(&count);
    let product = network.process("sends", (output, input), async move |_ends| drop(counted));
    drop(network);
    assert_eq!(count.load(Ordering::Relaxed), 0);
    assert_eq!(product.take(), None);
}

#[test]
fn a_process_that_waits_for_something_else_is_no_deadlock() {
    for pool in pools() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()
            .unwrap();
        let handle = runtime.handle().clone();
        let (later, comes) = tokio::sync::oneshot::channel();
        let (say, said) = tokio::sync::oneshot::channel();
        let mut network = Network::new();
        let (to_b, from_a) = network.channel::<u32>("a to b", 1);
        let (to_a, from_b) = network.channel::<u32>("b to a", 1);
        network.process("a", (to_b, from_b), async move |(mut output, mut input)| {
            // Timers of tokio's, and a channel of its own.
            handle
                .spawn(async { tokio::time::sleep(Duration::from_millis(20)).await })
                .await
                .unwrap();
            say.send(()).unwrap();
            let n = comes.await.unwrap();
            output.send(n).await;
            assert_eq!(input.recv().await, Some(n + 1));
        });
        network.process("b", (from_a, to_a), async |(mut input, mut output)| {
            while let Some(n) = input.recv().await {
                output.send(n + 1).await;
            }
        });
        let running = network.start(&pool).unwrap();
        said.blocking_recv().unwrap();
        later.send(7).unwrap();
        // Awaited in tokio.
        runtime.block_on(running).unwrap();
    }
}

#[test]
fn what_was_taken_before_a_foreign_wait_makes_room() {
    // The capacity is such that a sender is woken after several messages only, or when the receiver waits.
    for workers in [1, 2] {
        let pool = Pool::new(workers).unwrap();
        let (sent, came) = tokio::sync::oneshot::channel();
        let mut network = Network::new();
        let (mut sent, mut came) = (Some(sent), Some(came));
        let (output, input) = network.channel("numbers", 40);
        let (mut sent, came) = (sent.take(), came.take().unwrap());
        network.process("sends", output, async move |mut output| {
            for n in 0..100 {
                output.send(n).await;
                if n == 40 {
                    sent.take().unwrap().send(()).unwrap(); // one had been taken
                }
            }
        });
        network.process("receives", input, async move |mut input| {
            assert_eq!(input.recv().await, Some(0));
            // Woken by who sends what there is room for now.
            came.await.unwrap();
            while input.recv().await.is_some() {}
        });
        network.run(&pool).unwrap();
    }
}

#[test]
fn what_was_taken_from_one_channel_before_another_makes_room() {
    for workers in [1, 2] {
        let pool = Pool::new(workers).unwrap();
        let mut network = Network::new();
        let (a, from_a) = network.channel("a", 40);
        let (b, from_b) = network.channel("b", 40);
        let (go, goes) = network.channel("go", 1);
        network.process("sends", (a, go), async |(mut a, mut go)| {
            for n in 0..41 {
                a.send(n).await;
            }
            go.send(()).await;
        });
        network.process("other", (b, goes), async |(mut b, mut goes)| {
            b.send(0).await;
            goes.recv().await;
            b.send(1).await;
        });
        network.process("receives", (from_a, from_b), async |(mut a, mut b)| {
            a.recv().await;
            b.recv().await;
            b.recv().await; // comes when there is room in the first one
            while a.recv().await.is_some() {}
        });
        assert_eq!(network.run(&pool).unwrap().times_grown(), 0);
    }
}

#[test]
fn a_process_that_is_dropped_while_it_waits_lets_others_go_on() {
    let pool = Pool::new(2).unwrap();
    for _ in 0..50 {
        let mut network = Network::new();
        let (output, input) = network.channel("numbers", 1);
        let (end, ended) = network.channel::<()>("end", 1);
        network.process("sends", output, async |mut output| {
            for n in 0..10 {
                output.send(n).await;
            }
        });
        network.process("receives", (input, end), async |(mut input, _end)| {
            // A wait that is given up, and one that is not.
            for _ in 0..3 {
                poll_fn(|context| {
                    let _ = pin!(input.recv()).poll(context);
                    Poll::Ready(())
                })
                .await;
                yield_now().await;
            }
            input.recv().await
        });
        network.process("end", ended, async |mut ended| ended.recv().await);
        network.run(&pool).unwrap();
    }
}

#[test]
fn a_second_wait_at_the_same_time_is_refused() {
    let pool = Pool::new(1).unwrap();
    let mut network = Network::new();
    let (a, from_a) = network.channel::<u8>("a", 1);
    let (b, from_b) = network.channel::<u8>("b", 1);
    network.process("holds", (a, b), async |_ends| pending::<()>().await);
    network.process("both", (from_a, from_b), async |(mut a, mut b)| {
        let (mut a, mut b) = (pin!(a.recv()), pin!(b.recv()));
        poll_fn(|context| match (a.as_mut().poll(context), b.as_mut().poll(context)) {
            (Poll::Pending, Poll::Pending) => Poll::Pending,
            _ => Poll::Ready(()),
        })
        .await;
    });
    let error = network.run(&pool).unwrap_err().to_string();
    assert!(error.contains("process 'both' waits for two channels at the same time"), "{error}");
}

#[test]
fn a_wait_below_a_foreign_waker_is_refused() {
    struct Nothing;
    impl Wake for Nothing {
        fn wake(self: Arc<Self>) {}
    }
    let pool = Pool::new(1).unwrap();
    let mut network = Network::new();
    let (a, from_a) = network.channel::<u8>("a", 1);
    network.process("holds", a, async |_ends| pending::<()>().await);
    network.process("other", from_a, async |mut a| {
        poll_fn(|_| {
            let waker = Waker::from(Arc::new(Nothing));
            pin!(a.recv()).poll(&mut Context::from_waker(&waker)).map(drop)
        })
        .await;
    });
    let error = network.run(&pool).unwrap_err().to_string();
    assert!(
        error.contains("waits only in the process that it belongs to, which is 'other'"),
        "{error}"
    );
}

#[test]
fn measured_times_and_fillings_are_there() {
    // One worker, so that who sends goes on until there is no room left, however busy the machine is.
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
    let numbers = &report.channels()[0];
    assert_eq!(numbers.high_water, Some(4));
    assert!(numbers.sender_waited.unwrap() >= slow);
    assert!(report.processes()[1].busy.unwrap() >= 10 * slow);
    assert!(report.processes()[0].busy.unwrap() < report.time());
    assert!(report.time() >= 10 * slow);
}

#[test]
fn a_network_runs_on_the_worker_that_asks_for_it() {
    for placement in [Placement::Last, Placement::Current] {
        let pool = Pool::builder().workers(1).placement(placement).build().unwrap();
        let sum = pool.run(|_| {
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

/// Messages go out of their process for good: what is dropped is dropped once, in the midst of growing.
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
fn ends_may_be_sent(sender: Sender<u8>, running: Pin<&mut locksley::kahn::Running>) -> impl Send {
    (sender, running)
}

/// In code that is not `async`, the process pauses without its poll being over.
#[test]
fn what_was_taken_before_a_wait_inside_of_a_poll_makes_room() {
    type Wait = fn(&Worker, &Semaphore);
    let waits: [Wait; 5] = [
        |_, permits| block_on(permits.acquire()).unwrap().forget(),
        |w, permits| {
            w.scope(|w, scope| {
                scope.spawn_on(w, |_, _| block_on(permits.acquire()).unwrap().forget());
            });
        },
        |w, permits| {
            let wait = |_: &Worker| block_on(permits.acquire()).unwrap().forget();
            w.join_waiting(Waiting::Below, wait, |_| ());
        },
        |w, permits| {
            while permits.try_acquire().map(|permit| permit.forget()).is_err() {
                w.run_one();
            }
        },
        |w, permits| {
            w.blocking(|| {
                while permits.try_acquire().map(|permit| permit.forget()).is_err() {
                    std::thread::yield_now();
                }
            });
        },
    ];
    for wait in waits {
        for workers in [1, 2] {
            for stacks in [0, 100] {
                in_time(move || {
                    let builder = Pool::builder().workers(workers).waiting_stacks(stacks);
                    let pool = builder.build().unwrap();
                    for others in [false, true] {
                        let sent = Arc::new(AtomicUsize::new(0));
                        let permits = Arc::new(Semaphore::new(0));
                        let (is_sent, gives) = (Arc::clone(&sent), Arc::clone(&permits));
                        let mut network = Network::new();
                        // The sender is woken after two messages, or when the receiver pauses.
                        let (output, input) = network.channel("numbers", 8);
                        network.process("sends", output, async move |mut output| {
                            for n in 0..20 {
                                output.send(n).await;
                                is_sent.store(n + 1, Ordering::Release);
                                if n == 8 {
                                    gives.add_permits(1);
                                }
                            }
                        });
                        network.process("receives", input, async move |mut input| {
                            while sent.load(Ordering::Acquire) < 8 {
                                yield_now().await;
                            }
                            assert_eq!(input.recv().await, Some(0));
                            if others {
                                // Other processes on other stacks, and on top, do not take its place.
                                Worker::with_current(|w| other_networks(w.unwrap()));
                            }
                            Worker::with_current(|w| wait(w.unwrap(), &permits));
                            while input.recv().await.is_some() {}
                        });
                        assert_eq!(network.run(&pool).unwrap().times_grown(), 0);
                    }
                });
            }
        }
    }
}

/// Polls processes of another network while the calling one is polled.
fn other_networks(w: &Worker) {
    let pool = Pool::new(1).unwrap();
    let mut network = Network::new();
    ring(&mut network, 3, 1, 5);
    let running = network.start(&pool).unwrap();
    w.spawn(|_| ());
    let _ = w.run_local();
    block_on(running).unwrap();
}

/// The doubt that a worker has noted, and would look into when it hunts.
#[test]
fn who_blocks_its_thread_looks_for_deadlocks_first() {
    let pool = Pool::builder().workers(1).governor(Restless).build().unwrap();
    let pool: &'static Pool = Box::leak(Box::new(pool));
    let (tell, told) = std::sync::mpsc::channel();
    let (say, said) = std::sync::mpsc::channel();
    let (go, goes) = std::sync::mpsc::channel::<()>();
    let (is_over, over) = std::sync::mpsc::channel();
    pool.spawn(move |_| {
        let mut network = Network::new();
        ring(&mut network, 6, 0, 1);
        let running = network.start(pool).unwrap();
        let found = pool.spawn_future(async move { tell.send(running.await.is_err()).unwrap() });
        drop(found);
        say.send(()).unwrap();
        let _ = goes.recv();
    });
    said.recv().unwrap();
    // It is found when the processes wait, by a hunt that is too short for a look at all of them.
    pool.spawn(move |w| {
        is_over.send(w.blocking(|| told.recv_timeout(Duration::from_secs(20)))).unwrap();
    });
    go.send(()).unwrap();
    assert_eq!(over.recv().unwrap(), Ok(true));
}

#[test]
fn who_runs_only_what_lies_below_looks_for_deadlocks_too() {
    type Run = fn(&Worker, &(dyn Fn(&Worker) + Sync), &(dyn Fn() + Sync));
    let runs: [Run; 2] = [
        |w, first, second| _ = w.join_waiting(Waiting::Below, first, |_| second()),
        |w, first, second| {
            w.scope_waiting(Waiting::Below, |w, scope| {
                scope.spawn_on(w, |_, _| second());
                first(w);
            });
        },
    ];
    for run in runs {
        in_time(move || {
            let pool = Pool::new(2).unwrap();
            let (is_stolen, is_noted) = (AtomicBool::new(false), AtomicBool::new(false));
            let network = Mutex::new(None);
            let wait_until = |flag: &AtomicBool| {
                while !flag.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
            };
            let first = |w: &Worker| {
                wait_until(&is_stolen);
                let mut ring_of_six = Network::new();
                ring(&mut ring_of_six, 6, 0, 1);
                *network.lock().unwrap() = Some(ring_of_six.start(&pool).unwrap());
                while w.run_local() {}
                is_noted.store(true, Ordering::Release);
            };
            let second = || {
                is_stolen.store(true, Ordering::Release);
                wait_until(&is_noted);
                let running = network.lock().unwrap().take().unwrap();
                assert!(matches!(block_on(running), Err(NetworkError::Deadlock(_))));
            };
            pool.run(|w| run(w, &first, &second));
        });
    }
}
