//! Tasks for one worker, and for all of them.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use common::{AlwaysAsleep, message, pools};
use locksley::{Pool, Spawn};

#[test]
fn every_worker_runs_a_broadcast_once_and_results_are_in_order() {
    for pool in pools() {
        let indices: Vec<_> = (0..pool.workers()).collect();
        assert_eq!(pool.broadcast(|w| w.index()), indices, "from outside");
        assert_eq!(pool.install(|_| pool.broadcast(|w| w.index())), indices, "from inside");
        // They run at the same time, on any number of processors.
        let all = Barrier::new(pool.workers());
        pool.broadcast(|_| {
            all.wait();
        });
    }
}

#[test]
fn a_broadcast_reaches_workers_that_always_park() {
    let pool = Pool::builder().workers(3).idle_policy(AlwaysAsleep).build().unwrap();
    for _ in 0..100 {
        assert_eq!(pool.broadcast(|w| w.index()), [0, 1, 2]);
    }
}

#[test]
fn a_broadcast_reaches_parked_workers() {
    let pool = Pool::new(4).unwrap();
    let asleep = |pool: &Pool| {
        let total = pool.stats().total();
        total.sleeps == total.wakeups + 4
    };
    for _ in 0..3 {
        while !asleep(&pool) {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(pool.broadcast(|w| w.index()), [0, 1, 2, 3]);
    }
}

#[test]
fn pools_broadcast_into_each_other() {
    let (one, other) = (Pool::new(3).unwrap(), Pool::new(4).unwrap());
    let count = AtomicUsize::new(0);
    one.broadcast(|_| {
        other.broadcast(|_| {
            one.broadcast(|_| count.fetch_add(1, Ordering::Relaxed));
        });
    });
    assert_eq!(count.into_inner(), 3 * 4 * 3);
}

#[test]
fn the_first_workers_panic_arrives_after_all_have_ended() {
    /// Its destructor panics. That must not replace the first panic or end the process.
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("a result that is dropped");
        }
    }
    let pool = Pool::new(5).unwrap();
    let ended = AtomicUsize::new(0);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        pool.broadcast(|w| {
            ended.fetch_add(1, Ordering::Relaxed);
            assert!(w.index() % 2 == 0, "worker {}", w.index());
            PanicsOnDrop
        })
    }));
    assert_eq!(message(&*caught.err().unwrap()), "worker 1");
    assert_eq!(ended.into_inner(), 5);
}

#[test]
fn a_detached_broadcast_ends_before_the_pool_is_dropped() {
    for pool in pools() {
        let (sender, receiver) = channel();
        let workers = pool.workers();
        pool.spawn_broadcast(move |w| sender.send(w.index()).unwrap());
        drop(pool);
        let mut indices: Vec<_> = receiver.iter().collect();
        indices.sort_unstable();
        assert_eq!(indices, Vec::from_iter(0..workers));
    }
}

#[test]
fn each_panic_of_a_detached_broadcast_goes_to_the_handler() {
    let (sender, receiver) = channel();
    let handler = move |payload: Box<dyn std::any::Any + Send>| {
        sender.send(message(&*payload).to_owned()).unwrap();
    };
    let pool = Pool::builder().workers(4).panic_handler(handler).build().unwrap();
    pool.spawn_broadcast(|w| assert!(w.index() % 2 == 0, "{}", w.index()));
    drop(pool);
    let mut panics: Vec<_> = receiver.iter().collect();
    panics.sort();
    assert_eq!(panics, ["1", "3"]);
}

#[test]
fn a_broadcast_in_a_scope_may_borrow_and_spawn() {
    for pool in pools() {
        let (sum, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let workers = pool.workers();
        pool.in_place_scope(|scope| {
            scope.spawn_broadcast(|_, scope| {
                scope.spawn_broadcast(|w, _| {
                    sum.fetch_add(w.index(), Ordering::Relaxed);
                });
                scope.spawn(|_| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
            });
        });
        assert_eq!(sum.into_inner(), workers * workers * (workers - 1) / 2);
        assert_eq!(count.into_inner(), workers);
    }
}

#[test]
fn tasks_for_a_worker_run_there_in_the_order_of_sending() {
    for pool in pools() {
        let (sender, receiver) = channel();
        for n in 0..200 {
            let sender = sender.clone();
            let index = n % pool.workers();
            let task = move |w: &locksley::Worker| sender.send((w.index(), n)).unwrap();
            if n < 100 {
                pool.spawn_with(Spawn::At(index), task)
            } else {
                pool.install(|_| pool.spawn_with(Spawn::At(index), task))
            }
        }
        drop(sender);
        let ran: Vec<_> = receiver.iter().collect();
        assert_eq!(ran.len(), 200);
        assert!(ran.iter().all(|&(index, n)| index == n % pool.workers()));
        for worker in 0..pool.workers() {
            assert!(ran.iter().filter(|ran| ran.0 == worker).is_sorted());
        }
    }
}

#[test]
fn a_worker_runs_its_own_tasks_before_pinned_ones() {
    let pool = Pool::builder().workers(1).own_threads_only().build().unwrap();
    let order = Mutex::new(Vec::new());
    pool.install(|_| {
        locksley::in_place_scope(|scope| {
            scope.spawn_broadcast(|_, _| order.lock().unwrap().push("sent"));
            scope.spawn(|_| order.lock().unwrap().push("own"));
        });
    });
    assert_eq!(order.into_inner().unwrap(), ["own", "sent"]);
}

#[test]
fn a_worker_that_does_not_exist_is_refused() {
    let pool = Pool::new(2).unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| pool.spawn_with(Spawn::At(2), |_| ())));
    assert_eq!(message(&*caught.unwrap_err()), "there is no worker 2 in a pool of 2");
}
