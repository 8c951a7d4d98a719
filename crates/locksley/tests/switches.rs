//! What a pool says about its workers' context switches.
#![cfg(all(target_os = "linux", not(locksley_portable)))]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;
use locksley::idle::Abp;
use locksley::os::{AssistState, Assists, Processors};
use locksley::stats::WorkerStats;

fn works(name: &str) -> bool {
    let all = locksley::os::assists();
    all.iter().any(|assist| assist.name == name && assist.state == AssistState::Works)
}

/// Does `something` until `is_seen` in the statistics of the pool.
fn until(pool: &Pool, is_seen: impl Fn(WorkerStats) -> bool, something: impl Fn()) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let stats = pool.stats().total();
        if is_seen(stats) {
            return;
        }
        assert!(Instant::now() < end, "{stats:?}");
        something();
    }
}

/// Says that it is over, whatever happens: others wait for that.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does `something` while each processor has several threads of others to run.
fn beside_others(something: impl FnOnce()) {
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
        let _over = Over(&is_over);
        something();
    });
}

fn not_to_thieves(stats: WorkerStats) -> u64 {
    stats.switches.unwrap() - stats.to_thief
}

#[test]
fn a_worker_that_sleeps_and_gets_up_is_a_thief_that_comes_back() {
    if !works("switch records") {
        return eprintln!("not tried: there are no switch records");
    }
    let pool = Pool::new(2).unwrap();
    let sleeps = || pool.stats().total().sleeps;
    until(
        &pool,
        |stats| stats.to_thief >= 20,
        || {
            let before = sleeps();
            pool.install(|_| ());
            until(&pool, |stats| stats.sleeps > before, thread::yield_now);
        },
    );
    let stats = pool.stats().total();
    assert!(stats.switches.unwrap() >= stats.to_thief, "{stats:?}");
}

#[test]
fn what_others_take_from_a_worker_with_work_is_no_switch_to_a_thief() {
    if !works("switch records") {
        return eprintln!("not tried: there are no switch records");
    }
    let pool = Pool::new(1).unwrap();
    beside_others(|| {
        let (begun, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let _over = Over(&is_over);
            scope.spawn(|| {
                pool.install(|_| {
                    begun.store(true, Ordering::Relaxed);
                    while !is_over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            });
            until(&pool, |_| begun.load(Ordering::Relaxed), thread::yield_now);
            let before = pool.stats().total();
            until(
                &pool,
                |stats| not_to_thieves(stats) >= not_to_thieves(before) + 5,
                thread::yield_now,
            );
            let after = pool.stats().total();
            assert_eq!(after.to_thief, before.to_thief, "it had work all the time");
        });
    });
}

#[test]
fn nor_is_the_processor_that_a_lone_thief_yields_to_others() {
    if !works("switch records") || !works("run state") {
        return eprintln!("not tried: there are no switch records");
    }
    let yields = Abp { attempts: 1, lower_after: None, sleep_after: None };
    let pool = Pool::builder().workers(1).idle_policy(yields).build().unwrap();
    beside_others(|| {
        let before = not_to_thieves(pool.stats().total());
        until(&pool, |stats| not_to_thieves(stats) >= before + 5, thread::yield_now);
    });
}

#[test]
fn without_records_nothing_is_said() {
    let assists = Assists::ALL.without(Assists::SWITCH_RECORDS);
    let pool = Pool::builder().workers(2).assists(assists).build().unwrap();
    pool.install(|w| w.join(|_| (), |_| ()));
    until(&pool, |stats| stats.sleeps >= 2, thread::yield_now);
    let stats = pool.stats();
    assert!(stats.workers.iter().all(|worker| worker.switches.is_none()), "{stats:?}");
    assert_eq!((stats.total().switches, stats.total().to_thief), (None, 0));
}
