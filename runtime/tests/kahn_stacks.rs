//! Processes on stacks of their own: that they wait, stay, fail and end as they should.

#![cfg(not(loom))]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::{in_time, message, pools};
use locksley::kahn::{Awaited, Network, NetworkError, Over, Receiver, Sender};
use locksley::sync::Semaphore;
use locksley::{Pool, Worker, block_on};

/// Whether pools have stacks at all.
const STACKS: bool = cfg!(all(feature = "stacks", not(locksley_portable)));

/// A pipeline with so many stages, all of them on stacks, or every other one.
fn pipeline(
    pool: &Pool,
    stages: usize,
    capacity: usize,
    every: usize,
) -> Result<u64, NetworkError> {
    let mut network = Network::new().measured();
    let (numbers, mut next) = network.channel::<u64>("first", capacity);
    network.process_on_stack("count", numbers, |mut numbers| {
        for n in 0..300 {
            numbers.send_blocking(n)?;
        }
        Ok::<_, Over>(())
    });
    for stage in 0..stages {
        let (output, input) = network.channel(format!("after {stage}"), capacity);
        let ends = (std::mem::replace(&mut next, input), output);
        if stage % every == 0 {
            network.process_on_stack(format!("stage {stage}"), ends, |(mut input, mut output)| {
                while let Some(n) = input.recv_blocking()? {
                    output.send_blocking(n + 1)?;
                }
                Ok::<_, Over>(())
            });
        } else {
            network.process(format!("stage {stage}"), ends, async |(mut input, mut output)| {
                while let Some(n) = input.recv().await {
                    output.send(n + 1).await;
                }
            });
        }
    }
    let sum = network.process_on_stack("sum", next, |mut all| {
        let mut sum = 0;
        while let Some(n) = all.recv_blocking()? {
            sum += n;
        }
        Ok::<_, Over>(sum)
    });
    let report = network.run(pool)?;
    for process in report.processes() {
        let busy = process.busy.expect("it was measured");
        assert!(busy <= report.time(), "{process:?} of {:?}", report.time());
    }
    Ok(sum.take().expect("it has ended").expect("the network has not failed"))
}

#[test]
fn messages_go_through_stacks_and_futures_alike() {
    if !STACKS {
        return;
    }
    let expected = (0..300).sum::<u64>() + 300 * 8;
    for pool in pools() {
        for capacity in [1, 3, 8, 64] {
            for every in [1, 2] {
                assert_eq!(pipeline(&pool, 8, capacity, every).unwrap(), expected);
            }
        }
    }
}

#[test]
fn who_has_no_stack_for_a_process_says_so() {
    for (stacks, workers) in [(0, 1), (0, 3)] {
        let pool = Pool::builder().workers(workers).waiting_stacks(stacks).build().unwrap();
        match pipeline(&pool, 2, 1, 1) {
            Err(NetworkError::NoStack { process }) => {
                assert!(["count", "sum", "stage 0", "stage 1"].contains(&&*process), "{process}");
            }
            other => panic!("{other:?}"),
        }
    }
    // Four are wanted, and two are there: those that have begun are told that it is over.
    let pool = Pool::builder().workers(1).waiting_stacks(2).build().unwrap();
    let error = pipeline(&pool, 2, 1, 1).unwrap_err();
    assert!(error.to_string().starts_with("there is no stack for process"), "{error}");
    if STACKS {
        assert_eq!(pipeline(&pool, 0, 1, 1).unwrap(), (0..300).sum(), "for two there are");
    }
}

#[test]
fn a_process_stays_on_its_worker() {
    if !STACKS {
        return;
    }
    let index = || Worker::with_current(|current| current.map(Worker::index));
    for pool in pools() {
        let mut network = Network::new();
        let (mut to, mut from): (Vec<_>, Vec<_>) =
            (0..6).map(|n| network.channel::<u32>(format!("{n}"), 1)).unzip();
        from.rotate_right(1);
        for (n, ends) in to.drain(..).zip(from).enumerate() {
            network.process_on_stack(format!("{n}"), ends, move |(mut output, mut input)| {
                let home = index();
                if n == 0 {
                    output.send_blocking(0)?;
                }
                for _ in 0..100 {
                    let Some(token) = input.recv_blocking()? else { break };
                    assert_eq!(index(), home);
                    output.send_blocking(token + 1)?;
                }
                Ok::<_, Over>(())
            });
        }
        network.run(&pool).unwrap();
    }
}

#[test]
fn a_worker_that_is_a_guest_hands_processes_on() {
    if !STACKS {
        return;
    }
    let pool = Pool::builder().workers(2).with_current_thread().build().unwrap();
    for _ in 0..20 {
        assert_eq!(pipeline(&pool, 1, 1, 1).unwrap(), (1..=300).sum());
    }
    drop(pool);
}

/// The guest begins nothing itself, and one of the two other workers is stuck: the processes are open to the third.
#[test]
fn what_a_guest_hands_on_does_not_wait_for_a_worker_that_is_stuck() {
    if !STACKS {
        return;
    }
    for stuck in [1, 2] {
        in_time(move || {
            let pool = Pool::builder().workers(3).with_current_thread().build().unwrap();
            let (say, said) = std::sync::mpsc::channel();
            let [first, second] = [1, 2].map(|index| {
                let (open, opened) = std::sync::mpsc::channel::<()>();
                let say = say.clone();
                pool.spawn_at(index, move |_| {
                    say.send(()).unwrap();
                    let _ = opened.recv();
                });
                open
            });
            (0..2).for_each(|_| said.recv().unwrap());
            let mut network = Network::new();
            let ended: Vec<_> =
                (0..6).map(|n| network.process_on_stack(format!("{n}"), (), move |()| n)).collect();
            let running = network.start(&pool).unwrap();
            Worker::with_current(|guest| {
                let guest = guest.expect("the thread has joined the pool");
                assert_eq!(guest.index(), 0);
                // The task that begins them, each of them, and some that have come back.
                for _ in 0..20 {
                    guest.run_one();
                }
            });
            assert!(ended.iter().all(|ended| ended.get().is_none()), "nobody had time");
            let (free, held) = if stuck == 1 { (second, first) } else { (first, second) };
            drop(free);
            block_on(running).unwrap();
            let numbers: Vec<_> = ended.into_iter().map(|ended| ended.take().unwrap()).collect();
            assert_eq!(numbers, Vec::from_iter(0..6));
            drop(held);
        });
    }
}

#[test]
fn deadlocks_of_stacks_are_found_and_end_their_waits() {
    if !STACKS {
        return;
    }
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
    if !STACKS {
        return;
    }
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
    if !STACKS {
        return;
    }
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
    if !STACKS {
        return;
    }
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
    if !STACKS {
        return;
    }
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
    if !STACKS {
        return;
    }
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

#[test]
fn a_process_that_waits_elsewhere_has_looked_after_its_sender() {
    if !STACKS {
        return;
    }
    for pool in pools() {
        let gate = Arc::new(Semaphore::new(0));
        let mut network = Network::new();
        // A quarter of it is more than one message.
        let (output, input) = network.channel::<u32>("numbers", 16);
        let own = Arc::clone(&gate);
        network.process("count", output, async move |mut output| {
            for n in 0..17 {
                output.send(n).await;
            }
            own.add_permits(1);
        });
        network.process_on_stack("takes one", input, move |mut input| {
            assert_eq!(input.recv_blocking(), Ok(Some(0)));
            // The sender comes to this only if it learns of the one that is free.
            drop(block_on(gate.acquire()));
            assert_eq!(input.recv_blocking(), Ok(Some(1)));
        });
        network.run(&pool).unwrap();
    }
}

/// Whatever it waits for, and however it has received: a message that is there may also be had as a future has it.
#[test]
fn a_process_that_waits_in_any_other_way_has_looked_after_its_sender() {
    if !STACKS {
        return;
    }
    type Wait = fn(&Worker, &Semaphore);
    let waits: [Wait; 5] = [
        |_, gate| block_on(gate.acquire()).unwrap().forget(),
        |w, gate| {
            w.join(|_| block_on(gate.acquire()).unwrap().forget(), |_| ());
        },
        |w, gate| {
            w.scope(|w, scope| {
                scope.spawn_on(w, |_, _| block_on(gate.acquire()).unwrap().forget());
            });
        },
        |w, gate| {
            while gate.try_acquire().map(|permit| permit.forget()).is_err() {
                w.run_one();
            }
        },
        |w, gate| {
            w.blocking(|| {
                while gate.try_acquire().map(|permit| permit.forget()).is_err() {
                    std::thread::yield_now();
                }
            });
        },
    ];
    for wait in waits {
        for (workers, blocks) in [(1, true), (1, false), (2, true), (2, false)] {
            in_time(move || {
                let pool = Pool::new(workers).unwrap();
                let gate = Arc::new(Semaphore::new(0));
                let sent = Arc::new(Semaphore::new(0));
                let mut network = Network::new();
                let (output, input) = network.channel::<u32>("numbers", 16);
                let (own, says) = (Arc::clone(&gate), Arc::clone(&sent));
                network.process("count", output, async move |mut output| {
                    output.send(0).await;
                    says.add_permits(1);
                    for n in 1..17 {
                        output.send(n).await;
                    }
                    own.add_permits(1);
                });
                network.process_on_stack("takes one", input, move |mut input| {
                    block_on(sent.acquire()).unwrap().forget();
                    // Its worker leaves the stack, if there is no other one, and comes back before it owes anything.
                    block_on(locksley::task::spawn(async {})).unwrap();
                    let first = if blocks {
                        input.recv_blocking().unwrap()
                    } else {
                        block_on(input.recv())
                    };
                    assert_eq!(first, Some(0));
                    // The sender comes to this only if it learns of the one that is free.
                    Worker::with_current(|w| wait(w.unwrap(), &gate));
                    assert_eq!(input.recv_blocking(), Ok(Some(1)));
                });
                network.run(&pool).unwrap();
            });
        }
    }
}

/// It never waits: it gives way from time to time.
#[test]
fn a_process_that_gives_way_has_looked_after_its_sender() {
    if !STACKS {
        return;
    }
    in_time(|| {
        let is_sent = Arc::new(AtomicBool::new(false));
        let mut network = Network::new();
        let (output, input) = network.channel::<u32>("numbers", 16);
        let (unwanted, nobody) = network.channel::<u32>("unwanted", 1);
        drop(nobody);
        let says = Arc::clone(&is_sent);
        network.process("count", output, async move |mut output| {
            for n in 0..17 {
                output.send(n).await;
            }
            says.store(true, Ordering::Release);
        });
        network.process_on_stack(
            "gives way",
            (input, unwanted),
            move |(mut input, mut unwanted)| {
                assert_eq!(input.recv_blocking()?, Some(0));
                while !is_sent.load(Ordering::Acquire) {
                    unwanted.send_blocking(0)?;
                }
                Ok::<_, Over>(())
            },
        );
        network.run(&Pool::new(1).unwrap()).unwrap();
    });
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
    if !STACKS {
        return;
    }
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

#[test]
fn a_dropped_pool_cancels_what_waits_at_channels_on_stacks() {
    if !STACKS {
        return;
    }
    for workers in [1, 3] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let (say, said) = std::sync::mpsc::channel();
            let mut network = Network::new();
            let (output, input) = network.channel::<u8>("nothing", 2);
            network.process("holds", output, async |_output| std::future::pending::<()>().await);
            let told = network.process_on_stack("waits", input, move |mut input| {
                say.send(()).unwrap();
                input.recv_blocking()
            });
            let running = network.start(&pool).unwrap();
            said.recv().unwrap();
            drop(pool);
            assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
            assert_eq!(told.take(), Some(Err(Over)));
        });
    }
}

/// No future of the network's is there to be cancelled.
#[test]
fn a_dropped_pool_cancels_a_network_of_stacks() {
    if !STACKS {
        return;
    }
    for workers in [1, 3] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let (say, said) = std::sync::mpsc::channel();
            let begun = say.clone();
            let mut network = Network::new();
            let (output, input) = network.channel::<u8>("nothing", 2);
            let (unwanted, nobody) = network.channel::<u8>("unwanted", 2);
            drop(nobody);
            let ends = (output, unwanted);
            let told = network.process_on_stack("goes on", ends, move |(output, mut unwanted)| {
                begun.send(()).unwrap();
                while unwanted.send_blocking(0).is_ok() {}
                drop(output);
            });
            let other = network.process_on_stack("waits", input, move |mut input| {
                say.send(()).unwrap();
                input.recv_blocking()
            });
            let running = network.start(&pool).unwrap();
            (0..2).for_each(|_| said.recv().unwrap());
            drop(pool);
            assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
            assert_eq!((told.take(), other.take()), (Some(()), Some(Err(Over))));
        });
    }
}

/// What is owed an end gets it first, and a network that it waits for.
#[test]
fn a_dropped_pool_finishes_the_network_that_a_closure_waits_for() {
    if !STACKS {
        return;
    }
    for workers in [1, 3] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let mut network = Network::new();
            let (output, input) = network.channel::<u32>("numbers", 1);
            network.process_on_stack("count", output, |mut output| {
                (0..100).try_for_each(|n| output.send_blocking(n))
            });
            let sum = network.process_on_stack("sum", input, |mut input| {
                let mut sum = 0;
                while let Some(n) = input.recv_blocking()? {
                    sum += n;
                }
                Ok::<_, Over>(sum)
            });
            let running = network.start(&pool).unwrap();
            pool.spawn(move |_| drop(running.join().unwrap()));
            drop(pool);
            assert_eq!(sum.take(), Some(Ok(4950)));
        });
    }
}

/// Fewer than half of the stacks that there may be are in use: then there is always one.
#[test]
fn stacks_that_are_kept_elsewhere_leave_enough() {
    if !STACKS {
        return;
    }
    for workers in [1, 2, 4] {
        let pool = Pool::builder().workers(workers).waiting_stacks(16).build().unwrap();
        for _ in 0..100 {
            assert_eq!(pipeline(&pool, 5, 1, 1).unwrap(), (0..300).sum::<u64>() + 300 * 5);
        }
        // And where more are wanted at the same time than there may be, never.
        for _ in 0..5 {
            let error = pipeline(&pool, 15, 1, 1).unwrap_err();
            assert!(matches!(error, NetworkError::NoStack { .. }), "{error}");
        }
    }
}

#[test]
fn waits_where_a_process_is_not_are_refused() {
    if !STACKS {
        return;
    }
    let refused = |make: &dyn Fn(&mut Network), words: &str| {
        let mut network = Network::new();
        make(&mut network);
        let error = network.run(&Pool::new(2).unwrap()).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(words), "{said}");
    };
    // A future blocks.
    refused(
        &|network| {
            let (output, input) = network.channel::<u8>("bytes", 1);
            network.process("blocks", (output, input), async |(_output, mut input)| {
                input.recv_blocking()
            });
        },
        "blocks only in the process that it belongs to, which is 'blocks'",
    );
    // Somebody else's stack.
    refused(
        &|network| {
            let (output, input) = network.channel::<Receiver<u8>>("ends", 1);
            let (inner, bytes) = network.channel::<u8>("bytes", 1);
            let (hold, held) = network.channel::<u8>("held", 1);
            let ends = (output, bytes, held);
            network.process_on_stack("gives", ends, |(mut output, bytes, mut held)| {
                output.send_blocking(bytes)?;
                held.recv_blocking()
            });
            let ends = (input, inner, hold);
            network.process_on_stack("takes", ends, |(mut input, _inner, _hold)| {
                let mut bytes = input.recv_blocking()?.expect("it was sent");
                bytes.recv_blocking()
            });
        },
        "which is 'gives', ",
    );
    // A stack waits as a future does.
    refused(
        &|network| {
            let (output, input) = network.channel::<u8>("bytes", 1);
            network.process_on_stack("awaits", (output, input), |(_output, mut input)| {
                block_on(input.recv())
            });
        },
        "waits only in the process that it belongs to, which is 'awaits'",
    );
}

#[test]
fn an_endless_sender_to_nobody_gives_way_and_ends_with_its_network() {
    if !STACKS {
        return;
    }
    let pool = Pool::new(1).unwrap();
    let mut network = Network::new();
    let (output, input) = network.channel::<u64>("to nobody", 4);
    drop(input);
    network.process_on_stack("endless", output, |mut output: Sender<u64>| {
        for n in 0.. {
            output.send_blocking(n)?;
        }
        Ok::<_, Over>(())
    });
    let (to_b, from_a) = network.channel::<u8>("a to b", 1);
    let (to_a, from_b) = network.channel::<u8>("b to a", 1);
    network.process("a", (from_b, to_b), async |(mut input, _output)| input.recv().await);
    network.process_on_stack("b", (from_a, to_a), |(mut input, _output)| input.recv_blocking());
    match network.run(&pool) {
        Err(NetworkError::Deadlock(cycle)) => assert_eq!(cycle.waits().len(), 2),
        other => panic!("{other:?}"),
    }
}

#[test]
fn deep_code_waits_in_the_middle() {
    if !STACKS {
        return;
    }
    /// Solves the towers of Hanoi, and sends each move.
    fn hanoi(height: u32, from: u8, to: u8, moves: &mut Sender<(u8, u8)>) -> Result<(), Over> {
        if height > 0 {
            let other = 3 - from - to;
            hanoi(height - 1, from, other, moves)?;
            moves.send_blocking((from, to))?;
            hanoi(height - 1, other, to, moves)?;
        }
        Ok(())
    }
    let mut network = Network::new();
    let (moves, all) = network.channel("moves", 3);
    network.process_on_stack("solve", moves, |mut moves| hanoi(8, 0, 2, &mut moves));
    let towers = network.process_on_stack("play", all, |mut all: Receiver<(u8, u8)>| {
        let mut towers = [(1..=8).rev().collect::<Vec<u32>>(), Vec::new(), Vec::new()];
        while let Some((from, to)) = all.recv_blocking()? {
            let disc = towers[usize::from(from)].pop().expect("there is one");
            let target = &mut towers[usize::from(to)];
            assert!(target.last().is_none_or(|&below| below > disc));
            target.push(disc);
        }
        Ok::<_, Over>(towers)
    });
    let report = network.run(&Pool::new(2).unwrap()).unwrap();
    assert_eq!(report.channels()[0].received, (1 << 8) - 1);
    let [first, second, third] = towers.take().unwrap().unwrap();
    assert!(first.is_empty() && second.is_empty() && third == Vec::from_iter((1..=8).rev()));
}
