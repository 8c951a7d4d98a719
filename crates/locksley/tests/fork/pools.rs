//! Pools that a forked child uses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use locksley::{Cancellation, Pool, Worker};

use crate::children::{End, alone, in_a_child};

pub(crate) fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = locksley::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

pub(crate) fn fib_on(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib_on(w, n - 1), |w| fib_on(w, n - 2));
    a + b
}

/// Runs a join with a first half that waits for the second one, so another worker has to help.
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
fn the_global_pool_works_in_the_child_and_on_in_the_parent() {
    let _alone = alone();
    let before = Pool::global();
    assert_eq!(fib(12), 144);
    let workers = before.workers();
    let end = in_a_child(|| {
        assert_eq!(fib(15), 610);
        assert_eq!(Pool::global().workers(), workers);
        assert_eq!(before.install(|w| fib_on(w, 15)), 610, "by the reference from before the fork");
        assert_eq!(locksley::scope(|scope| scope.spawn(|_| ())), ());
        assert_eq!(before.broadcast(Worker::index), Vec::from_iter(0..workers));
        9
    });
    assert_eq!(end, End::Exit(9));
    assert_eq!(fib(15), 610);
}

#[test]
fn a_child_of_a_child_has_pools() {
    let _alone = alone();
    assert_eq!(fib(10), 55);
    let pool = Pool::new(3).unwrap();
    let end = in_a_child(|| {
        assert_eq!((fib(10), pool.install(|w| fib_on(w, 10))), (55, 55));
        let end = in_a_child(|| {
            assert_eq!((fib(11), pool.install(|w| fib_on(w, 11))), (89, 89));
            drop(pool);
            5
        });
        assert_eq!(end, End::Exit(5));
        6
    });
    assert_eq!(end, End::Exit(6));
}

#[test]
fn a_pool_is_rebuilt_with_its_configuration() {
    let _alone = alone();
    let started = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&started);
    let pool = Pool::builder()
        .workers(3)
        .replacements(0) // each would be started and counted, too, if a join waits for long
        .thread_name(|index| format!("again {index}"))
        .on_start(move |_| {
            count.fetch_add(1, Ordering::AcqRel);
        })
        .worker_data(|index| index * 10)
        .build()
        .unwrap();
    assert!(pool.install(is_helped));
    let end = in_a_child(|| {
        assert_eq!(
            (pool.workers(), started.load(Ordering::Acquire)),
            (3, 3),
            "nothing has started yet"
        );
        assert!(pool.install(is_helped));
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
fn dropping_and_detaching_in_the_child_waits_for_no_thread() {
    let _alone = alone();
    for used in [false, true] {
        for detached in [false, true] {
            let pool = Pool::new(4).unwrap();
            pool.install(|w| fib_on(w, 10));
            let end = in_a_child(|| {
                if used {
                    assert_eq!(pool.install(|w| fib_on(w, 10)), 55);
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
fn statistics_of_a_pool_from_before_the_fork_can_be_read() {
    let _alone = alone();
    // A replacement would be counted, too, if a join waits for long.
    let pool = Pool::builder().workers(2).replacements(0).own_threads_only().build().unwrap();
    pool.install(|w| fib_on(w, 15));
    let end = in_a_child(|| {
        assert_eq!(pool.stats().workers.len(), 2);
        assert!(format!("{pool:?}").contains("workers"));
        1
    });
    assert_eq!(end, End::Exit(1));
}

#[test]
fn a_pool_that_works_in_the_parent_is_rebuilt_too() {
    let _alone = alone();
    let (pool, stop) = (Pool::new(4).unwrap(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                pool.install(|w| {
                    fib_on(w, 12);
                    locksley::blocking(|| thread::sleep(Duration::from_micros(50)));
                });
            }
        });
        for round in 0..20 {
            let end = in_a_child(|| {
                assert_eq!(pool.install(|w| fib_on(w, 12)), 144);
                assert_eq!(pool.install(|_| locksley::blocking(|| fib(8))), 21);
                round
            });
            assert_eq!(end, End::Exit(round));
        }
        stop.store(true, Ordering::Release);
    });
}

#[test]
fn a_child_has_a_timer_of_its_own() {
    let _alone = alone();
    let before = Cancellation::new();
    before.cancel_after(Duration::from_millis(1)).unwrap();
    locksley::block_on(before.cancelled());
    let ended = in_a_child(|| {
        let token = Cancellation::new();
        token.cancel_after(Duration::from_millis(1)).unwrap();
        locksley::block_on(token.cancelled());
        7
    });
    assert_eq!(ended, End::Exit(7));
}
