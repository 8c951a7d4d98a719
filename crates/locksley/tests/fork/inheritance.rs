//! What lay in the deque when the process forked, and who waits for it in the child.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use locksley::{Pool, Worker, intervals};

use crate::children::{End, alone, end_of, end_of_a_child_that_goes_on, fork_and_go_on};

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

pub(crate) fn spawn_one(w: &Worker, ran: &Arc<AtomicUsize>) {
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
