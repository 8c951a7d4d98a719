//! What processes on stacks wait for that is no channel, when their pool is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use locksley::kahn::{self, Network, NetworkError, Over};
use locksley::sync::Semaphore;
use locksley::{Pool, Waiting, Worker, block_on};

use crate::common::in_time;

fn index() -> usize {
    Worker::with_current(|worker| worker.expect("tasks run on workers").index())
}

fn with<R>(use_it: impl FnOnce(&Worker) -> R) -> R {
    Worker::with_current(|worker| use_it(worker.expect("tasks run on workers")))
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

/// In a call that blocks, in a task of a scope that runs on top, and in one inside the other.
#[test]
fn a_dropped_pool_cancels_who_waits_at_a_channel_in_the_middle_of_another_wait() {
    type Wait = fn(&Worker, &mut kahn::Receiver<u8>) -> Result<Option<u8>, Over>;
    let waits: [Wait; 4] = [
        |w, input| w.blocking(|| input.recv_blocking()),
        |w, input| w.blocking(|| w.blocking(|| input.recv_blocking())),
        |w, input| {
            let mut received = Ok(None);
            w.scope(|w, scope| scope.spawn_on(w, |_, _| received = input.recv_blocking()));
            received
        },
        |w, input| {
            let mut received = Ok(None);
            w.scope(|w, scope| {
                scope.spawn_on(w, |w, _| received = w.blocking(|| input.recv_blocking()));
            });
            received
        },
    ];
    for wait in waits {
        in_time(move || {
            let pool = Pool::new(1).unwrap();
            let (say, said) = channel();
            let mut network = Network::new();
            let (output, input) = network.channel("one", 2);
            network.process("sends one", output, async |mut output| {
                output.send(7).await;
                std::future::pending::<()>().await;
            });
            let told = network.process_on_stack("waits", input, move |mut input| {
                let first = with(|w| wait(w, &mut input));
                say.send(()).unwrap();
                (first, with(|w| wait(w, &mut input)))
            });
            let running = network.start(&pool).unwrap();
            said.recv().unwrap();
            until_it_leaves(&pool, 0);
            drop(pool);
            assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
            assert_eq!(told.take(), Some((Ok(Some(7)), Err(Over))));
        });
    }
}

/// It has waited at a channel in the middle of the call, and so was not counted for a while.
#[test]
fn a_dropped_pool_cancels_nothing_while_a_process_blocks_that_has_waited_at_a_channel() {
    in_time(|| {
        let pool = Pool::new(1).unwrap();
        let (say, said) = channel();
        let (is_cancelled, opened) = tokio::sync::oneshot::channel::<()>();
        let (open, go_on) = channel();
        let (let_it_send, is_let) = tokio::sync::oneshot::channel();
        let mut network = Network::new();
        let (output, input) = network.channel("one", 2);
        network.process("sends one", output, async move |mut output| {
            is_let.await.unwrap();
            output.send(3).await;
        });
        let ended = network.process_on_stack("blocks", input, move |mut input| {
            say.send(()).unwrap();
            with(|w| {
                w.blocking(|| {
                    let received = input.recv_blocking().unwrap().unwrap();
                    say.send(()).unwrap();
                    received + go_on.recv().unwrap()
                })
            })
        });
        drop(pool.spawn_future(async move { opened.await.unwrap() }));
        let running = network.start(&pool).unwrap();
        said.recv().unwrap();
        until_it_leaves(&pool, 0);
        let_it_send.send(()).unwrap();
        said.recv().unwrap();
        let dropper = thread::spawn(move || drop(pool));
        thread::sleep(Duration::from_millis(10));
        assert!(!is_cancelled.is_closed());
        open.send(4).unwrap();
        dropper.join().unwrap();
        assert!(is_cancelled.is_closed());
        assert_eq!(ended.get(), Some(&7));
        drop(running);
    });
}

/// A process that blocks again and again, and in between says so to its echo, and says when it has ended.
struct Blocks {
    /// In a call that blocks, with what ends that; or not any more.
    says: Sender<Option<Sender<()>>>,
}

impl Blocks {
    fn run(
        self,
        output: &mut kahn::Sender<u8>,
        input: &mut kahn::Receiver<u8>,
    ) -> Result<(), Over> {
        loop {
            let (end, ended) = channel();
            with(|w| {
                w.blocking(|| {
                    self.says.send(Some(end)).unwrap();
                    ended.recv().unwrap();
                });
            });
            output.send_blocking(1)?;
            assert_eq!(input.recv_blocking()?, Some(1));
        }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        // Nobody listens if the test has failed.
        let _ = self.says.send(None);
    }
}

/// At each moment one of them waits for something foreign. Each of these waits ends.
#[test]
fn waits_that_overlap_without_end_do_not_keep_a_pool_from_being_dropped() {
    for workers in [2, 3] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let mut network = Network::new();
            let said: Vec<Receiver<Option<Sender<()>>>> = (0..2)
                .map(|_| {
                    let (says, said) = channel();
                    let (there, comes) = network.channel("there", 2);
                    let (back, returns) = network.channel("back", 2);
                    let blocks = Blocks { says };
                    network.process_on_stack("blocks", (there, returns), move |ends| {
                        let (mut output, mut input) = ends;
                        assert_eq!(blocks.run(&mut output, &mut input), Err(Over));
                    });
                    network.process("echo", (comes, back), async |(mut comes, mut back)| {
                        while let Some(n) = comes.recv().await {
                            back.send(n).await;
                        }
                    });
                    said
                })
                .collect();
            let running = network.start(&pool).unwrap();
            let mut waits: Vec<_> = said.iter().map(|said| said.recv().unwrap()).collect();
            let dropper = thread::spawn(move || drop(pool));
            while waits.iter().any(Option::is_some) {
                for (wait, said) in waits.iter_mut().zip(&said) {
                    if let Some(end) = wait.take() {
                        end.send(()).unwrap();
                        *wait = said.recv().unwrap();
                    }
                }
            }
            dropper.join().unwrap();
            assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
        });
    }
}

/// The second half of a join was stolen, and waits for what a future of the pool does. The first worker runs what lies below the half, or nothing.
#[test]
fn a_dropped_pool_cancels_nothing_that_a_join_waits_for_that_runs_only_what_lies_below() {
    for is_in_network in [false, true] {
        in_time(move || {
            let pool = Pool::new(2).unwrap();
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
                // So that it leaves its stack, and what has begun it is not owed an end any more.
                block_on(locksley::task::spawn(async {})).unwrap();
                let (is_stolen, is_helped) = (AtomicBool::new(false), AtomicBool::new(false));
                let until = |it: &AtomicBool| {
                    while !it.load(Ordering::Acquire) {
                        thread::yield_now();
                    }
                };
                let second = |w: &Worker| {
                    is_stolen.store(true, Ordering::Release);
                    // Of the other workers only the first one, which waits by then, is there to steal that back.
                    w.join(|_| until(&is_helped), |_| is_helped.store(true, Ordering::Release));
                    say.send(()).unwrap();
                    block_on(gate.acquire()).unwrap().forget();
                };
                with(|w| w.join_waiting(Waiting::Below, |_| until(&is_stolen), second));
            });
            if is_in_network {
                network.process("opens", (), async move |()| opens.await);
            } else {
                drop(pool.spawn_future(opens));
            }
            let running = network.start(&pool).unwrap();
            said.recv().unwrap();
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

/// A scope that a process waits for began before its pool was dropped, and is not waited for while the process is at a channel inside of it: a task of the
/// scope that another worker has finds a future of the pool cancelled.
#[test]
fn a_dropped_pool_cancels_though_a_scope_is_around_a_wait_at_a_channel() {
    in_time(|| {
        let pool = Pool::new(2).unwrap();
        let (open, opened) = channel::<()>();
        drop(pool.spawn_future(async move {
            let _open = open;
            std::future::pending::<()>().await;
        }));
        let (say, said) = channel();
        let mut network = Network::new();
        let (output, input) = network.channel::<u8>("nothing", 2);
        network.process("holds", output, async |_output| std::future::pending::<()>().await);
        let told = network.process_on_stack("waits", input, move |mut input| {
            let (mut received, mut is_over) = (Ok(None), false);
            let (begin, begun) = channel();
            let over = &mut is_over;
            with(|w| {
                w.scope(|w, scope| {
                    scope.spawn_on(w, move |_, _| {
                        begin.send(()).unwrap();
                        *over = opened.recv().is_err();
                    });
                    // The other worker has it, and is stuck.
                    begun.recv().unwrap();
                    say.send(w.index()).unwrap();
                    scope.spawn_on(w, |_, _| received = input.recv_blocking());
                });
            });
            (received, is_over)
        });
        let running = network.start(&pool).unwrap();
        until_it_leaves(&pool, said.recv().unwrap());
        drop(pool);
        assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
        assert_eq!(told.take(), Some((Err(Over), true)));
    });
}
