//! Waits for tasks that a fork has lost end by a panic or end the process. They do not hang.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use locksley::Pool;
use locksley::task::JoinHandle;

use crate::children::{End, alone, end_of, exit_with, fork_and_go_on, in_a_child};
use crate::common::message;
use crate::pools::fib_on;

#[test]
fn a_wait_for_a_lost_task_panics_or_ends_the_process() {
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

    // The child leaves the parent's scope.
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

/// Runs `what`, in which this process forks. The parent waits for the child. The child exits with
/// 12 if `what` panicked with the message of a lost task, and with 13 otherwise.
fn in_a_child_that_goes_on(what: impl FnOnce() -> i32) -> End {
    let here = std::process::id();
    let outcome = catch_unwind(AssertUnwindSafe(what));
    if std::process::id() != here {
        let code = match outcome {
            Err(payload) if message(&*payload).contains("lost in a fork") => 12,
            _ => 13,
        };
        exit_with(code);
    }
    end_of(outcome.unwrap())
}

#[test]
fn a_pool_on_threads_of_the_program_panics_in_a_child() {
    let _alone = alone();
    thread::scope(|scope| {
        let pool = Pool::builder().workers(1).build_with(|worker| {
            thread::Builder::new().spawn_scoped(scope, || worker.run())?;
            Ok(())
        });
        let pool = pool.unwrap();
        let end = in_a_child(|| {
            let caught = catch_unwind(AssertUnwindSafe(|| pool.install(|_| ())));
            let payload = caught.unwrap_err();
            assert!(message(&*payload).contains("lost in a fork"), "{}", message(&*payload));
            assert_eq!(pool.workers(), 1);
            8
        });
        assert_eq!(end, End::Exit(8));
        assert_eq!(pool.install(|w| fib_on(w, 10)), 55);
    });
}

#[test]
fn the_handle_of_a_lost_task_panics() {
    let _alone = alone();
    let pool: &'static Pool = Box::leak(Box::new(Pool::new(1).unwrap()));
    let lost = |what: &dyn Fn(JoinHandle<u8>)| {
        let task = pool.spawn_future(std::future::pending());
        let caught = in_a_child(|| {
            let payload = catch_unwind(AssertUnwindSafe(|| what(task))).unwrap_err();
            i32::from(!message(&*payload).contains("belongs to the parent process"))
        });
        assert_eq!(caught, End::Exit(0));
    };
    lost(&|task| assert!(task.join().is_err(), "joined"));
    lost(&|task| assert!(locksley::block_on(task).is_err(), "awaited"));
    lost(&|task| {
        // Joined by a worker of the child's pool.
        pool.install(|_| assert!(locksley::block_on(task).is_err()));
    });
    // Joined by the worker that forked, and for a task that had ended before.
    let done = pool.spawn_future(async { 5 });
    while !done.is_finished() {
        thread::yield_now();
    }
    let end = pool.install(move |_| {
        let task = locksley::task::spawn(std::future::pending::<()>());
        in_a_child(|| {
            assert_eq!(done.join().unwrap(), 5);
            let payload = catch_unwind(AssertUnwindSafe(|| task.join())).unwrap_err();
            i32::from(!message(&*payload).contains("belongs to the parent process"))
        })
    });
    assert_eq!(end, End::Exit(0));
    // The child's own tasks, in the rebuilt pool.
    let end = in_a_child(|| {
        let task = pool.spawn_future(async { 6 });
        task.join().unwrap()
    });
    assert_eq!(end, End::Exit(6));
}
