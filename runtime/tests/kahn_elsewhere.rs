//! Processes on stacks of their own: what they wait for that is no channel, and where they begin.

#![cfg(all(not(loom), feature = "stacks", not(locksley_portable)))]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::Duration;

use common::in_time;
use locksley::kahn::{Network, NetworkError, Over};
use locksley::sync::Semaphore;
use locksley::task::yield_now;
use locksley::{Pool, Worker, block_on};

fn index() -> usize {
    Worker::with_current(|worker| worker.expect("tasks run on workers").index())
}

/// Returns when what that worker is about has left its stack, or ended.
fn until_it_leaves(pool: &Pool, worker: usize) {
    let (say, said) = channel();
    pool.spawn_at(worker, move |_| say.send(()).unwrap());
    said.recv().unwrap();
}

/// A future of the pool, or of the network itself, ends what a process waits for elsewhere: they are cancelled only after that.
#[test]
fn a_dropped_pool_cancels_nothing_that_a_process_waits_for_elsewhere() {
    type Wait = fn(&Worker, &Semaphore);
    let waits: [Wait; 3] = [
        |_, gate| block_on(gate.acquire()).unwrap().forget(),
        |w, gate| {
            let take = |_: &Worker| block_on(gate.acquire()).unwrap().forget();
            w.join(take, |_| ());
        },
        |w, gate| {
            w.scope(|w, scope| {
                scope.spawn_on(w, |_, _| block_on(gate.acquire()).unwrap().forget());
            });
        },
    ];
    for wait in waits {
        for (workers, is_in_network) in [(1, false), (1, true), (3, false), (3, true)] {
            in_time(move || {
                let pool = Pool::new(workers).unwrap();
                let gate = Arc::new(Semaphore::new(0));
                let (open, opened) = tokio::sync::oneshot::channel();
                let (say, said) = channel();
                let own = Arc::clone(&gate);
                let opens = async move {
                    opened.await.unwrap();
                    own.add_permits(1);
                };
                let mut network = Network::new();
                let waited = network.process_on_stack("waits", (), move |()| {
                    say.send(index()).unwrap();
                    Worker::with_current(|w| wait(w.unwrap(), &gate));
                });
                if is_in_network {
                    network.process("opens", (), async move |()| opens.await);
                } else {
                    drop(pool.spawn_future(opens));
                }
                let running = network.start(&pool).unwrap();
                until_it_leaves(&pool, said.recv().unwrap());
                let dropper = thread::spawn(move || drop(pool));
                // Most likely the pool's handle is gone by then.
                thread::sleep(Duration::from_millis(10));
                open.send(()).unwrap();
                dropper.join().unwrap();
                assert_eq!(waited.get(), Some(&()));
                assert!(matches!(running.join(), Ok(_) | Err(NetworkError::Cancelled)));
            });
        }
    }
}

/// While it is in a call that blocks, too.
#[test]
fn a_dropped_pool_cancels_nothing_while_a_process_blocks() {
    in_time(|| {
        let pool = Pool::new(1).unwrap();
        let (say, said) = channel();
        let (is_cancelled, opened) = tokio::sync::oneshot::channel::<()>();
        let (open, go_on) = channel();
        let mut network = Network::new();
        let ended = network.process_on_stack("blocks", (), move |()| {
            // All futures of the network have been polled by then, and wait.
            block_on(locksley::task::spawn(async {})).unwrap();
            Worker::with_current(|w| {
                w.unwrap().blocking(|| {
                    say.send(()).unwrap();
                    go_on.recv().unwrap()
                })
            })
        });
        let running = network.start(&pool).unwrap();
        said.recv().unwrap();
        drop(pool.spawn_future(async move { opened.await.unwrap() }));
        let dropper = thread::spawn(move || drop(pool));
        thread::sleep(Duration::from_millis(10));
        assert!(!is_cancelled.is_closed());
        open.send(7).unwrap();
        dropper.join().unwrap();
        assert!(is_cancelled.is_closed());
        assert_eq!(ended.get(), Some(&7));
        drop(running);
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

/// All workers but the guest are about something else: it finds nothing that it could do, and keeps nothing going round.
#[test]
fn a_guest_comes_across_a_process_once() {
    const PROCESSES: usize = 6;
    for workers in [2, 3] {
        in_time(move || {
            let pool = Pool::builder().workers(workers).with_current_thread().build().unwrap();
            let (say, said) = channel();
            let held: Vec<_> = (1..workers)
                .map(|index| {
                    let (open, opened) = channel::<()>();
                    let say = say.clone();
                    pool.spawn_at(index, move |_| {
                        say.send(()).unwrap();
                        let _ = opened.recv();
                    });
                    open
                })
                .collect();
            held.iter().for_each(|_| said.recv().unwrap());
            let mut network = Network::new();
            let ended: Vec<_> = (0..PROCESSES)
                .map(|n| network.process_on_stack(format!("{n}"), (), |()| index()))
                .collect();
            let running = network.start(&pool).unwrap();
            let ran = Worker::with_current(|guest| {
                let guest = guest.expect("the thread has joined the pool");
                // Again, since not to find one means little.
                (0..1000).filter(|_| guest.run_one()).count()
            });
            assert!(ran <= 1 + PROCESSES, "{ran}");
            assert!(ended.iter().all(|ended| ended.get().is_none()), "nobody had time");
            drop(held);
            block_on(running).unwrap();
            assert!(ended.into_iter().all(|ended| ended.take().unwrap() != 0));
        });
    }
}

/// Waits when it is dropped.
struct Patient(Arc<Semaphore>);

impl Drop for Patient {
    fn drop(&mut self) {
        block_on(self.0.acquire()).unwrap().forget();
    }
}

/// It runs what it finds on top of the destructor that waits, but processes it leaves to others.
#[test]
fn a_worker_that_unwinds_hands_processes_on() {
    in_time(|| {
        let panics = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&panics);
        let pool = Pool::builder().workers(2).panic_handler(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let pool = pool.build().unwrap();
        let gate = Arc::new(Semaphore::new(0));
        let (say, said) = channel();
        let (open, opened) = channel::<()>();
        let begun = say.clone();
        pool.spawn_at(1, move |_| {
            begun.send(()).unwrap();
            let _ = opened.recv();
        });
        said.recv().unwrap();
        let patient = Patient(Arc::clone(&gate));
        pool.spawn_at(0, move |_| {
            let _patient = patient;
            panic!("no more arrows")
        });
        let mut network = Network::new();
        // Begun first, and so polled last: the worker comes across the other one before.
        network.process("says", (), async move |()| say.send(()).unwrap());
        let ended = network.process_on_stack("elsewhere", (), |()| index());
        let running = network.start(&pool).unwrap();
        said.recv().unwrap();
        assert_eq!((ended.get(), panics.load(Ordering::Relaxed)), (None, 0));
        drop(open);
        running.join().unwrap();
        assert_eq!(ended.take(), Some(1));
        gate.add_permits(1);
        drop(pool);
        assert_eq!(panics.load(Ordering::Relaxed), 1);
    });
}

/// Where all that could begin it unwind, it is said.
#[test]
fn a_process_that_nobody_can_begin_has_no_stack() {
    in_time(|| {
        let pool = Pool::builder().workers(2).panic_handler(drop).build().unwrap();
        let gate = Arc::new(Semaphore::new(0));
        for worker in 0..2 {
            let patient = Patient(Arc::clone(&gate));
            pool.spawn_at(worker, move |_| {
                let _patient = patient;
                panic!("no more arrows")
            });
        }
        while !pool.stats().workers.iter().all(|worker| worker.tasks > 0) {
            thread::yield_now();
        }
        let mut network = Network::new();
        network.process_on_stack("nowhere", (), |()| ());
        let ended = network.run(&pool);
        assert!(matches!(ended, Err(NetworkError::NoStack { process }) if process == "nowhere"));
        gate.add_permits(2);
    });
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

/// A process that waits elsewhere is waited for; only then are those cancelled that wait at channels.
#[test]
fn a_dropped_pool_cancels_who_waits_at_a_channel_after_who_waits_elsewhere() {
    for workers in [1, 3] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let gate = Arc::new(Semaphore::new(0));
            let (say, said) = channel();
            let (own, begun) = (Arc::clone(&gate), say.clone());
            let mut network = Network::new();
            let (output, input) = network.channel::<u8>("nothing", 2);
            network.process("holds", output, async |_output| std::future::pending::<()>().await);
            let waited = network.process_on_stack("waits elsewhere", (), move |()| {
                begun.send(Some(index())).unwrap();
                block_on(own.acquire()).unwrap().forget();
            });
            network.process_on_stack("waits", input, move |mut input| {
                say.send(Some(index())).unwrap();
                assert_eq!(input.recv_blocking(), Err(Over));
                say.send(None).unwrap();
            });
            let running = network.start(&pool).unwrap();
            for _ in 0..2 {
                until_it_leaves(&pool, said.recv().unwrap().expect("it has begun"));
            }
            let dropper = thread::spawn(move || drop(pool));
            thread::sleep(Duration::from_millis(10));
            assert_eq!(said.try_recv(), Err(TryRecvError::Empty), "nothing is cancelled");
            assert!(!dropper.is_finished() && waited.get().is_none());
            gate.add_permits(1);
            assert_eq!(said.recv(), Ok(None));
            dropper.join().unwrap();
            assert_eq!(waited.get(), Some(&()));
            assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
        });
    }
}
