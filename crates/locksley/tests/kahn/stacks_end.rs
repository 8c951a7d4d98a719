//! How networks end of processes on stacks of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::kahn::{Awaited, Network, NetworkError, Over, Receiver, Sender};
use locksley::sync::Semaphore;
use locksley::{Pool, block_on};

use crate::common::{in_time, message, pools};

#[test]
fn deadlocks_of_stacks_are_found_and_end_their_waits() {
    for pool in pools() {
        for on_stack in [1, 2, 3] {
            let over = Arc::new(AtomicUsize::new(0));
            let mut network = Network::new();
            let (mut to, mut from): (Vec<_>, Vec<_>) =
                (0..3).map(|n| network.channel::<u32>(format!("channel {n}"), 1)).unzip();
            from.rotate_right(1);
            for (n, ends) in to.drain(..).zip(from).enumerate() {
                let own = Arc::clone(&over);
                if n < on_stack {
                    network.process_on_stack(format!("{n}"), ends, move |(output, mut input)| {
                        assert_eq!(input.recv_blocking(), Err(Over));
                        assert_eq!(input.recv_blocking(), Err(Over), "it stays so");
                        own.fetch_add(1, Ordering::Relaxed);
                        drop(output);
                    });
                } else {
                    network.process(format!("{n}"), ends, async |(_output, mut input)| {
                        input.recv().await
                    });
                }
            }
            match network.run(&pool) {
                Err(NetworkError::Deadlock(cycle)) => {
                    assert_eq!(cycle.waits().len(), 3);
                    assert!(cycle.waits().iter().all(|wait| wait.need == Awaited::Message));
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(over.load(Ordering::Relaxed), on_stack);
        }
    }
}

/// A cycle that is too long to be followed at once is looked at by who has nothing to do, or after so much work: here the only worker has two
/// stacks to resume all the time.
#[test]
fn a_long_cycle_is_found_beside_stacks_that_always_go_on() {
    in_time(|| {
        let mut network = Network::new();
        let (ping, from_ping) = network.channel::<u32>("ping", 1);
        let (pong, from_pong) = network.channel::<u32>("pong", 1);
        network.process_on_stack("first", (ping, from_pong), |(mut ping, mut from_pong)| {
            while ping.send_blocking(0).is_ok() && from_pong.recv_blocking().is_ok() {}
        });
        network.process_on_stack("second", (pong, from_ping), |(mut pong, mut from_ping)| {
            while let Some(n) = from_ping.recv_blocking()? {
                pong.send_blocking(n)?;
            }
            Ok::<_, Over>(())
        });
        const RING: usize = 7;
        let (mut outputs, mut inputs): (Vec<_>, Vec<_>) =
            (0..RING).map(|n| network.channel::<u32>(format!("ring {n}"), 1)).unzip();
        inputs.rotate_left(1);
        for n in 0..RING {
            let ends = (outputs.remove(0), inputs.remove(0));
            network.process(format!("waits {n}"), ends, async |(_output, mut input)| {
                input.recv().await;
            });
        }
        let error = network.run(&Pool::new(1).unwrap()).unwrap_err().to_string();
        assert!(error.contains("ring 0") && error.contains("waits 6"), "{error}");
    });
}

#[test]
fn channels_between_stacks_grow_up_to_the_limit() {
    let run = |pool: &Pool, limit| {
        let mut network = Network::new().limit(limit);
        let (numbers, last) = network.channel("numbers", 1);
        let (signal, done) = network.channel("signal", 1);
        network.process_on_stack("count", (numbers, signal), |(mut numbers, mut signal)| {
            for n in 0..10 {
                numbers.send_blocking(n)?;
            }
            signal.send_blocking(())
        });
        // Takes the signal first.
        network.process_on_stack("last", (last, done), |(mut last, mut done)| {
            done.recv_blocking()?;
            while last.recv_blocking()?.is_some() {}
            Ok::<_, Over>(())
        });
        network.run(pool)
    };
    for pool in pools() {
        assert!(run(&pool, 16).unwrap().channels()[0].capacity >= 10);
        let error = run(&pool, 9).unwrap_err();
        assert!(
            matches!(&error, NetworkError::Limit { channel, .. } if channel == "numbers"),
            "{error}"
        );
    }
}

#[test]
fn a_panic_on_a_stack_is_that_of_its_process() {
    for pool in pools() {
        let mut network = Network::new();
        let (output, input) = network.channel::<u8>("bytes", 1);
        network.process_on_stack("careless", output, |mut output| {
            output.send_blocking(1).expect("the network goes on");
            panic!("no more arrows")
        });
        let (never, other) = network.channel::<u8>("never", 1);
        network.process_on_stack(
            "waits",
            (input, never, other),
            |(mut input, never, mut other)| {
                assert_eq!(input.recv_blocking(), Ok(Some(1)));
                assert_eq!(other.recv_blocking(), Err(Over));
                drop(never);
            },
        );
        // The other one waits for itself: either may end the network first.
        match network.run(&pool).unwrap_err() {
            error @ NetworkError::Panicked { .. } => {
                assert!(error.to_string().contains("'careless'"), "{error}");
                assert_eq!(message(&*error.try_into_panic().unwrap()), "no more arrows");
            }
            NetworkError::Deadlock(cycle) => assert_eq!(cycle.waits()[0].process, "waits"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn who_keeps_an_end_on_a_stack_is_told() {
    for pool in pools() {
        let mut network = Network::new();
        let (numbers, all) = network.channel::<u32>("numbers", 1);
        let kept = network.process_on_stack("returns it", numbers, |numbers| numbers);
        network.process_on_stack("waits", all, |mut all| all.recv_blocking());
        match network.run(&pool) {
            Err(NetworkError::Kept { process, channel }) => {
                assert_eq!((&*process, &*channel), ("returns it", "numbers"));
            }
            other => panic!("{other:?}"),
        }
        drop(kept);
    }
}

#[test]
fn cancelling_ends_waits_on_stacks() {
    for pool in pools() {
        let (begun, more) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let mut network = Network::new();
        let (output, input) = network.channel::<u8>("bytes", 1);
        let (at, until) = (Arc::clone(&begun), Arc::clone(&more));
        network.process("idle", output, async move |_output| {
            at.add_permits(1);
            let _ = until.acquire().await;
        });
        let ended = network.process_on_stack("waits", input, |mut input| input.recv_blocking());
        let running = network.start(&pool).unwrap();
        drop(block_on(begun.acquire()));
        running.cancel();
        assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
        // It may not have begun.
        assert!(matches!(ended.take(), Some(Err(Over)) | None));
    }
}

/// Sends when it is dropped, and says how often it could.
struct Polite(Sender<u8>, Arc<AtomicUsize>, usize);

impl Drop for Polite {
    fn drop(&mut self) {
        for _ in 0..self.2 {
            match self.0.send_blocking(7) {
                Ok(()) => drop(self.1.fetch_add(1, Ordering::Relaxed)),
                Err(Over) => return,
            }
        }
    }
}

/// Receives when it is dropped.
struct Curious(Receiver<u8>, Arc<AtomicUsize>);

impl Drop for Curious {
    fn drop(&mut self) {
        while let Ok(Some(_)) = self.0.recv_blocking() {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn who_would_wait_while_it_unwinds_ends_the_network() {
    let careless = |inside: Box<dyn std::any::Any>| {
        let _inside = inside;
        panic!("no more arrows")
    };
    // Whether it is caught, how much it sends, and how much of that there is room for on a worker that goes nowhere else.
    for (is_caught, sends, is_over) in [(false, 9, true), (true, 9, true), (true, 2, false)] {
        for receives in [false, true] {
            in_time(move || {
                let done = Arc::new(AtomicUsize::new(0));
                let own = Arc::clone(&done);
                let mut network = Network::new();
                let (output, input) = network.channel::<u8>("bytes", 2);
                let body = move |inside: Box<dyn std::any::Any>| {
                    let unwound = std::panic::AssertUnwindSafe(|| careless(inside));
                    let caught = std::panic::catch_unwind(unwound);
                    if let (Err(payload), false) = (caught, is_caught) {
                        std::panic::resume_unwind(payload);
                    }
                };
                if receives {
                    // As many come as it sends in the other case; and no more, unless that was all.
                    let (are_sent, sent) = tokio::sync::oneshot::channel();
                    network.process("other", output, async move |mut output| {
                        for n in 0..2 {
                            output.send(n).await;
                        }
                        let kept = is_over.then_some(output);
                        are_sent.send(()).unwrap();
                        if kept.is_some() {
                            std::future::pending::<()>().await;
                        }
                    });
                    network.process_on_stack("unwinds", input, move |input| {
                        block_on(sent).unwrap();
                        body(Box::new(Curious(input, own)));
                    });
                } else {
                    network.process(
                        "other",
                        input,
                        async |mut input| {
                            while input.recv().await.is_some() {}
                        },
                    );
                    network.process_on_stack("unwinds", output, move |output| {
                        body(Box::new(Polite(output, own, sends)));
                    });
                }
                let ended = network.run(&Pool::new(1).unwrap());
                assert_eq!(done.load(Ordering::Relaxed), 2);
                match ended {
                    Ok(_) => assert!(!is_over),
                    Err(NetworkError::Unwinding { process }) => {
                        assert!(is_over && is_caught);
                        assert_eq!(process, "unwinds");
                    }
                    Err(error @ NetworkError::Panicked { .. }) => {
                        assert!(!is_caught, "{error}");
                        assert!(error.to_string().contains("'unwinds'"), "{error}");
                        assert_eq!(message(&*error.try_into_panic().unwrap()), "no more arrows");
                    }
                    other => panic!("{other:?}"),
                }
            });
        }
    }
}
