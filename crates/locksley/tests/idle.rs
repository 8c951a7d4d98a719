//! A pool with nothing to do uses no processor time.

mod common;

use std::time::Duration;

use common::fall_silent;
use locksley::Pool;
use locksley::stats::WorkerStats;

#[test]
fn an_idle_pool_sleeps() {
    // More workers than processors, so that there is a sentinel while it works.
    for workers in [1, 4, 24] {
        falls_silent(workers);
    }
}

fn falls_silent(workers: usize) {
    let pool = Pool::new(workers).unwrap();
    pool.install(|w| w.join(|_| (), |_| ()));
    let silent = fall_silent(Duration::from_secs(30), || pool.stats().workers);
    let count = |count: fn(&WorkerStats) -> u64| silent.iter().map(count).sum::<u64>();
    assert_eq!(
        count(|worker| worker.sleeps),
        count(|worker| worker.wakeups) + workers as u64,
        "all of them sleep"
    );
}
