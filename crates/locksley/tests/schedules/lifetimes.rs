//! Pools begin, change their size and end.

use locksley::Pool;
use shuttle::sync::mpsc::channel;

use super::{below, beside, builder, check, fib, with_pool, with_pool_of};

#[test]
fn a_pool_is_built_and_dropped() {
    check(|| with_pool(drop));
}

#[test]
fn a_pool_that_starts_in_the_background_is_dropped_before_or_after_its_workers_have_begun() {
    check(|| with_pool_of(builder(2).start_in_background(), drop));
}

#[test]
fn a_detached_pool_finishes_its_tasks() {
    check(|| {
        let (pool, (sender, receiver)) = (builder(1 + below(2)).build().unwrap(), channel());
        for n in 0..2 {
            let sender = sender.clone();
            pool.spawn(move |worker| sender.send(n + fib(worker, 2)).unwrap());
        }
        drop(sender);
        pool.detach();
        assert_eq!(receiver.iter().sum::<u32>(), 3);
    });
}

#[test]
fn the_size_changes_while_tasks_fork() {
    check(|| {
        with_pool_of(builder(1 + below(3)).max_workers(3), |pool| {
            let resize = |pool: &Pool| (0..2).for_each(|_| pool.resize(1 + below(3)).unwrap());
            beside(pool, resize, |pool| assert_eq!(pool.install(|worker| fib(worker, 4)), 3));
        });
    });
}

#[test]
fn workers_over_the_size_run_broadcasts_and_leave_other_tasks_to_the_rest() {
    check(|| {
        with_pool_of(builder(3), |pool| {
            for _ in 0..2 {
                pool.resize(1 + below(3)).unwrap();
                assert_eq!(pool.install(|worker| fib(worker, 3)), 2);
            }
            assert_eq!(pool.broadcast(|worker| worker.index()), [0, 1, 2]);
        });
    });
}
