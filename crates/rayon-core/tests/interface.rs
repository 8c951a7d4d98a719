//! What upstream's own tests cannot see from outside, or do not look at.

use std::collections::BTreeSet;
use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use rayon_core::{ThreadPool, ThreadPoolBuilder, Yield};

/// A pool, and a channel that closes when the last of its threads has ended.
fn watched_pool(threads: usize) -> (ThreadPool, Receiver<usize>) {
    let (sender, receiver) = channel();
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let pool = builder.exit_handler(move |index| sender.send(index).unwrap()).build();
    (pool.unwrap(), receiver)
}

fn all_leave(receiver: &Receiver<usize>, threads: usize) {
    let mut left: Vec<_> = receiver.iter().collect();
    left.sort_unstable();
    assert_eq!(left, Vec::from_iter(0..threads));
}

#[test]
fn threads_end_after_work_and_after_sleep() {
    fn join_a_lot(n: usize) {
        if n > 0 {
            rayon_core::join(|| join_a_lot(n - 1), || join_a_lot(n - 1));
        }
    }
    let (pool, ends) = watched_pool(22);
    pool.install(|| join_a_lot(14));
    drop(pool);
    // Replacements of threads that wait in a join leave, too.
    let left: BTreeSet<_> = ends.iter().collect();
    assert_eq!(left, BTreeSet::from_iter(0..22));

    let (pool, ends) = watched_pool(22);
    pool.broadcast(|_| ());
    thread::sleep(std::time::Duration::from_millis(300));
    drop(pool);
    all_leave(&ends, 22);
}

#[test]
fn a_dropped_pool_is_not_waited_for() {
    let (pool, ends) = watched_pool(2);
    let (go, gone) = channel::<()>();
    pool.spawn(move || gone.recv().unwrap());
    drop(pool);
    go.send(()).unwrap(); // if the drop waited for the task, this line would not be reached
    all_leave(&ends, 2);
}

#[test]
fn no_more_threads_than_there_can_be() {
    let mut asked = 0;
    let refuse = |_| {
        asked += 1;
        Err(io::Error::other("never mind"))
    };
    let error =
        ThreadPoolBuilder::new().num_threads(usize::MAX).spawn_handler(refuse).build().unwrap_err();
    assert_eq!((asked, error.to_string()), (1, "never mind".to_owned()));
    assert!(error.source().is_some());
}

#[test]
fn a_thread_that_belongs_to_a_pool_joins_no_other() {
    let build = || ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    let error = thread::spawn(move || {
        let first = build();
        assert!(first.is_ok());
        build().map(drop).unwrap_err()
    });
    let error = error.join().unwrap();
    assert_eq!(error.to_string(), "The current thread is already part of another thread pool.");
    assert!(error.source().is_none());
}

#[test]
fn two_broadcasts_at_once_may_each_wait_for_all() {
    // In different orders on different threads this would never end.
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for _ in 0..200 {
        let barriers = [Barrier::new(3), Barrier::new(3), Barrier::new(3)];
        thread::scope(|scope| {
            for barrier in &barriers {
                scope.spawn(|| {
                    pool.broadcast(|_| {
                        barrier.wait();
                    })
                });
            }
        });
    }
}

/// The destructor of what a broadcast has captured may broadcast.
#[test]
fn no_lock_is_held_while_captures_are_dropped() {
    struct Broadcasts;
    impl Drop for Broadcasts {
        fn drop(&mut self) {
            rayon_core::broadcast(|_| ());
        }
    }
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for _ in 0..200 {
        let captured = Broadcasts;
        pool.in_place_scope(|scope| scope.spawn_broadcast(move |_, _| _ = &captured));
    }
}

#[test]
fn handlers_are_called_by_threads_of_the_pool() {
    let (sender, receiver) = channel();
    let at_exit = sender.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(move |index| {
            sender.send((index, rayon_core::current_thread_index())).unwrap()
        })
        .exit_handler(move |index| {
            at_exit.send((index, rayon_core::current_thread_index())).unwrap()
        })
        .build();
    drop(pool);
    let mut calls: Vec<_> = receiver.iter().collect();
    calls.sort_unstable();
    assert_eq!(calls, [(0, Some(0)), (0, Some(0)), (1, Some(1)), (1, Some(1))]);
}

/// It works under one index after the other.
#[test]
fn handlers_of_a_replacement_see_the_index_that_they_are_called_with() {
    let (sender, receiver) = channel();
    let at_exit = sender.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(move |index| {
            sender.send((index, rayon_core::current_thread_index())).unwrap()
        })
        .exit_handler(move |index| {
            at_exit.send((index, rayon_core::current_thread_index())).unwrap()
        })
        .build()
        .unwrap();
    let other = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for round in 0..10 {
        pool.broadcast(|thread| {
            if thread.index() == round % 2 {
                other.install(|| thread::sleep(Duration::from_millis(5)));
            }
        });
    }
    drop(pool);
    let calls: Vec<_> = receiver.iter().collect();
    assert!(calls.len() > 2 * 2, "there was no replacement");
    assert!(calls.iter().all(|&(index, seen)| seen == Some(index)), "{calls:?}");
}

#[test]
fn threads_have_no_names_unless_given() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(pool.install(|| thread::current().name().map(str::to_owned)), None);
    let pool = ThreadPoolBuilder::new().num_threads(2).thread_name(|n| format!("t{n}")).build();
    let names = pool.unwrap().broadcast(|_| thread::current().name().map(str::to_owned));
    assert_eq!(names, [Some("t0".to_owned()), Some("t1".to_owned())]);
}

#[test]
fn a_handler_sees_what_was_asked_for() {
    let seen = Mutex::new(Vec::new());
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .stack_size(1 << 20)
        .thread_name(|n| format!("t{n}"))
        .spawn_handler(|thread| {
            let name = thread.name().unwrap().to_owned();
            seen.lock().unwrap().push((thread.index(), name, thread.stack_size()));
            drop(thread::spawn(|| thread.run()));
            Ok(())
        })
        .build();
    drop(pool);
    let t = |n: usize| (n, format!("t{n}"), Some(1 << 20));
    assert_eq!(seen.into_inner().unwrap(), [t(0), t(1)]);
}

#[test]
#[allow(deprecated)]
fn breadth_first_takes_the_oldest() {
    let order = |builder: ThreadPoolBuilder| {
        let order = Mutex::new(Vec::new());
        builder.num_threads(1).build().unwrap().scope(|scope| {
            for n in 0..5 {
                let order = &order;
                scope.spawn(move |_| order.lock().unwrap().push(n));
            }
        });
        order.into_inner().unwrap()
    };
    assert_eq!(order(ThreadPoolBuilder::new()), [4, 3, 2, 1, 0]);
    assert_eq!(order(ThreadPoolBuilder::new().breadth_first()), [0, 1, 2, 3, 4]);
}

#[test]
fn yielding_is_for_the_pools_own_threads() {
    let builder = || ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (pool, other) = (builder(), builder());
    assert_eq!((pool.yield_now(), pool.yield_local()), (None, None));
    pool.install(|| {
        assert_eq!(other.yield_now(), None);
        let count = AtomicUsize::new(0);
        rayon_core::in_place_scope(|scope| {
            scope.spawn(|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(pool.current_thread_has_pending_tasks(), Some(true));
            assert_eq!(pool.yield_local(), Some(Yield::Executed));
            assert_eq!(pool.yield_local(), Some(Yield::Idle));
            assert_eq!(pool.current_thread_has_pending_tasks(), Some(false));
        });
        assert_eq!(count.into_inner(), 1);
    });
}

#[test]
fn the_second_task_knows_that_it_was_taken_back_or_stolen() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let barrier = Barrier::new(2);
    let both = pool.install(|| {
        rayon_core::join_context(
            |a| {
                barrier.wait();
                a.migrated()
            },
            |b| {
                barrier.wait();
                b.migrated()
            },
        )
    });
    assert_eq!(both, (false, true));
}

#[test]
#[allow(deprecated)]
fn what_is_shown_names_what_is_set() {
    let builder = ThreadPoolBuilder::new().num_threads(3).panic_handler(|_| ());
    let shown = format!("{builder:?}");
    assert!(shown.contains("num_threads: 3") && shown.contains("panic_handler: Some(<closure>)"));
    assert!(shown.contains("start_handler: None"), "{shown}");
    let old = rayon_core::Configuration::new().num_threads(3).panic_handler(|_| ());
    assert_eq!(shown, format!("{old:?}"));
    let pool = builder.build().unwrap();
    assert!(format!("{pool:?}").contains("num_threads: 3"));
    let shown = pool.broadcast(|context| format!("{context:?}"));
    assert_eq!(shown[1], "BroadcastContext { index: 1, num_threads: 3 }");
}

/// A wait for a scope runs tasks of that scope alone.
#[test]
fn an_inner_scope_runs_none_of_the_outer_ones_tasks() {
    let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let order = std::sync::Mutex::new(Vec::new());
    let note = |number: i32| order.lock().unwrap().push(number);
    pool.install(|| {
        rayon_core::scope(|outer| {
            outer.spawn(|_| note(1));
            rayon_core::scope(|inner| {
                inner.spawn(|_| note(-1));
                outer.spawn(|_| note(2));
                inner.spawn(|_| note(-2));
            });
            outer.spawn(|_| note(3));
        });
    });
    let mut order = order.into_inner().unwrap();
    let outer = &mut order[2..];
    outer.sort_unstable();
    assert_eq!(order, [-2, -1, 1, 2, 3]);
}
