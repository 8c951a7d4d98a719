//! Tasks that fork: what the child can continue, and how it ends.

use std::io::{PipeReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use locksley::{Pool, PoolBuilder, Spawn, Worker};

use crate::children::{End, Said, alone, end_of, fork_and_go_on, in_a_child};
use crate::common::idle_policies::RESTLESS;
use crate::common::places::divided;
use crate::pools::{fib, fib_on};

/// Frames of other threads may be overwritten in the child, so this test borrows from none.
#[test]
fn free_functions_in_a_child_use_the_rebuilt_global_pool() {
    let _alone = alone();
    let pool: &'static Pool = Box::leak(Box::new(Pool::new(2).unwrap()));
    assert_eq!(fib(10), 55);
    let end = pool.install(move |w| {
        assert!(w.is_of(pool));
        in_a_child(move || {
            assert!(Worker::with_current(|current| current.is_none()));
            assert_eq!((fib(14), pool.install(|w| fib_on(w, 14))), (377, 377));
            let (sender, receiver) = std::sync::mpsc::channel();
            locksley::spawn(move || sender.send(3).unwrap());
            assert_eq!(receiver.recv(), Ok(3));
            2
        })
    });
    assert_eq!(end, End::Exit(2));
    assert_eq!(pool.install(|w| fib_on(w, 14)), 377);
}

#[test]
fn a_task_that_needs_no_other_thread_continues_in_the_child() {
    let _alone = alone();
    for workers in [1, 3] {
        let pool = Pool::new(workers).unwrap();
        let end = pool.install(|w| {
            in_a_child(|| {
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    w.join(|_| panic!("in the child"), |w| fib_on(w, 5))
                }));
                assert!(caught.is_err());
                // In the child, this thread is no worker: the first half spawns into the rebuilt
                // global pool.
                let (sender, receiver) = std::sync::mpsc::channel();
                w.join(move |_| locksley::spawn(move || sender.send(3).unwrap()), |_| ());
                assert_eq!(receiver.recv(), Ok(3));
                assert_eq!(locksley::in_place_scope(|_| 3), 3);
                fib_on(w, 12) as i32
            })
        });
        assert_eq!(end, End::Exit(144));
        assert_eq!(pool.install(|w| fib_on(w, 12)), 144);
    }
}

const MESSAGE: &str = "locksley: a task of a pool waits in a forked child for threads that only \
                       the parent has; the process is ended\n";

/// Each way to need another thread: the child prints the message and aborts. It runs no task of the
/// parent.
#[test]
fn a_child_that_needs_another_thread_aborts_with_a_message() {
    const TASKS: usize = 5;
    type Run = fn(&Worker, &dyn Fn());
    let runs: [Run; 9] = [
        // The task returns.
        |_, forks| forks(),
        |_, forks| locksley::in_place_scope(|_| forks()),
        |w, forks| _ = w.join(|_| forks(), |_| ()),
        // The task runs other tasks.
        |w, forks| {
            forks();
            while w.run_one() {}
        },
        |w, forks| {
            forks();
            while w.run_local() {}
        },
        // The task sends a task, or has all workers run one.
        |_, forks| {
            locksley::in_place_scope(|scope| {
                forks();
                scope.spawn(|_| ());
            });
        },
        |_, forks| {
            locksley::in_place_scope(|scope| {
                forks();
                scope.spawn_broadcast(|_, _| ());
            });
        },
        |w, forks| {
            forks();
            _ = w.join_near(1, |_| (), |_| ());
        },
        |_, forks| {
            locksley::in_place_scope(|scope| {
                forks();
                scope.spawn_with(Spawn::Near(1), |_, _| ());
            });
        },
    ];
    let builders: [fn() -> PoolBuilder; 3] = [
        || divided(&[1, 1]),
        || divided(&[1, 1]).idle_policy(RESTLESS),
        || divided(&[1, 1]).oldest_first(),
    ];
    let _alone = alone();
    for (form, run) in runs.into_iter().enumerate() {
        for builder in builders {
            let pool = builder().build().unwrap();
            let (mut reader, writer) = std::io::pipe().unwrap();
            let (end, said) = pool.install(move |w| {
                let here = std::process::id();
                for _ in 0..TASKS {
                    let mut writer = writer.try_clone().unwrap();
                    locksley::spawn(move || {
                        let is_here = std::process::id() == here;
                        writer.write_all(if is_here { b"p" } else { b"c" }).unwrap();
                    });
                }
                let end = Mutex::new(None);
                run(w, &|| {
                    let said = Said::new();
                    match fork_and_go_on() {
                        0 => said.listens(),
                        // The parent continues after the child has ended.
                        child => *end.lock().unwrap() = Some((end_of(child), said.all())),
                    }
                });
                if std::process::id() != here {
                    return (End::Exit(0), String::new());
                }
                end.into_inner().unwrap().unwrap()
            });
            assert_eq!((end, &*said), (End::Signal(libc::SIGABRT), MESSAGE), "form {form}");
            drop(pool);
            let mut ran = String::new();
            reader.read_to_string(&mut ran).unwrap();
            assert_eq!(ran, "p".repeat(TASKS), "form {form}");
        }
    }
}

/// There is no other worker that could take the parent's task before the fork.
#[test]
fn a_child_whose_task_returns_does_not_go_on_with_the_next_one() {
    let _alone = alone();
    let own_thread = Pool::builder().workers(1).own_threads_only().build().unwrap();
    for pool in [own_thread, Pool::new(1).unwrap()] {
        let mut ran = String::new();
        run_a_task_that_forks(pool).read_to_string(&mut ran).unwrap();
        assert_eq!(ran, "p");
    }
}

/// Returns what the next task of the pool says in the parent and in the child.
fn run_a_task_that_forks(pool: Pool) -> PipeReader {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let (end, said) = pool.install(move |_| {
        let here = std::process::id();
        locksley::spawn(move || {
            let is_here = std::process::id() == here;
            writer.write_all(if is_here { b"p" } else { b"c" }).unwrap();
        });
        let said = Said::new();
        match fork_and_go_on() {
            0 => {
                said.listens();
                (End::Exit(0), String::new())
            }
            child => (end_of(child), said.all()),
        }
    });
    assert_eq!((end, &*said), (End::Signal(libc::SIGABRT), MESSAGE));
    reader
}

/// The child waits for the second half of a join, or a task of a scope, that a thief runs in the
/// parent.
#[test]
fn a_child_that_waits_for_a_stolen_task_aborts() {
    let _alone = alone();
    type Run = fn(&Worker, &(dyn Fn() + Sync), &(dyn Fn() + Sync));
    let runs: [Run; 2] = [
        |w, first, second| _ = w.join(|_| first(), |_| second()),
        |_, first, second| {
            locksley::in_place_scope(|scope| {
                scope.spawn(|_| second());
                first();
            });
        },
    ];
    for run in runs {
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
            let said = Said::new();
            match fork_and_go_on() {
                0 => said.listens(),
                child => {
                    ends.lock().unwrap().push((end_of(child), said.all()));
                    may_end.store(true, Ordering::Release);
                }
            }
        };
        let stolen = || {
            is_stolen.store(true, Ordering::Release);
            wait_until(&may_end);
        };
        pool.install(|w| run(w, &forks, &stolen));
        let ends = ends.into_inner().unwrap();
        assert_eq!(ends, [(End::Signal(libc::SIGABRT), MESSAGE.to_owned())]);
    }
}

#[test]
fn a_worker_in_a_child_gets_no_replacement() {
    let _alone = alone();
    let builder = Pool::builder().workers(1).replacements(1);
    let pool = builder.on_start(|_| assert_eq!(std::process::id(), first_process())).build();
    let end = pool.unwrap().install(|_| {
        in_a_child(|| {
            locksley::blocking(|| thread::sleep(std::time::Duration::from_millis(100)));
            4
        })
    });
    assert_eq!(end, End::Exit(4));
}

/// The process that calls this function first.
fn first_process() -> u32 {
    static FIRST: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *FIRST.get_or_init(std::process::id)
}
