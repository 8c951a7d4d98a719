//! A pool without work uses no processor time, and its workers ask the policy what to do.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::fall_silent;
use locksley::Pool;
use locksley::idle::{IdleContext, IdlePolicy, Move, Thief};
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

/// Fails three times, then sleeps. Notes whether it begins anew after each sleep.
#[derive(Clone, Debug, Default)]
struct Restarts {
    sleeps: Arc<AtomicUsize>,
    late: Arc<AtomicUsize>,
    slept: bool,
}

impl IdlePolicy for Restarts {
    fn name(&self) -> &'static str {
        "restarts"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(self.clone())
    }
}

impl Thief for Restarts {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let is_late = self.slept && context.failures > 0;
        self.late.fetch_add(usize::from(is_late), Ordering::Relaxed);
        self.slept = context.failures >= 3;
        self.sleeps.fetch_add(usize::from(self.slept), Ordering::Relaxed);
        if self.slept { Move::Sleep } else { Move::Search }
    }
}

/// A thief that goes on counting where it was would sleep again after its first attempt.
#[test]
fn failures_are_counted_anew_after_a_sleep() {
    let policy = Restarts::default();
    let pool = Pool::builder().workers(3).own_threads_only().idle_policy(policy.clone());
    let pool = pool.build().unwrap();
    while policy.sleeps.load(Ordering::Relaxed) < 100 {
        pool.install(|w| w.join(|_| (), |_| ()));
    }
    drop(pool);
    assert_eq!(policy.late.load(Ordering::Relaxed), 0);
}
