//! A worker that has forked: in the child it is none, and what it has to do is the parent's.

use std::io::{Read, Write};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use locksley::places::{Places, ProcessorSet};
use locksley::{Pool, Unplaced, Waiting, Worker, join_near, spawn_near, task};

use crate::children::{End, alone, end_of, fork_and_go_on, in_a_child};
use crate::common::places::{PATIENCE, divided};
use crate::common::{Restless, message};
use crate::pools::{fib, fib_on};

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

/// In the child nobody of another place is there.
#[test]
fn what_a_child_has_for_other_places_is_run_there() {
    let _alone = alone();
    for unplaced in [Unplaced::Stays, Unplaced::RoundRobin] {
        for waiting in [Waiting::Below, Waiting::Anything] {
            let sets: [ProcessorSet; 2] = ["0", "1"].map(|set| set.parse().unwrap());
            let places = Places::given(&(0..2).collect(), sets).unwrap();
            let builder = Pool::builder().workers(2).places(places).unplaced(unplaced);
            let pool = builder.waiting(waiting).build().unwrap();
            let end = pool.run(|w| {
                in_a_child(|| {
                    let count = AtomicI32::new(0);
                    let add = |number: i32| _ = count.fetch_add(number, Ordering::AcqRel);
                    let other = 1 - w.place();
                    w.join_near(other, |_| add(1), |_| add(10));
                    w.scope(|w, scope| {
                        for place in [other, 1 - other, other] {
                            scope.spawn_near_on(w, place, |_, _| add(100));
                            scope.spawn_on(w, |_, _| add(1000));
                        }
                    });
                    w.for_each_by_place(0..100, |_| add(10_000));
                    i32::from(count.into_inner() != 1_003_311)
                })
            });
            assert_eq!(end, End::Exit(0), "{unplaced:?}, {waiting:?}");
            // And the pool that is built again there has the places.
            let again = || {
                let places = pool.broadcast(Worker::place);
                i32::from(places != [0, 1] || pool.run(|w| w.join_near(1, |_| 1, |_| 2)) != (1, 2))
            };
            assert_eq!(in_a_child(again), End::Exit(0));
        }
    }
}

/// Without the worker at hand: nobody looks at what is sent to the places of the pool that is lost.
#[test]
fn what_a_child_has_sent_to_a_place_ends_it_when_it_waits() {
    let _alone = alone();
    let pool = divided(&[1, 1]).build().unwrap();
    for place in 0..2 {
        let end = pool.run(|w| {
            in_a_child(|| {
                w.scope(|_, scope| scope.spawn_near(place, |_| ()));
                0
            })
        });
        assert_eq!(end, End::Signal(libc::SIGABRT));
    }
    assert_eq!(pool.run(|w| w.join_near(1, |_| 1, |_| 2)), (1, 2));
}

/// Nor does a free function find the worker.
#[test]
fn without_a_pool_the_places_in_a_child_are_those_of_the_global_one() {
    let _alone = alone();
    let count = Pool::global().places().count();
    let pool = divided(&vec![1; count + 1]).build().unwrap();
    let end = pool.run(|_| {
        assert_eq!(join_near(count, || 1, || 2), (1, 2), "in the parent");
        in_a_child(|| {
            assert_eq!(join_near(count - 1, || 1, || 2), (1, 2));
            assert_eq!(task::spawn_near(count - 1, async { 3 }).join().unwrap(), 3);
            let (sender, receiver) = channel();
            spawn_near(count - 1, move || sender.send(4).unwrap());
            assert_eq!(receiver.recv_timeout(PATIENCE), Ok(4));
            let refused: [fn(usize); 3] = [
                |place| _ = join_near(place, || (), || ()),
                |place| drop(task::spawn_near(place, async {})),
                |place| spawn_near(place, || ()),
            ];
            for refused in refused {
                let payload = catch_unwind(|| refused(count)).unwrap_err();
                let said = format!("there is no place {count} in a pool of {count}");
                assert_eq!(message(&*payload), said);
            }
            5
        })
    });
    assert_eq!(end, End::Exit(5));
}
