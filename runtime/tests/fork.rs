//! Pools in a process that was forked: in the child none of their threads are there.

#![cfg(all(target_os = "linux", not(locksley_portable)))]

mod common;

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::{Restless, message};
use locksley::task::Task;
use locksley::{Pool, Waiting, Worker, intervals};

/// Nobody builds a pool while somebody else forks.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// With that code.
    Exit(i32),
    /// By that signal.
    Signal(i32),
    /// It had to be killed.
    Hung,
}

/// Runs `what` in a child of this process, which ends with the code that it returns, or with 101 if it panics.
fn in_a_child(what: impl FnOnce() -> i32) -> End {
    // SAFETY: the child uses what the C library keeps whole in children, and ends without the parent's destructors.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        let code = catch_unwind(AssertUnwindSafe(what)).unwrap_or(101);
        // SAFETY: ends the process.
        unsafe { libc::_exit(code) };
    }
    end_of(child)
}

/// Waits for a child, for some time.
fn end_of(child: libc::pid_t) -> End {
    let patience = Instant::now() + Duration::from_secs(30);
    loop {
        let mut status = 0;
        // SAFETY: the child is ours, and has not been waited for; a status is written to where there is room.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        match ended {
            0 if Instant::now() > patience => {
                // SAFETY: a child that has not been waited for is there.
                unsafe { libc::kill(child, libc::SIGKILL) };
                // SAFETY: as above.
                unsafe { libc::waitpid(child, &raw mut status, 0) };
                return End::Hung;
            }
            0 => thread::sleep(Duration::from_millis(1)),
            _ if libc::WIFEXITED(status) => return End::Exit(libc::WEXITSTATUS(status)),
            _ => return End::Signal(libc::WTERMSIG(status)),
        }
    }
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = locksley::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn fib_on(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib_on(w, n - 1), |w| fib_on(w, n - 2));
    a + b
}

/// The second half of a join runs though the first one waits for it, and though the worker had forked undisturbed.
fn is_helped(w: &Worker) -> bool {
    for _ in 0..200 {
        w.join(|_| (), |_| ());
    }
    let flag = AtomicBool::new(false);
    let wait = || {
        while !flag.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
    };
    w.join(|_| wait(), |_| flag.store(true, Ordering::Release));
    true
}

#[test]
fn the_harness_sees_how_a_child_ends() {
    let _alone = alone();
    assert_eq!(in_a_child(|| 7), End::Exit(7));
    assert_eq!(in_a_child(|| panic!("in a child")), End::Exit(101));
    assert_eq!(in_a_child(|| std::process::abort()), End::Signal(libc::SIGABRT));
}

#[test]
fn the_global_pool_works_in_the_child_and_on_in_the_parent() {
    let _alone = alone();
    let before = Pool::global();
    assert_eq!(fib(12), 144);
    let workers = before.workers();
    let end = in_a_child(|| {
        assert_eq!(fib(15), 610);
        assert_eq!(Pool::global().workers(), workers);
        assert_eq!(before.run(|w| fib_on(w, 15)), 610, "by the reference from before");
        assert_eq!(locksley::scope(|scope| scope.spawn(|_| ())), ());
        assert_eq!(before.broadcast(Worker::index), Vec::from_iter(0..workers));
        9
    });
    assert_eq!(end, End::Exit(9));
    assert_eq!(fib(15), 610);
}

#[test]
fn a_child_of_a_child_has_pools_too() {
    let _alone = alone();
    assert_eq!(fib(10), 55);
    let pool = Pool::new(3).unwrap();
    let end = in_a_child(|| {
        assert_eq!((fib(10), pool.run(|w| fib_on(w, 10))), (55, 55));
        let end = in_a_child(|| {
            assert_eq!((fib(11), pool.run(|w| fib_on(w, 11))), (89, 89));
            drop(pool);
            5
        });
        assert_eq!(end, End::Exit(5));
        6
    });
    assert_eq!(end, End::Exit(6));
}

#[test]
fn a_pool_is_built_again_as_it_was() {
    let _alone = alone();
    let started = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&started);
    let pool = Pool::builder()
        .workers(3)
        .thread_name(|index| format!("again {index}"))
        .on_start(move |_| {
            count.fetch_add(1, Ordering::AcqRel);
        })
        .worker_data(|index| index * 10)
        .build()
        .unwrap();
    assert!(pool.run(is_helped));
    let end = in_a_child(|| {
        assert_eq!((pool.workers(), started.load(Ordering::Acquire)), (3, 3), "nothing yet");
        assert!(pool.run(is_helped));
        assert_eq!(started.load(Ordering::Acquire), 6);
        assert_eq!(pool.broadcast(|w| *w.data::<usize>().unwrap()), [0, 10, 20]);
        let name = |_: &Worker| thread::current().name().unwrap().to_owned();
        assert_eq!(pool.broadcast(name), ["again 0", "again 1", "again 2"]);
        assert_eq!(pool.stats().workers.len(), 3);
        drop(pool);
        4
    });
    assert_eq!(end, End::Exit(4));
    assert_eq!(started.load(Ordering::Acquire), 3, "in the parent");
}

#[test]
fn dropping_and_detaching_in_the_child_waits_for_nobody() {
    let _alone = alone();
    for used in [false, true] {
        for detached in [false, true] {
            let pool = Pool::new(4).unwrap();
            pool.run(|w| fib_on(w, 10));
            let end = in_a_child(|| {
                if used {
                    assert_eq!(pool.run(|w| fib_on(w, 10)), 55);
                }
                if detached {
                    pool.detach()
                } else {
                    drop(pool)
                }
                3
            });
            assert_eq!(end, End::Exit(3), "used: {used}, detached: {detached}");
        }
    }
}

#[test]
fn statistics_of_a_pool_from_before_can_be_read() {
    let _alone = alone();
    let pool = Pool::new(2).unwrap();
    pool.run(|w| fib_on(w, 15));
    let end = in_a_child(|| {
        assert_eq!(pool.stats().workers.len(), 2);
        assert!(format!("{pool:?}").contains("workers"));
        1
    });
    assert_eq!(end, End::Exit(1));
}

/// What lies in the frames of other threads may be overwritten in the child, so nothing here does.
#[test]
fn a_child_of_a_worker_is_no_worker() {
    let _alone = alone();
    let pool: &'static Pool = Box::leak(Box::new(Pool::new(2).unwrap()));
    let end = pool.run(move |w| {
        assert!(w.is_of(pool));
        in_a_child(move || {
            assert!(Worker::with_current(|current| current.is_none()));
            assert_eq!((fib(14), pool.run(|w| fib_on(w, 14))), (377, 377));
            2
        })
    });
    assert_eq!(end, End::Exit(2));
    assert_eq!(pool.run(|w| fib_on(w, 14)), 377);
}

#[test]
fn a_pool_that_is_at_work_when_somebody_forks_is_built_again_too() {
    let _alone = alone();
    let (pool, stop) = (Pool::new(4).unwrap(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                pool.run(|w| {
                    fib_on(w, 12);
                    w.blocking(|| thread::sleep(Duration::from_micros(50)));
                });
            }
        });
        for round in 0..20 {
            let end = in_a_child(|| {
                assert_eq!(pool.run(|w| fib_on(w, 12)), 144);
                assert_eq!(pool.run(|w| w.blocking(|| fib(8))), 21);
                round
            });
            assert_eq!(end, End::Exit(round));
        }
        stop.store(true, Ordering::Release);
    });
}

#[test]
fn what_was_lost_is_a_panic_or_the_end_and_does_not_hang() {
    let _alone = alone();
    let pool = Pool::new(1).unwrap();
    // A thread waits in the child for a task of the parent.
    let mut ends = Vec::new();
    let waited = catch_unwind(AssertUnwindSafe(|| {
        pool.in_place_scope(|scope| {
            scope.spawn(|_| thread::sleep(Duration::from_millis(100)));
            ends.push(in_a_child(|| {
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    pool.in_place_scope(|_| ()); // this one is not of the parent
                }));
                i32::from(caught.is_ok())
            }));
        });
    }));
    assert!(waited.is_ok());
    assert_eq!(ends, [End::Exit(1)]);

    // The same, but that the child leaves the scope of the parent.
    let own = thread::scope(|threads| {
        let forked = threads.spawn(|| {
            in_a_child_that_goes_on(|| {
                pool.in_place_scope(|scope| {
                    scope.spawn(|_| thread::sleep(Duration::from_secs(1)));
                    fork_and_go_on()
                })
            })
        });
        forked.join().unwrap()
    });
    assert_eq!(own, End::Exit(12));
}

/// Forks and returns in both processes: the child's number in the parent.
fn fork_and_go_on() -> i32 {
    // SAFETY: as in `in_a_child`.
    unsafe { libc::fork() }
}

/// Runs `what`, in which this process forks. The parent waits for the child. The child ends with 12 if `what` panicked with what
/// says that a task was lost, and with 13 if it did something else.
fn in_a_child_that_goes_on(what: impl FnOnce() -> i32) -> End {
    let here = std::process::id();
    let outcome = catch_unwind(AssertUnwindSafe(what));
    if std::process::id() != here {
        let code = match outcome {
            Err(payload) if message(&*payload).contains("lost in a fork") => 12,
            _ => 13,
        };
        // SAFETY: ends the process.
        unsafe { libc::_exit(code) };
    }
    end_of(outcome.unwrap())
}

#[test]
fn a_pool_on_threads_of_ones_own_says_that_it_is_lost() {
    let _alone = alone();
    thread::scope(|scope| {
        let pool = Pool::builder().workers(1).build_with(|worker| {
            thread::Builder::new().spawn_scoped(scope, || worker.run())?;
            Ok(())
        });
        let pool = pool.unwrap();
        let end = in_a_child(|| {
            let caught = catch_unwind(AssertUnwindSafe(|| pool.run(|_| ())));
            let payload = caught.unwrap_err();
            assert!(message(&*payload).contains("lost in a fork"), "{}", message(&*payload));
            assert_eq!(pool.workers(), 1);
            8
        });
        assert_eq!(end, End::Exit(8));
        assert_eq!(pool.run(|w| fib_on(w, 10)), 55);
    });
}

#[test]
fn a_handle_of_a_task_that_was_lost_says_so() {
    let _alone = alone();
    let pool: &'static Pool = Box::leak(Box::new(Pool::new(1).unwrap()));
    let lost = |what: &dyn Fn(Task<u8>)| {
        let task = pool.spawn_future(std::future::pending());
        let caught = in_a_child(|| {
            let payload = catch_unwind(AssertUnwindSafe(|| what(task))).unwrap_err();
            i32::from(!message(&*payload).contains("lost in a fork"))
        });
        assert_eq!(caught, End::Exit(0));
    };
    lost(&|task| assert!(task.join().is_err(), "joined"));
    lost(&|task| assert!(locksley::block_on(task).is_err(), "awaited"));
    lost(&|task| {
        // By a worker of the pool that the child has.
        pool.run(|_| assert!(locksley::block_on(task).is_err()));
    });
    // By the worker that forked, and for what had ended before.
    let done = pool.spawn_future(async { 5 });
    while !done.is_finished() {
        thread::yield_now();
    }
    let end = pool.run(move |w| {
        let task = w.spawn_future(std::future::pending::<()>());
        in_a_child(|| {
            assert_eq!(done.join().unwrap(), 5);
            let payload = catch_unwind(AssertUnwindSafe(|| task.join())).unwrap_err();
            i32::from(!message(&*payload).contains("lost in a fork"))
        })
    });
    assert_eq!(end, End::Exit(0));
    // The child's own tasks, in the pool that was built again.
    let end = in_a_child(|| {
        let task = pool.spawn_future(async { 6 });
        task.join().unwrap()
    });
    assert_eq!(end, End::Exit(6));
}

/// The child's copy of the worker has a copy of everything that the parent's still has to do.
#[test]
fn a_task_that_returns_in_the_child_ends_it_and_nothing_runs_twice() {
    const TASKS: usize = 20;
    let _alone = alone();
    // How the task comes to run, in which the process forks: from the root; in a join that waits for another task; in a scope that does.
    type Run = fn(&Worker, Box<dyn FnOnce(&Worker) + Send>);
    let runs: [Run; 4] = [
        |w, forks| w.spawn(forks),
        |w, forks| _ = w.join(|w| w.spawn(forks), |_| ()),
        |w, forks| w.scope(|w, scope| scope.spawn_on(w, |w, _| forks(w))),
        |w, forks| {
            w.spawn(forks);
            assert_eq!(w.spawn_future(async { 1 }).join().unwrap(), 1);
        },
    ];
    for run in runs {
        for stacks in [0, 100] {
            for never_sleeps in [false, true] {
                let builder = Pool::builder().workers(1).waiting_stacks(stacks);
                let builder = if never_sleeps { builder.governor(Restless) } else { builder };
                let pool = builder.build().unwrap();
                let (mut reader, writer) = std::io::pipe().unwrap();
                let (sender, receiver) = channel();
                let here = std::process::id();
                pool.spawn(move |w| {
                    for _ in 0..TASKS {
                        let mut writer = writer.try_clone().unwrap();
                        w.spawn(move |_| {
                            let is_here = std::process::id() == here;
                            writer.write_all(if is_here { b"p" } else { b"c" }).unwrap();
                        });
                    }
                    let forks = move |_: &Worker| {
                        let child = fork_and_go_on();
                        assert!(child >= 0);
                        if child > 0 {
                            // The parent goes on when the child could have.
                            sender.send(end_of(child)).unwrap();
                        }
                    };
                    run(w, Box::new(forks));
                });
                let end = receiver.recv().unwrap();
                assert_eq!(end, End::Signal(libc::SIGABRT));
                drop(pool);
                let mut ran = String::new();
                reader.read_to_string(&mut ran).unwrap();
                assert_eq!(ran, "p".repeat(TASKS), "{stacks} stacks");
            }
        }
    }
}

#[test]
fn nobody_stands_in_for_a_worker_that_was_lost() {
    let _alone = alone();
    let started = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&started);
    let builder = Pool::builder().workers(1).stand_ins(1).on_start(move |_| {
        count.fetch_add(1, Ordering::AcqRel);
    });
    let pool = builder.build().unwrap();
    let end = pool.run(|w| {
        in_a_child(|| {
            w.blocking(|| thread::sleep(Duration::from_millis(100)));
            started.load(Ordering::Acquire) as i32
        })
    });
    assert_eq!(end, End::Exit(1));
}

/// A second half or a task of a scope that a thief had, and the frame that waits for it in the child.
#[test]
fn a_child_that_waits_for_what_a_thief_had_ends() {
    let _alone = alone();
    type Run = fn(&Worker, Waiting, &(dyn Fn() + Sync), &(dyn Fn() + Sync));
    let runs: [Run; 2] = [
        |w, waiting, first, second| _ = w.join_waiting(waiting, |_| first(), |_| second()),
        |w, waiting, first, second| {
            w.scope_waiting(waiting, |w, scope| {
                scope.spawn_on(w, |_, _| second());
                first();
            });
        },
    ];
    for run in runs {
        for waiting in [Waiting::Below, Waiting::Anything] {
            let pool = Pool::new(2).unwrap();
            let (is_stolen, may_end) = (AtomicBool::new(false), AtomicBool::new(false));
            let wait_until = |flag: &AtomicBool| {
                while !flag.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            };
            let ends = Mutex::new(Vec::new());
            let forks = || {
                wait_until(&is_stolen);
                let child = fork_and_go_on();
                assert!(child >= 0);
                if child > 0 {
                    ends.lock().unwrap().push(end_of(child));
                    may_end.store(true, Ordering::Release);
                }
            };
            let stolen = || {
                is_stolen.store(true, Ordering::Release);
                wait_until(&may_end);
            };
            pool.run(|w| run(w, waiting, &forks, &stolen));
            assert_eq!(ends.into_inner().unwrap(), [End::Signal(libc::SIGABRT)], "{waiting:?}");
        }
    }
}

/// What lay in the deque when the process forked is the parent's, in whatever way the child comes upon it.
#[test]
fn what_was_there_before_the_fork_is_run_by_the_parent_alone() {
    const TASKS: usize = 5;
    let _alone = alone();
    type Run = fn(&Worker, &dyn Fn(&Worker));
    let runs: [Run; 7] = [
        |w, forks| _ = w.join(forks, |_| ()),
        |w, forks| _ = w.join_waiting(Waiting::Below, forks, |_| ()),
        |w, forks| w.scope(|w, _| forks(w)),
        |w, forks| w.scope(|w, scope| (scope.spawn_on(w, |_, _| ()), forks(w)).1),
        |w, forks| {
            w.scope_waiting(Waiting::Below, |w, scope| (scope.spawn_fifo(|_| ()), forks(w)).1);
        },
        |w, forks| {
            forks(w);
            while w.run_one() {}
        },
        |w, forks| {
            forks(w);
            while w.run_local() {}
        },
    ];
    for (run, form) in runs.into_iter().zip(0..) {
        for oldest_first in [false, true] {
            let builder = Pool::builder().workers(1);
            let builder = if oldest_first { builder.oldest_first() } else { builder };
            let pool = builder.build().unwrap();
            let (mut reader, writer) = std::io::pipe().unwrap();
            let (sender, receiver) = channel();
            let here = std::process::id();
            pool.spawn(move |w| {
                let forks = |w: &Worker| {
                    for _ in 0..TASKS {
                        let mut writer = writer.try_clone().unwrap();
                        w.spawn(move |_| {
                            let is_here = std::process::id() == here;
                            writer.write_all(if is_here { b"p" } else { b"c" }).unwrap();
                        });
                    }
                    let child = fork_and_go_on();
                    assert!(child >= 0);
                    if child > 0 {
                        sender.send(end_of(child)).unwrap();
                    }
                };
                run(w, &forks);
            });
            let end = receiver.recv().unwrap();
            assert_eq!(end, End::Signal(libc::SIGABRT), "form {form}");
            drop(pool);
            let mut ran = String::new();
            reader.read_to_string(&mut ran).unwrap();
            assert_eq!(ran, "p".repeat(TASKS), "form {form}");
        }
    }
}

#[test]
fn what_a_child_has_pushed_itself_is_run_there() {
    let _alone = alone();
    for waiting in [Waiting::Below, Waiting::Anything] {
        let pool = Pool::new(1).unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        let add = |number: usize| {
            let ran = Arc::clone(&ran);
            move || _ = ran.fetch_add(number, Ordering::AcqRel)
        };
        let end = pool.run(|w| {
            let (parents, in_order) = (add(1_000_000), add(1_000_000));
            w.spawn(move |_| parents());
            w.spawn_fifo(move |_| in_order());
            in_a_child(|| {
                let (inner, left) = (add(1), add(10));
                w.join_waiting(waiting, |w| w.spawn(move |_| left()), |_| inner());
                w.scope_waiting(waiting, |w, scope| {
                    let (left, own, another) = (add(100), add(1000), add(10_000));
                    scope.spawn_on(w, move |_, _| own());
                    w.spawn(move |_| left());
                    scope.spawn_on(w, move |_, _| another());
                });
                let one = add(100_000);
                w.spawn_fifo(move |_| one());
                assert!(w.run_one());
                assert!(!w.run_one() && !w.run_local());
                i32::from(ran.load(Ordering::Acquire) != 111_111)
            })
        });
        assert_eq!(end, End::Exit(0), "{waiting:?}");
        drop(pool);
        assert_eq!(ran.load(Ordering::Acquire), 2_000_000);
    }
}

/// Runs `what` on a worker, which forks when it calls what it is given. In both processes the worker goes on: the child ends with the
/// number that `what` returns there.
fn end_of_a_child_that_goes_on(what: impl Fn(&Worker, &dyn Fn()) -> i32 + Sync) -> End {
    let pool = Pool::new(1).unwrap();
    let child = pool.run(|w| {
        let child = AtomicI32::new(-1);
        let number = what(w, &|| child.store(fork_and_go_on(), Ordering::Release));
        match child.into_inner() {
            // SAFETY: ends the process.
            0 => unsafe { libc::_exit(number) },
            child => child,
        }
    });
    assert!(child > 0);
    end_of(child)
}

/// What lay in the deque counts as stolen, and is run by whoever waits for it in the child; what is pushed there lies elsewhere.
#[test]
fn places_in_the_deque_of_before_a_fork_do_not_recur() {
    fn joins(w: &Worker, levels: usize, ends: &AtomicUsize, last: &dyn Fn(&Worker)) {
        if levels == 0 {
            return last(w);
        }
        let second = |_: &Worker| _ = ends.fetch_add(1, Ordering::AcqRel);
        w.join(|w| joins(w, levels - 1, ends, last), second);
    }
    type Run = fn(&Worker, &dyn Fn(), &Arc<AtomicUsize>);
    let runs: [(Run, usize); 7] = [
        // Second halves are taken back, and a task comes where one was.
        (
            |w, forks, ran| {
                joins(w, 3, ran, &|_| forks());
                spawn_one(w, ran);
                assert!(w.run_one() && !w.run_one());
            },
            13,
        ),
        // Many are, and a scope's task lies deeper than they did.
        (
            |w, forks, ran| {
                joins(w, 10, ran, &|_| forks());
                w.scope(|w, scope| {
                    let spawn = |w: &Worker| {
                        scope.spawn_on(w, |_, _| _ = ran.fetch_add(10, Ordering::AcqRel))
                    };
                    w.join(spawn, |_| ());
                });
            },
            20,
        ),
        // A scope's task was there, and in the way of a second half.
        (
            |w, forks, ran| {
                w.scope(|w, scope| {
                    joins(w, 1, ran, &|w| {
                        scope.spawn_on(w, |_, _| _ = ran.fetch_add(10, Ordering::AcqRel));
                        forks();
                    });
                });
            },
            11,
        ),
        // The first half looks for something to run.
        (
            |w, forks, ran| {
                joins(w, 1, ran, &|w| {
                    forks();
                    w.run_one();
                });
            },
            1,
        ),
        // And then something is pushed.
        (
            |w, forks, ran| {
                joins(w, 1, ran, &|w| {
                    forks();
                    w.run_one();
                    spawn_one(w, ran);
                });
                while w.run_one() {}
            },
            11,
        ),
        // A task of before stays the parent's.
        (
            |w, forks, ran| {
                spawn_one(w, ran);
                joins(w, 1, ran, &|w| {
                    spawn_one(w, ran);
                    forks();
                });
                while w.run_local() {}
            },
            1,
        ),
        // What was there is written over.
        (
            |w, forks, ran| {
                joins(w, 60, ran, &|w| {
                    forks();
                    (0..10).for_each(|_| spawn_one(w, ran));
                });
                while w.run_one() {}
            },
            160,
        ),
    ];
    let _alone = alone();
    for (form, (run, sum)) in runs.into_iter().enumerate() {
        let end = end_of_a_child_that_goes_on(|w, forks| {
            let ran = Arc::new(AtomicUsize::new(0));
            run(w, forks, &ran);
            ran.load(Ordering::Acquire) as i32
        });
        assert_eq!(end, End::Exit(sum as i32), "form {form}");
    }
}

fn spawn_one(w: &Worker, ran: &Arc<AtomicUsize>) {
    let ran = Arc::clone(ran);
    w.spawn(move |_| _ = ran.fetch_add(10, Ordering::AcqRel));
}

#[test]
fn a_root_gets_its_intervals_in_a_child() {
    let _alone = alone();
    let pool = Pool::new(1).unwrap();
    let child = pool.run(|_| {
        let (child, ran) = (AtomicI32::new(-1), Arc::new(AtomicUsize::new(0)));
        let spawn = || Worker::with_current(|current| spawn_one(current.unwrap(), &ran));
        let root = intervals::run("root", |root| {
            spawn();
            root.interval("one").spawn(|_| _ = ran.fetch_add(1, Ordering::AcqRel));
            spawn();
            child.store(fork_and_go_on(), Ordering::Release);
        });
        root.unwrap();
        match child.into_inner() {
            // SAFETY: ends the process.
            0 => unsafe { libc::_exit(ran.load(Ordering::Acquire) as i32) },
            child => child,
        }
    });
    assert!(child > 0);
    assert_eq!(end_of(child), End::Exit(1));
}
