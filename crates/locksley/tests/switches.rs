//! The context switches of workers in a pool's statistics.

#![cfg(all(target_os = "linux", not(locksley_portable)))]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;
use locksley::os::{Assists, Processors};
use locksley::stats::WorkerStats;

fn is_available(name: &str) -> bool {
    let all = locksley::os::assists();
    all.iter().any(|assist| assist.name == name && assist.state.is_ok())
}

/// Calls `step` until the statistics of the pool fulfil `is_reached`.
fn repeat_until(pool: &Pool, is_reached: impl Fn(WorkerStats) -> bool, step: impl Fn()) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let stats = pool.stats().total();
        if is_reached(stats) {
            return;
        }
        assert!(Instant::now() < end, "{stats:?}");
        step();
    }
}

/// Sets the flag when dropped, also by a panic: other threads spin until it is set.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls `body` while every processor has several other threads to run.
fn beside_other_threads(body: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    let others = 3 * Processors::allowed().count();
    thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let _set = SetOnDrop(&is_over);
        body();
    });
}

#[test]
fn a_wake_up_is_a_switch() {
    if !is_available("switch records") {
        return locksley_sys::skip_test("there are no switch records");
    }
    let pool = Pool::builder().workers(2).assists(Assists::ALL).build().unwrap();
    let sleeps = || pool.stats().total().sleeps;
    repeat_until(
        &pool,
        |stats| stats.switches.unwrap() >= 20,
        || {
            let before = sleeps();
            pool.spawn(|_| ());
            repeat_until(&pool, |stats| stats.sleeps > before, thread::yield_now);
        },
    );
}

#[test]
fn a_preemption_is_a_switch() {
    if !is_available("switch records") {
        return locksley_sys::skip_test("there are no switch records");
    }
    let builder = Pool::builder().workers(1).assists(Assists::ALL);
    let pool = builder.own_threads_only().build().unwrap();
    beside_other_threads(|| {
        let (has_begun, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let _set = SetOnDrop(&is_over);
            scope.spawn(|| {
                pool.install(|_| {
                    has_begun.store(true, Ordering::Relaxed);
                    while !is_over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            });
            repeat_until(&pool, |_| has_begun.load(Ordering::Relaxed), thread::yield_now);
            let switches = |stats: WorkerStats| stats.switches.unwrap();
            let before = switches(pool.stats().total());
            repeat_until(&pool, |stats| switches(stats) >= before + 5, thread::yield_now);
        });
    });
}

#[test]
fn without_switch_records_no_switches_are_reported() {
    let assists = Assists::ALL.without(Assists::SWITCH_RECORDS);
    let pool = Pool::builder().workers(2).assists(assists).build().unwrap();
    pool.install(|w| w.join(|_| (), |_| ()));
    repeat_until(&pool, |stats| stats.sleeps >= 2, thread::yield_now);
    let stats = pool.stats();
    assert!(stats.workers.iter().all(|worker| worker.switches.is_none()), "{stats:?}");
    assert_eq!(stats.total().switches, None);
}
