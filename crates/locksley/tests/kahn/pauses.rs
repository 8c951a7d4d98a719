//! Processes on stacks of their own that pause, but not at a channel, or give way: whom they look after, and whom they let run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use locksley::kahn::{Network, NetworkError, Over, Sender};
use locksley::sync::Semaphore;
use locksley::task::yield_now;
use locksley::{Pool, Worker, block_on};

use crate::common::{in_time, pools};

#[test]
fn a_process_that_waits_elsewhere_has_looked_after_its_sender() {
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

/// The call inside may be another process's, or come after it has received something.
#[test]
fn who_blocks_inside_of_a_call_that_blocks_has_looked_after_its_sender() {
    in_time(|| {
        let (gate, sent) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
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
            // The sender has come to wait for room.
            block_on(locksley::task::spawn(async {})).unwrap();
            Worker::with_current(|w| {
                let w = w.unwrap();
                w.blocking(|| {
                    assert_eq!(input.recv_blocking(), Ok(Some(0)));
                    w.blocking(|| {
                        while gate.try_acquire().map(|permit| permit.forget()).is_err() {
                            thread::yield_now();
                        }
                    });
                });
            });
        });
        network.run(&Pool::new(1).unwrap()).unwrap();
    });
}

/// It never waits: it gives way from time to time.
#[test]
fn a_process_that_gives_way_has_looked_after_its_sender() {
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

/// It never waits: what it waits for wakes it at once.
#[test]
fn a_process_that_yields_in_a_loop_pays_and_lets_others_run() {
    for workers in [1, 2] {
        in_time(move || {
            let is_sent = Arc::new(AtomicBool::new(false));
            let mut network = Network::new();
            let (output, input) = network.channel::<u32>("numbers", 16);
            let says = Arc::clone(&is_sent);
            network.process("count", output, async move |mut output| {
                for n in 0..17 {
                    output.send(n).await;
                }
                says.store(true, Ordering::Release);
            });
            network.process_on_stack("takes one", input, move |mut input| {
                assert_eq!(input.recv_blocking()?, Some(0));
                while !is_sent.load(Ordering::Acquire) {
                    block_on(yield_now());
                }
                Ok::<_, Over>(())
            });
            network.run(&Pool::new(workers).unwrap()).unwrap();
        });
    }
}

/// What others do is done meanwhile, on stacks and on top.
#[test]
fn a_closure_that_yields_in_a_loop_lets_others_run() {
    for stacks in [0, 16] {
        for depth in [0, 1] {
            in_time(move || {
                let pool = Pool::builder().workers(1).waiting_stacks(stacks).build().unwrap();
                let yields = |w: &Worker| {
                    let is_done = Arc::new(AtomicBool::new(false));
                    let says = Arc::clone(&is_done);
                    w.spawn(move |_| says.store(true, Ordering::Release));
                    while !is_done.load(Ordering::Acquire) {
                        block_on(yield_now());
                    }
                };
                pool.run(move |w| {
                    if depth == 0 {
                        return yields(w);
                    }
                    // Found while this waits, and so on a stack of its own.
                    let (say, mut said) = tokio::sync::mpsc::unbounded_channel();
                    w.spawn(move |w| {
                        yields(w);
                        say.send(()).unwrap();
                    });
                    block_on(said.recv()).unwrap();
                });
            });
        }
    }
}

#[test]
fn an_endless_sender_to_nobody_gives_way_and_ends_with_its_network() {
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
