//! What every governor must leave intact, whatever it decides. A new one gets all of this by one line at the end.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use common::{AlwaysAsleep, Sleepy, message};
#[cfg(feature = "alternatives")]
use locksley::alternatives::{
    BusyWakes, DelayedYield, GlobalInformation, NoYield, SelectiveYield, StealHalf,
};
use locksley::hunt::{Abp, Balanced, Bws, Governor};
use locksley::{Pool, Worker};

/// Pools of one worker, of as many as processors or about, and of many more.
fn pools<G: Governor>(governor: fn() -> G) -> impl Iterator<Item = Pool> {
    [1, 2, 3, 16].into_iter().map(move |workers| {
        Pool::builder().workers(workers).governor(governor()).build().expect("a pool can be built")
    })
}

fn fib(n: u64) -> u64 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

fn fib_on(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib_on(w, n - 1), |w| fib_on(w, n - 2));
    a + b
}

fn joins_agree_with_the_serial_program<G: Governor>(governor: fn() -> G) {
    for pool in pools(governor) {
        assert_eq!(pool.run(|w| fib_on(w, 17)), fib(17));
    }
}

fn scopes_run_every_task_once<G: Governor>(governor: fn() -> G) {
    for pool in pools(governor) {
        let mut counts = vec![0; 500];
        pool.run(|w| {
            w.scope(|w, scope| {
                counts.iter_mut().for_each(|count| scope.spawn_on(w, |_, _| *count += 1));
            });
        });
        assert!(counts.iter().all(|&count| count == 1));
    }
}

fn detached_tasks_end_before_the_pool<G: Governor>(governor: fn() -> G) {
    for pool in pools(governor) {
        let sum = Arc::new(AtomicU64::new(0));
        for n in 0..100 {
            let sum = Arc::clone(&sum);
            pool.spawn(move |w| {
                let again = Arc::clone(&sum);
                w.spawn(move |_| {
                    again.fetch_add(n, Ordering::Relaxed);
                });
                sum.fetch_add(n, Ordering::Relaxed);
            });
        }
        drop(pool);
        assert_eq!(sum.load(Ordering::Relaxed), 2 * 99 * 50);
    }
}

/// Law 2. With two workers and more; with one, nobody is there to help.
fn a_stuck_worker_is_helped<G: Governor>(governor: fn() -> G) {
    for pool in pools(governor).skip(1) {
        for _ in 0..50 {
            let flag = AtomicBool::new(false);
            let wait = || {
                while !flag.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            };
            pool.run(|w| w.join(|_| wait(), |_| flag.store(true, Ordering::Release)));
        }
    }
}

fn panics_pass_through<G: Governor>(governor: fn() -> G) {
    for pool in pools(governor) {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|w| w.join(|w| fib_on(w, 8), |_| panic!("on its way")));
        }));
        assert_eq!(message(&*caught.unwrap_err()), "on its way");
        assert_eq!(pool.run(|w| fib_on(w, 8)), fib(8));
    }
}

macro_rules! governor_suite {
    ($($(#[$attribute:meta])* $name:ident: $governor:expr;)*) => {$(
        $(#[$attribute])*
        mod $name {
            use super::*;

            #[test]
            fn joins_agree_with_the_serial_program() {
                super::joins_agree_with_the_serial_program(|| $governor);
            }
            #[test]
            fn scopes_run_every_task_once() {
                super::scopes_run_every_task_once(|| $governor);
            }
            #[test]
            fn detached_tasks_end_before_the_pool() {
                super::detached_tasks_end_before_the_pool(|| $governor);
            }
            #[test]
            fn a_stuck_worker_is_helped() {
                super::a_stuck_worker_is_helped(|| $governor);
            }
            #[test]
            fn panics_pass_through() {
                super::panics_pass_through(|| $governor);
            }
        }
    )*};
}

governor_suite! {
    abp: Abp::default();
    abp_that_never_sleeps: Abp { sleep_after: None, ..Abp::default() };
    abp_that_lowers_at_once: Abp { attempts: 1, lower_after: Some(0), sleep_after: Some(3) };
    sleepy: Sleepy;
    always_asleep: AlwaysAsleep;
    balanced: Balanced::default();
    bws: Bws::default();
    bws_that_sleeps_at_once: Bws::with_threshold(0);
    #[cfg(feature = "alternatives")]
    no_yield: NoYield;
    #[cfg(feature = "alternatives")]
    delayed_yield: DelayedYield;
    #[cfg(feature = "alternatives")]
    selective_yield: SelectiveYield;
    #[cfg(feature = "alternatives")]
    global_information: GlobalInformation::default();
    #[cfg(feature = "alternatives")]
    busy_wakes: BusyWakes::default();
    #[cfg(feature = "alternatives")]
    steal_half: StealHalf(Balanced::default());
    #[cfg(feature = "alternatives")]
    steal_half_and_always_asleep: StealHalf(AlwaysAsleep);
}
