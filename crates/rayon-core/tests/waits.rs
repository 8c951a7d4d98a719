//! Programs that stop for ever, or for long, on rayon's own core: a wait there runs unrelated tasks
//! on top of the waiting frame. Each number is that of an issue of rayon.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, OnceLock, RwLock};
use std::thread;
use std::time::Duration;

use rayon_core::ThreadPool;

fn pool(threads: usize) -> ThreadPool {
    rayon_core::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        thread::yield_now();
    }
}

/// Fails if `program` does not end within a minute.
fn assert_ends(program: impl FnOnce() + Send + 'static) {
    let (ended, end) = channel();
    thread::spawn(move || {
        program();
        ended.send(()).unwrap();
    });
    end.recv_timeout(Duration::from_secs(60)).expect("it has stopped, or has panicked");
}

/// Runs a join while `hold` is on the stack. The second half, on the other thread, spawns
/// `wants_it` into the surrounding scope and goes on for a while.
fn join_under_a_lock(
    hold: impl FnOnce(&dyn Fn()) + Send + 'static,
    wants_it: impl Fn() + Send + Sync + 'static,
) {
    assert_ends(move || {
        let (started, wants_it) = (AtomicBool::new(false), &wants_it);
        pool(2).scope(|scope| {
            let second = || {
                started.store(true, Ordering::Release);
                scope.spawn(move |_| wants_it());
                thread::sleep(Duration::from_millis(100));
            };
            hold(&|| {
                rayon_core::join(|| until(&started), second);
            });
        });
    });
}

#[test]
fn issue_592_a_mutex_may_be_held_across_a_join() {
    static LOCK: Mutex<u32> = Mutex::new(0);
    join_under_a_lock(
        |join| {
            let mut held = LOCK.lock().unwrap();
            join();
            *held += 1;
        },
        || *LOCK.lock().unwrap() += 1,
    );
    assert_eq!(*LOCK.lock().unwrap(), 2);
}

#[test]
fn issue_592_a_read_write_lock_may_be_held_across_a_join() {
    static LOCK: RwLock<u32> = RwLock::new(0);
    join_under_a_lock(
        |join| {
            let mut held = LOCK.write().unwrap();
            join();
            *held += 1;
        },
        || assert_eq!(*LOCK.read().unwrap(), 1),
    );
}

#[test]
fn issue_592_a_once_lock_may_be_initialized_by_a_join() {
    static CELL: OnceLock<u32> = OnceLock::new();
    join_under_a_lock(
        |join| {
            let value = CELL.get_or_init(|| {
                join();
                7
            });
            assert_eq!(*value, 7);
        },
        || assert_eq!(*CELL.get_or_init(|| unreachable!("another thread initializes it")), 7),
    );
}

/// A library with a lock and a pool of its own. On rayon's core a thread that waits for the library
/// steals another call of it.
#[test]
fn issue_1174_a_lock_may_be_held_while_another_pool_works() {
    assert_ends(|| {
        let (driver, library) = (Mutex::new(0), pool(2));
        let call = || {
            let mut calls = driver.lock().unwrap();
            library.scope(|scope| {
                scope.spawn(|_| thread::sleep(Duration::from_millis(1)));
            });
            *calls += 1;
        };
        pool(2).scope(|scope| (0..50).for_each(|_| scope.spawn(|_| call())));
        assert_eq!(driver.into_inner().unwrap(), 50);
    });
}

/// A join ends when its halves have ended. On rayon's core the waiting thread would run `endless`.
#[test]
fn issue_1077_a_join_does_not_wait_for_an_unrelated_task_that_blocks() {
    assert_ends(|| {
        let started = AtomicBool::new(false);
        let (joined, is_joined) = channel();
        let is_joined = Mutex::new(is_joined);
        pool(2).scope(|scope| {
            let blocked = |_: &_| is_joined.lock().unwrap().recv().unwrap();
            let second = || {
                started.store(true, Ordering::Release);
                scope.spawn(blocked);
                thread::sleep(Duration::from_millis(100));
            };
            rayon_core::join(|| until(&started), second);
            joined.send(()).unwrap();
        });
    });
}

/// Stolen tasks do not nest on a waiting thread: each is a descendant of what the frame below waits
/// for, so that the depth is that of the program's own recursion.
#[test]
fn issue_854_waits_do_not_nest_unrelated_tasks() {
    use std::cell::Cell;

    thread_local!(static DEPTH: Cell<usize> = const { Cell::new(0) });
    static DEEPEST: AtomicUsize = AtomicUsize::new(0);

    /// An item of an outer loop, which waits for an inner one.
    fn item() {
        DEPTH.set(DEPTH.get() + 1);
        DEEPEST.fetch_max(DEPTH.get(), Ordering::Relaxed);
        let pause = || thread::sleep(Duration::from_micros(200));
        rayon_core::join(pause, pause);
        DEPTH.set(DEPTH.get() - 1);
    }

    assert_ends(|| pool(4).scope(|scope| (0..400).for_each(|_| scope.spawn(|_| item()))));
    assert_eq!(DEEPEST.load(Ordering::Relaxed), 1);
}

#[test]
fn replacements_have_the_stack_size_of_the_pool() {
    fn deep(bytes: usize) -> u8 {
        let frame = std::hint::black_box([1_u8; 64 << 10]);
        if bytes > frame.len() { deep(bytes - frame.len()) } else { frame[7] }
    }
    assert_ends(|| {
        let only = rayon_core::ThreadPoolBuilder::new().num_threads(1).stack_size(64 << 20);
        let (only, other, done) = (only.build().unwrap(), pool(1), AtomicBool::new(false));
        only.scope(|scope| {
            scope.spawn(|_| {
                assert_eq!(deep(16 << 20), 1);
                done.store(true, Ordering::Release);
            });
            other.install(|| until(&done));
        });
    });
}

#[test]
fn a_half_that_a_replacement_runs_has_migrated() {
    assert_ends(|| {
        let (other, done) = (pool(1), AtomicBool::new(false));
        let second = |context: rayon_core::FnContext| {
            done.store(true, Ordering::Release);
            context.migrated()
        };
        let join = || rayon_core::join_context(|_| other.install(|| until(&done)), second);
        assert!(pool(1).install(join).1);
    });
}

/// The scope in the middle has a lock, and waits for a task that was spawned while an inner scope
/// ran. An older task, from outside, wants the lock.
#[test]
fn a_waiting_thread_keeps_its_tasks_of_an_outer_scope() {
    keeps_tasks_of_an_outer_scope(false);
    keeps_tasks_of_an_outer_scope(true);
}

#[allow(deprecated, reason = "it has to work, too")]
fn keeps_tasks_of_an_outer_scope(breadth_first: bool) {
    assert_ends(move || {
        static LOCK: Mutex<u32> = Mutex::new(0);
        *LOCK.lock().unwrap() = 0;
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1);
        let pool = if breadth_first { pool.breadth_first() } else { pool }.build().unwrap();
        let (pool, began, end) = (&pool, &AtomicBool::new(false), &AtomicBool::new(false));
        thread::scope(|threads| {
            threads.spawn(move || {
                pool.scope(|_| {
                    let mut held = LOCK.lock().unwrap();
                    began.store(true, Ordering::Release);
                    until(end);
                    rayon_core::scope(|outer| {
                        rayon_core::scope(|inner| {
                            inner.spawn(|_| ());
                            outer.spawn(|_| thread::sleep(Duration::from_millis(20)));
                            inner.spawn(|_| ());
                        });
                    });
                    *held += 1;
                });
            });
            until(began);
            pool.spawn(|| *LOCK.lock().unwrap() += 1);
            end.store(true, Ordering::Release);
        });
        pool.install(|| assert_eq!(*LOCK.lock().unwrap(), 2));
    });
}

/// The task sleeps for longer than a thread without progress may keep the index. The other one goes
/// on meanwhile, but begins no task that others have sent.
#[test]
fn code_that_polls_begins_no_task_of_others_while_one_has_the_index() {
    assert_ends(|| {
        let (only, other) = (&pool(1), pool(1));
        let (sleeps, is_over) = (&AtomicBool::new(false), &AtomicBool::new(false));
        let clashes = &AtomicUsize::new(0);
        only.scope(|scope| {
            scope.spawn(|_| {
                while !is_over.load(Ordering::Acquire) {
                    rayon_core::yield_now();
                }
            });
            other.install(|| thread::sleep(Duration::from_millis(20)));
            sleeps.store(true, Ordering::Release);
            thread::scope(|threads| {
                threads.spawn(|| {
                    only.in_place_scope(|scope| {
                        scope.spawn(|_| {
                            let clash = sleeps.load(Ordering::Acquire).into();
                            clashes.fetch_add(clash, Ordering::Relaxed);
                        });
                        thread::sleep(Duration::from_millis(300));
                        sleeps.store(false, Ordering::Release);
                        is_over.store(true, Ordering::Release);
                    });
                });
                thread::sleep(Duration::from_millis(300));
                // The scope's task needs the index.
                while sleeps.load(Ordering::Acquire) {
                    thread::sleep(Duration::from_millis(1));
                }
                rayon_core::yield_now();
            });
        });
        assert_eq!(clashes.load(Ordering::Relaxed), 0);
    });
}

/// Another task waits for the lock, under the index. It gets that when the polled task has run.
#[test]
fn code_that_polls_under_a_lock_runs_what_it_has_spawned() {
    assert_ends(|| {
        static LOCK: Mutex<()> = Mutex::new(());
        type Poll = fn() -> Option<rayon_core::Yield>;
        for poll in [rayon_core::yield_now as Poll, rayon_core::yield_local] {
            let (only, other) = (pool(1), pool(1));
            only.scope(|scope| {
                let held = LOCK.lock().unwrap();
                scope.spawn(|_| drop(LOCK.lock().unwrap()));
                other.install(|| thread::sleep(Duration::from_millis(20)));
                let (sender, receiver) = channel();
                scope.spawn(move |_| sender.send(()).unwrap());
                while receiver.try_recv().is_err() {
                    poll();
                }
                drop(held);
            });
        }
    });
}

/// What is polled for lies in the deque of the thread that waits for the task that polls.
#[test]
fn a_replacement_that_polls_finds_the_tasks_of_the_thread_that_it_replaces() {
    assert_ends(|| {
        let (only, other) = (pool(1), pool(1));
        let (done, over) = (&AtomicBool::new(false), &AtomicBool::new(false));
        only.scope(|scope| {
            scope.spawn(|_| {
                while !done.load(Ordering::Acquire) {
                    rayon_core::yield_local();
                }
                over.store(true, Ordering::Release);
            });
            scope.spawn(|_| done.store(true, Ordering::Release));
            other.install(|| until(over));
        });
    });
}

#[test]
fn code_that_polls_lets_a_task_go_on_whose_wait_is_over() {
    assert_ends(|| {
        let (only, other, done) = (pool(1), pool(2), AtomicUsize::new(0));
        only.scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|_| {
                    other.install(|| thread::sleep(Duration::from_millis(10)));
                    done.fetch_add(1, Ordering::Release);
                });
            }
            while done.load(Ordering::Acquire) < 2 {
                rayon_core::yield_now();
            }
        });
    });
}

/// The broadcast's task is for the thread that waits for `other`.
#[test]
fn code_that_polls_lets_a_waiting_thread_run_a_broadcast() {
    assert_ends(|| {
        let (only, other, done) = (pool(1), pool(1), AtomicBool::new(false));
        only.scope(|scope| {
            scope.spawn(|scope| {
                scope.spawn_broadcast(|_, _| done.store(true, Ordering::Release));
                while !done.load(Ordering::Acquire) {
                    rayon_core::yield_now();
                }
            });
            other.install(|| thread::sleep(Duration::from_millis(50)));
        });
    });
}

/// It runs its newest task first, as rayon's threads do, whatever it waits for.
#[test]
fn a_calling_thread_that_is_the_only_one_runs_any_task_while_it_waits() {
    let alone = || {
        let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1);
        builder.use_current_thread().build().unwrap()
    };
    assert_ends(move || {
        let _pool = alone();
        rayon_core::scope(|scope| {
            let (sender, receiver) = channel();
            scope.spawn(move |_| receiver.recv().unwrap());
            rayon_core::spawn(move || sender.send(()).unwrap());
        });
    });
    assert_ends(move || {
        let _pool = alone();
        let (sender, receiver) = channel();
        let send = move || rayon_core::spawn(move || sender.send(()).unwrap());
        rayon_core::join(send, move || receiver.recv().unwrap());
    });
}
