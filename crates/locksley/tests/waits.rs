//! How workers wait: only descendants run on top of a waiting frame. Otherwise the thread parks,
//! and a replacement works under its index.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, OnceLock, RwLock};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use locksley::{Pool, Worker, block_on};

/// Calls `task` with the worker that the calling thread is.
fn on_worker<R>(task: impl FnOnce(&Worker) -> R) -> R {
    Worker::with_current(|current| task(current.expect("a worker's thread")))
}

thread_local! {
    /// Stands for what a crate for scoped thread-locals keeps: a pointer into the frame of `set`.
    static SCOPED: Cell<usize> = const { Cell::new(0) };
}

/// Sets the thread-local while `body` runs.
fn set<R>(value: usize, body: impl FnOnce() -> R) -> R {
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            SCOPED.set(self.0);
        }
    }
    let _restore = Restore(SCOPED.replace(value));
    body()
}

/// Frames of several tasks on one thread end in the reverse of the order in which they began. A
/// join that switched stacks would leave pointers to frames that have ended.
#[test]
fn scoped_thread_locals_nest_across_joins() {
    let pool = Pool::new(6).unwrap();
    let wrong = Arc::new(AtomicUsize::new(0));
    pool.in_place_scope(|scope| {
        for n in 0..24_usize {
            let wrong = &wrong;
            scope.spawn(move |_| {
                set(n + 1, || {
                    let pause = |millis| move || thread::sleep(Duration::from_millis(millis));
                    locksley::join(pause(15), pause(30 + 37 * n as u64 % 80));
                    if SCOPED.get() != n + 1 {
                        wrong.fetch_add(1, Ordering::Relaxed);
                    }
                });
            });
        }
    });
    let left = pool.broadcast(|_| SCOPED.get());
    assert!(left.iter().all(|&value| value == 0), "{left:?}");
    assert_eq!(wrong.load(Ordering::Relaxed), 0);
}

/// A gate that futures wait for.
#[derive(Default)]
struct Gate {
    is_open: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl Gate {
    fn open(&self) {
        let wakers = {
            let mut wakers = self.wakers.lock().unwrap();
            self.is_open.store(true, Ordering::Release);
            std::mem::take(&mut *wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

struct Passed<'g>(&'g Gate);

impl Future for Passed<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut wakers = self.0.wakers.lock().unwrap();
        if self.0.is_open.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        wakers.push(context.waker().clone());
        Poll::Pending
    }
}

/// Waits do not pile up on the stack of a thread: at the limit of replacements, further tasks stay
/// in the queue.
#[test]
fn many_tasks_that_block_do_not_nest() {
    const CLOSURES: usize = 20_000;
    let pool = Pool::builder().workers(2).replacements(6).build().unwrap();
    let gate = Arc::new(Gate::default());
    let passed = Arc::new(AtomicUsize::new(0));
    for _ in 0..CLOSURES {
        let (gate, passed) = (Arc::clone(&gate), Arc::clone(&passed));
        pool.spawn(move |_| {
            block_on(Passed(&gate));
            passed.fetch_add(1, Ordering::Relaxed);
        });
    }
    while gate.wakers.lock().unwrap().len() < 8 {
        thread::sleep(Duration::from_millis(1));
    }
    gate.open();
    drop(pool);
    assert_eq!(passed.load(Ordering::Relaxed), CLOSURES);
}

/// As in rayon's issues 592 and 1174: a task holds a lock while it waits, and another task of the
/// same scope that wants the lock is ready on the waiting worker.
fn lock_held_across_a_wait(lock: impl Fn(&mut dyn FnMut()) + Sync) {
    let pool = Pool::new(2).unwrap();
    let started = AtomicBool::new(false);
    pool.install(|worker| {
        locksley::in_place_scope(|scope| {
            let lock = &lock;
            lock(&mut || {
                worker.join(
                    |_| {
                        while !started.load(Ordering::Acquire) {
                            std::hint::spin_loop();
                        }
                    },
                    |_| {
                        started.store(true, Ordering::Release);
                        scope.spawn(move |_| lock(&mut || ()));
                        thread::sleep(Duration::from_millis(100));
                    },
                );
            });
        });
    });
}

#[test]
fn a_mutex_may_be_held_across_a_join() {
    let mutex = Mutex::new(());
    lock_held_across_a_wait(|body| {
        let _guard = mutex.lock().unwrap();
        body();
    });
}

#[test]
fn a_lock_for_writing_may_be_held_across_a_join() {
    let lock = RwLock::new(());
    lock_held_across_a_wait(|body| {
        let _guard = lock.write().unwrap();
        body();
    });
}

#[test]
fn a_cell_may_be_initialized_by_a_join() {
    let cell = OnceLock::new();
    lock_held_across_a_wait(|body| {
        cell.get_or_init(body);
    });
}

/// Many tasks on all workers take the same lock and hold it across a join.
#[test]
fn all_workers_may_hold_locks_across_joins() {
    let pool = Pool::new(3).unwrap();
    let total = Mutex::new(0);
    pool.in_place_scope(|scope| {
        for _ in 0..200 {
            scope.spawn(|_| {
                let mut total = total.lock().unwrap();
                let (a, b) = locksley::join(
                    || 1,
                    || {
                        thread::yield_now();
                        2
                    },
                );
                *total += a + b;
            });
        }
    });
    assert_eq!(total.into_inner().unwrap(), 600);
}

/// While a worker blocks, its replacement runs ready tasks.
#[test]
fn a_replacement_runs_ready_tasks_while_a_worker_blocks() {
    let pool = Pool::new(1).unwrap();
    let (sender, receiver) = channel();
    let answer = pool.install(move |_| {
        locksley::spawn(move || sender.send(42).unwrap());
        // It waits for a message, and not for a task.
        locksley::blocking(|| receiver.recv().unwrap())
    });
    assert_eq!(answer, 42);
    let pool = Pool::new(2).unwrap();
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    pool.install(|_| {
        locksley::in_place_scope(|scope| {
            // Two tasks block until a third one has run, for which no worker is left.
            for _ in 0..2 {
                scope.spawn(|_| {
                    on_worker(|_| {
                        locksley::blocking(|| {
                            let mut met = mutex.lock().unwrap();
                            *met += 1;
                            condvar.notify_all();
                            while *met < 3 {
                                met = condvar.wait(met).unwrap();
                            }
                        });
                    })
                });
            }
            scope.spawn(|_| {
                *mutex.lock().unwrap() += 1;
                condvar.notify_all();
            });
        });
    });
}

/// Each wait is inside of another one, and needs a replacement of its own.
#[test]
fn waits_nest_as_deep_as_there_are_replacements() {
    fn nested(_: &Worker, depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let task = locksley::task::spawn(async move {
            Worker::with_current(|worker| {
                nested(worker.expect("a worker polls the task"), depth - 1)
            })
        });
        1 + block_on(task).unwrap()
    }
    let pool = Pool::builder().workers(1).replacements(20).build().unwrap();
    assert_eq!(pool.install(|worker| nested(worker, 20)), 20);
}

/// The workers of two pools wait for each other's broadcasts.
#[test]
fn broadcasts_of_two_pools_may_wait_for_each_other() {
    let (one, other) = (Pool::new(2).unwrap(), Pool::new(3).unwrap());
    let count = AtomicUsize::new(0);
    one.broadcast(|_| {
        other.broadcast(|_| {
            one.broadcast(|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        });
    });
    assert_eq!(count.load(Ordering::Relaxed), 2 * 3 * 2);
}

/// A task that a join or a scope waits for may need a task that only the waiting worker may run.
#[test]
fn a_task_that_a_worker_waits_for_may_broadcast() {
    for workers in 1..4 {
        let pool = Pool::new(workers).unwrap();
        let count = AtomicUsize::new(0);
        let broadcast = |_: &Worker| {
            pool.broadcast(|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        };
        pool.install(|worker| {
            let pause = |_: &Worker| thread::sleep(Duration::from_millis(5));
            worker.join(pause, broadcast);
            locksley::in_place_scope(|scope| {
                scope.spawn(|_| on_worker(|worker| broadcast(worker)))
            });
        });
        assert_eq!(count.load(Ordering::Relaxed), 2 * workers);
    }
}

fn only_worker() -> Pool {
    Pool::builder().workers(1).own_threads_only().build().unwrap()
}

/// The outer scope waits, and another worker has no time: the tasks that the inner wait came upon
/// run in the outer one, each once.
#[test]
fn a_wait_finds_the_tasks_of_its_scope_that_an_inner_one_has_left() {
    for oldest_first in [false, true] {
        // Without replacements, a wait that does not find its tasks runs any.
        let pool = Pool::builder().workers(1).replacements(0).own_threads_only();
        let pool = if oldest_first { pool.oldest_first() } else { pool }.build().unwrap();
        let order = &Mutex::new(Vec::new());
        let ran = |name: &'static str| order.lock().unwrap().push(name);
        let ran = &ran;
        pool.install(|_| {
            pool.spawn(|_| ());
            locksley::scope(|outermost| {
                locksley::scope(|outer| {
                    locksley::scope(|inner| {
                        inner.spawn(|_| ran("inner"));
                        outermost.spawn(|_| ran("outermost"));
                        outer.spawn(|_| ran("outer"));
                        inner.spawn(|_| ran("inner"));
                    });
                    assert_eq!(*order.lock().unwrap(), ["inner", "inner"]);
                });
                assert_eq!(order.lock().unwrap()[2..], ["outer"]);
            });
            assert_eq!(order.lock().unwrap()[3..], ["outermost"]);
        });
    }
}

/// A task waits for the end of another pool's, and then for the index, under which code polls.
#[test]
fn code_that_polls_lets_a_task_go_on_whose_wait_is_over() {
    type Poll = fn(&Worker) -> bool;
    for poll in [Worker::run_one as Poll, Worker::run_local] {
        let (pool, other) = (only_worker(), only_worker());
        let ran = AtomicUsize::new(0);
        pool.install(|worker| {
            locksley::in_place_scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|_| {
                        other.install(|_| thread::sleep(Duration::from_millis(5)));
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
                }
                while ran.load(Ordering::Relaxed) < 2 {
                    poll(worker);
                }
            });
        });
    }
}

/// The task under the index blocks for longer than 100 ms, so the one that polls goes on. It begins
/// no task that others have sent.
#[test]
fn code_that_polls_begins_no_task_of_others_without_the_index() {
    let (pool, other) = (only_worker(), only_worker());
    let (blocks, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let (polls, clashes) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (blocks, is_over, polls, clashes) = (&blocks, &is_over, &polls, &clashes);
    pool.install(|_| {
        locksley::scope(|scope| {
            scope.spawn(move |_| {
                while !is_over.load(Ordering::Acquire) {
                    if blocks.load(Ordering::Acquire) {
                        if !on_worker(Worker::run_one) {
                            polls.fetch_add(1, Ordering::Relaxed);
                        }
                    } else {
                        on_worker(Worker::run_one);
                    }
                }
            });
            other.install(|_| thread::sleep(Duration::from_millis(20)));
            blocks.store(true, Ordering::Release);
            thread::scope(|threads| {
                let runs = move || {
                    if blocks.load(Ordering::Acquire) {
                        clashes.fetch_add(1, Ordering::Relaxed);
                    }
                };
                threads.spawn(move || scope.spawn(move |_| runs()));
                thread::sleep(Duration::from_millis(800));
            });
            blocks.store(false, Ordering::Release);
            is_over.store(true, Ordering::Release);
        });
    });
    assert_eq!(clashes.load(Ordering::Relaxed), 0);
    // Where the system does not tell of progress, the first poll ends after 100 ms, too.
    assert!(polls.load(Ordering::Relaxed) > 0, "the task that polls goes on");
}

/// Each join of the recursion comes upon the tasks that the joins in its first half have left.
#[test]
fn the_tasks_that_many_first_halves_leave_run_once() {
    fn recurse<'s>(scope: &locksley::Scope<'s>, ran: &'s AtomicUsize, depth: usize) {
        if depth > 0 {
            let first = || {
                scope.spawn(|_| _ = ran.fetch_add(1, Ordering::Relaxed));
                recurse(scope, ran, depth - 1);
            };
            locksley::join(first, || ran.fetch_add(1, Ordering::Relaxed));
        }
    }
    for (workers, depth) in [(1, 15), (1, 16), (1, 17), (1, 300), (2, 300), (3, 100)] {
        let ran = AtomicUsize::new(0);
        let pool = Pool::new(workers).unwrap();
        pool.install(|_| locksley::scope(|scope| recurse(scope, &ran, depth)));
        assert_eq!(ran.into_inner(), 2 * depth, "{workers} workers");
    }
}

/// Polls move the oldest job to the end of the deque, so that it is not starved: here the second
/// half of the outer join.
#[test]
fn a_join_finds_its_second_half_after_polls_have_moved_it() {
    let pool = Arc::new(Pool::new(1).unwrap());
    let (done, is_done) = channel();
    let spawns = Arc::clone(&pool);
    pool.spawn(move |worker| {
        let spawn_and_poll = |worker: &Worker| {
            for _ in 0..100 {
                drop(spawns.spawn_future(async {}));
            }
            for _ in 0..61 {
                worker.run_one();
            }
        };
        worker.join(|worker| worker.join(spawn_and_poll, |_| ()), |_| ());
        done.send(()).unwrap();
    });
    assert!(is_done.recv_timeout(Duration::from_secs(30)).is_ok());
}
