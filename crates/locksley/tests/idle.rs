//! A pool without work uses no processor time.

mod common;

use std::time::Duration;

use common::fall_silent;
use locksley::Pool;
use locksley::stats::WorkerStats;

#[test]
fn all_workers_of_an_idle_pool_sleep() {
    // 24 workers are more than processors on most machines, so some may be over the limit.
    for workers in [1, 4, 24] {
        assert_all_sleep(workers);
    }
}

fn assert_all_sleep(workers: usize) {
    let pool = Pool::new(workers).unwrap();
    pool.install(|w| w.join(|_| (), |_| ()));
    let silent = fall_silent(Duration::from_secs(30), || pool.stats().workers);
    let count = |count: fn(&WorkerStats) -> u64| silent.iter().map(count).sum::<u64>();
    assert_eq!(
        count(|worker| worker.sleeps),
        count(|worker| worker.wakeups) + workers as u64,
        "every worker sleeps"
    );
}
