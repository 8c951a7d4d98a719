//! Workers block, wait for other pools, and are replaced.

use locksley::{Pool, Worker, block_on, blocking, in_place_scope, scope, spawn, task};
use shuttle::sync::mpsc::channel;

use super::{Count, below, beside, builder, check, fib, with_pool, with_pool_of};

#[test]
fn a_blocked_worker_is_replaced() {
    check(|| {
        with_pool_of(builder(1), |pool| {
            let (sender, receiver) = channel();
            let received = pool.install(move |_| {
                spawn(move || sender.send(7).unwrap());
                blocking(|| receiver.recv())
            });
            assert_eq!(received, Ok(7));
        });
    });
}

/// More blocking calls than workers, one after the other and at the same time, so that replacements
/// are released and assigned again.
#[test]
fn replacements_serve_several_workers() {
    check(|| {
        let ran = Count::default();
        with_pool_of(builder(2), |pool| {
            for _ in 0..3 {
                let ((sender, receiver), ran) = (channel(), ran.clone());
                pool.spawn(move |worker| {
                    spawn(move || sender.send(()).unwrap());
                    blocking(|| receiver.recv().unwrap());
                    assert_eq!(fib(worker, 2), 1);
                    ran.add();
                });
            }
        });
        assert_eq!(ran.get(), 3);
    });
}

/// At the limit of replacements the last thread runs any task.
#[test]
fn without_replacements_waits_end() {
    check(|| {
        with_pool_of(builder(2).replacements(below(2)), |pool| {
            let nested = |pool: &Pool| {
                let sum = pool.install(|worker| {
                    let (ran, tasks) = (Count::default(), 2);
                    scope(|scope| (0..tasks).for_each(|_| scope.spawn(|_| ran.add())));
                    assert_eq!(ran.get(), tasks);
                    fib(worker, 3)
                });
                assert_eq!(sum, 2);
            };
            beside(pool, nested, nested);
        });
    });
}

/// The last thread has to run a task that is not the newest of its deque.
#[test]
fn a_single_worker_without_replacements_joins_tasks() {
    check(|| {
        with_pool_of(builder(1).replacements(0), |pool| {
            let sum = pool.install(|_| {
                let (one, two) = (task::spawn(async { 1 }), task::spawn(async { 2 }));
                one.join().unwrap() + two.join().unwrap()
            });
            assert_eq!(sum, 3);
        });
    });
}

/// Each of two workers waits for a task that only the other one may run.
#[test]
fn waiting_workers_run_the_tasks_that_are_pinned_to_them() {
    check(|| {
        with_pool_of(builder(2), |pool| {
            let all = || pool.broadcast(|worker| worker.index());
            let both = pool.install(|worker| worker.join(|_| all(), |_| all()));
            assert_eq!(both, (vec![0, 1], vec![0, 1]));
        });
    });
}

#[test]
fn a_worker_waits_for_a_future() {
    check(|| {
        with_pool(|pool| {
            let sum = pool.install(|_| {
                let one = task::spawn(async { 1 });
                let two = task::spawn(async {
                    task::yield_now().await;
                    2
                });
                block_on(async { one.await.unwrap() + two.await.unwrap() })
            });
            assert_eq!(sum, 3);
            assert_eq!(block_on(pool.spawn_future(async { 4 })).unwrap(), 4);
        });
    });
}

#[test]
fn pools_wait_for_each_other() {
    check(|| {
        with_pool_of(builder(1), |one| {
            with_pool_of(builder(1), |other| {
                let here = |_: &Worker| other.install(|_| one.install(|worker| fib(worker, 3)));
                assert_eq!(one.install(here), 2);
            });
        });
    });
}

#[test]
fn a_worker_drops_another_pool_whose_tasks_need_its_own() {
    check(|| {
        let ran = Count::default();
        // Two workers: under shuttle no replacement works for a thread that joins others.
        with_pool_of(builder(2), |one| {
            one.install(|_| {
                with_pool_of(builder(1), |other| {
                    let (home, ran) = (task::spawn(async { 5 }), ran.clone());
                    other.spawn(move |_| {
                        assert_eq!(home.join().unwrap(), 5);
                        ran.add();
                    });
                });
            });
        });
        assert_eq!(ran.get(), 1);
    });
}

/// The inner wait comes upon tasks of the outer scope, which may not run there.
#[test]
fn a_wait_leaves_the_tasks_of_an_outer_scope_to_others_and_to_the_wait_of_that() {
    check(|| {
        with_pool(|pool| {
            let ran = Count::default();
            pool.install(|_| {
                scope(|outer| {
                    scope(|inner| {
                        inner.spawn(|_| ran.add());
                        outer.spawn(|_| ran.add());
                        inner.spawn(|_| outer.spawn(|_| ran.add()));
                    });
                    assert!(ran.get() >= 1);
                });
            });
            assert_eq!(ran.get(), 3);
        });
    });
}

/// The task that is polled for waits for another pool, and then for the index of the loop.
#[test]
fn code_that_polls_lets_a_task_go_on_whose_wait_is_over() {
    check(|| {
        with_pool_of(builder(1), |pool| {
            with_pool_of(builder(1), |other| {
                pool.install(|worker| {
                    let ran = Count::default();
                    in_place_scope(|scope| {
                        scope.spawn(|_| {
                            other.install(|_| ());
                            ran.add();
                        });
                        while ran.get() == 0 {
                            worker.run_one();
                            shuttle::thread::yield_now();
                        }
                    });
                });
            });
        });
    });
}
