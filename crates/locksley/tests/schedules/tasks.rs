//! Tasks of all kinds: their results, and that each of them runs once.

use std::sync::Arc;

use locksley::loops::par;
use locksley::places::Places;
use locksley::{Pool, Spawn, Worker, scope};
use shuttle::hint::spin_loop;
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::thread::yield_now;

use super::idle_policies::Helping;
use super::{Count, below, beside, builder, check, fib, with_pool, with_pool_of};

#[test]
fn two_threads_send_tasks_that_fork() {
    check(|| {
        with_pool(|pool| {
            let send = |pool: &Pool| assert_eq!(pool.install(|worker| fib(worker, 4)), 3);
            beside(pool, send, send);
        });
    });
}

/// Law 2: the second half of a fork is reachable while the first one waits for it. Before that, the
/// worker may have closed its deque, and the thief may have fallen asleep.
#[test]
fn one_half_of_a_fork_waits_for_the_other_half() {
    check(|| {
        with_pool_of(builder(2), |pool| {
            let flag = AtomicBool::new(false);
            let wait = |_: &Worker| {
                while !flag.load(Ordering::Acquire) {
                    spin_loop();
                }
            };
            pool.install(|worker| {
                assert_eq!(fib(worker, 5), 5);
                (0..below(2) * below(200)).for_each(|_| yield_now());
                worker.join(wait, |_| flag.store(true, Ordering::Release))
            });
        });
    });
}

/// Law 2, while another worker takes a task and so ends its search: the third worker is needed.
#[test]
fn two_workers_wait_for_the_other_half_of_a_fork() {
    check(|| {
        let (flag, policy) = (Arc::new(AtomicBool::new(false)), Helping { attempts: 2 });
        let pool = builder(3).idle_policy(policy).build().unwrap();
        let wait = |flag: &AtomicBool| {
            while !flag.load(Ordering::Acquire) {
                spin_loop();
            }
        };
        let (first, second) = (Arc::clone(&flag), Arc::clone(&flag));
        pool.spawn(move |worker| {
            worker.join(|_| wait(&first), |_| first.store(true, Ordering::Release));
        });
        pool.spawn(move |_| wait(&second));
        drop(pool);
        assert!(flag.load(Ordering::Acquire));
    });
}

#[test]
fn a_scope_ends_after_its_tasks_and_theirs() {
    check(|| {
        with_pool(|pool| {
            let ran = Count::default();
            pool.install(|_| {
                scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|scope| {
                            ran.add();
                            scope.spawn(|_| ran.add());
                        });
                    }
                });
                assert_eq!(ran.get(), 6);
            });
        });
    });
}

#[test]
fn a_dropped_pool_finishes_what_was_spawned() {
    check(|| {
        let ran = Count::default();
        with_pool(|pool| {
            for _ in 0..3 {
                let ran = ran.clone();
                pool.spawn(move |_| {
                    ran.add();
                    locksley::spawn(move || ran.add());
                });
            }
        });
        assert_eq!(ran.get(), 6);
    });
}

#[test]
fn tasks_for_one_worker_or_for_all_run_there() {
    check(|| {
        let ran = Count::default();
        with_pool_of(builder(2), |pool| {
            let (one, all) = (ran.clone(), ran.clone());
            pool.spawn_broadcast(move |_| all.add());
            let index = below(2);
            pool.spawn_with(Spawn::At(index), move |worker| {
                assert_eq!(worker.index(), index);
                one.add();
            });
            assert_eq!(pool.broadcast(|worker| worker.index()), [0, 1]);
        });
        assert_eq!(ran.get(), 3);
    });
}

#[test]
fn tasks_for_a_place_run_there_or_elsewhere() {
    check(|| {
        let [all, first, second] = ["0-2", "0-1", "2"].map(|set| set.parse().unwrap());
        let places = Places::given(&all, [first, second]).unwrap();
        let ran = Count::default();
        with_pool_of(builder(3).places(places), |pool| {
            for _ in 0..3 {
                let ran = ran.clone();
                pool.spawn_with(Spawn::Near(below(2)), move |_| ran.add());
            }
            let sum = pool.install(|worker| worker.join_near(1, |w| fib(w, 2), |w| fib(w, 3)));
            assert_eq!(sum, (1, 2));
        });
        assert_eq!(ran.get(), 3);
    });
}

#[test]
fn a_loop_visits_each_item_once() {
    check(|| {
        with_pool(|pool| {
            let squares = pool.install(|_| par(0..6_usize).grain(1 + below(2)).map(|n| n * n));
            assert_eq!(squares, [0, 1, 4, 9, 16, 25]);
        });
    });
}
