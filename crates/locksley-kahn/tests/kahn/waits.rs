//! What processes wait for, and what comes before a wait.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use locksley::task::yield_now;
use locksley::{Pool, Worker, block_on};
use locksley_kahn::Network;
use tokio::sync::Semaphore;

use crate::common::{in_time, pools};
use crate::{ring, seventeen_for_sixteen};

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
    // The capacity is such that a sender is woken after several messages only, or when the receiver
    // waits.
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
            // The sender gives it when it has learnt that there is room.
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
        assert_eq!(network.run(&pool).unwrap().times_grown, 0);
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

/// In code that is not `async`, the process pauses without its poll being over.
#[test]
fn what_was_taken_before_a_wait_inside_of_a_poll_makes_room() {
    type Wait = fn(&Worker, &Semaphore);
    let waits: [Wait; 5] = [
        |_, permits| block_on(permits.acquire()).unwrap().forget(),
        |_, permits| {
            locksley::in_place_scope(|scope| {
                scope.spawn(|_| block_on(permits.acquire()).unwrap().forget());
            });
        },
        |w, permits| {
            w.join(|_| block_on(permits.acquire()).unwrap().forget(), |_| ());
        },
        |w, permits| {
            while permits.try_acquire().map(|permit| permit.forget()).is_err() {
                w.run_one();
            }
        },
        |_, permits| {
            locksley::blocking(|| {
                while permits.try_acquire().map(|permit| permit.forget()).is_err() {
                    std::thread::yield_now();
                }
            });
        },
    ];
    for wait in waits {
        for workers in [1, 2] {
            in_time(move || {
                let pool = Pool::new(workers).unwrap();
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
                        if others {
                            // Other processes that are polled on top do not take its place.
                            Worker::with_current(|w| other_networks(w.unwrap()));
                        }
                        assert_eq!(input.recv().await, Some(0));
                        Worker::with_current(|w| wait(w.unwrap(), &permits));
                        while input.recv().await.is_some() {}
                    });
                    assert_eq!(network.run(&pool).unwrap().times_grown, 0);
                }
            });
        }
    }
}

/// Polls processes of another network while the calling one is polled.
fn other_networks(w: &Worker) {
    let pool = Pool::new(1).unwrap();
    let mut network = Network::new();
    ring(&mut network, 3, 1, 5);
    let running = network.start(&pool).unwrap();
    locksley::spawn(|| ());
    let _ = w.run_local();
    block_on(running).unwrap();
}

/// The closure that makes a process is a part of it.
#[test]
fn a_process_that_waits_before_it_is_a_future_has_looked_after_its_sender() {
    in_time(|| {
        let mut network = Network::new();
        let (input, sent, gate) = seventeen_for_sixteen(&mut network);
        network.process("takes one", input, move |mut input| {
            block_on(sent.acquire()).unwrap().forget();
            assert_eq!(block_on(input.recv()), Some(0));
            // The sender comes to this only if it learns of the one that is free.
            block_on(gate.acquire()).unwrap().forget();
            async move { while input.recv().await.is_some() {} }
        });
        let report = network.run(&Pool::new(1).unwrap()).unwrap();
        assert_eq!(report.channels[0].received, 17);
    });
}
