//! The tests that every idle policy passes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use locksley::idle::IdlePolicy;
use locksley::{Pool, Worker};

/// Pools of one worker, of about as many as processors, and of many more.
fn pools<G: IdlePolicy>(idle_policy: fn() -> G) -> impl Iterator<Item = Pool> {
    [1, 2, 3, 16].into_iter().map(move |workers| {
        Pool::builder()
            .workers(workers)
            .idle_policy(idle_policy())
            .build()
            .expect("a pool can be built")
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

pub(crate) fn joins_agree_with_the_serial_program<G: IdlePolicy>(idle_policy: fn() -> G) {
    for pool in pools(idle_policy) {
        assert_eq!(pool.install(|w| fib_on(w, 17)), fib(17));
    }
}

pub(crate) fn scopes_run_every_task_once<G: IdlePolicy>(idle_policy: fn() -> G) {
    for pool in pools(idle_policy) {
        let mut counts = vec![0; 500];
        pool.install(|_| {
            locksley::in_place_scope(|scope| {
                counts.iter_mut().for_each(|count| scope.spawn(|_| *count += 1));
            });
        });
        assert!(counts.iter().all(|&count| count == 1));
    }
}

pub(crate) fn detached_tasks_end_before_the_pool<G: IdlePolicy>(idle_policy: fn() -> G) {
    for pool in pools(idle_policy) {
        let sum = Arc::new(AtomicU64::new(0));
        for n in 0..100 {
            let sum = Arc::clone(&sum);
            pool.spawn(move |_| {
                let again = Arc::clone(&sum);
                locksley::spawn(move || {
                    again.fetch_add(n, Ordering::Relaxed);
                });
                sum.fetch_add(n, Ordering::Relaxed);
            });
        }
        drop(pool);
        assert_eq!(sum.load(Ordering::Relaxed), 2 * 99 * 50);
    }
}

/// Law 2, with at least two workers.
pub(crate) fn a_second_half_runs_while_its_worker_is_stuck<G: IdlePolicy>(idle_policy: fn() -> G) {
    for pool in pools(idle_policy).skip(1) {
        for _ in 0..50 {
            let flag = AtomicBool::new(false);
            let wait = || {
                while !flag.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            };
            pool.install(|w| w.join(|_| wait(), |_| flag.store(true, Ordering::Release)));
        }
    }
}

pub(crate) fn panics_pass_through<G: IdlePolicy>(idle_policy: fn() -> G) {
    for pool in pools(idle_policy) {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|w| w.join(|w| fib_on(w, 8), |_| panic!("on its way")));
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"on its way"));
        assert_eq!(pool.install(|w| fib_on(w, 8)), fib(8));
    }
}

macro_rules! policy_suite {
    ($($name:ident: $idle_policy:expr;)*) => {$(
        mod $name {
            use super::*;
            use crate::policy_suite;

            #[test]
            fn joins_agree_with_the_serial_program() {
                policy_suite::joins_agree_with_the_serial_program(|| $idle_policy);
            }
            #[test]
            fn scopes_run_every_task_once() {
                policy_suite::scopes_run_every_task_once(|| $idle_policy);
            }
            #[test]
            fn detached_tasks_end_before_the_pool() {
                policy_suite::detached_tasks_end_before_the_pool(|| $idle_policy);
            }
            #[test]
            fn a_second_half_runs_while_its_worker_is_stuck() {
                policy_suite::a_second_half_runs_while_its_worker_is_stuck(|| $idle_policy);
            }
            #[test]
            fn panics_pass_through() {
                policy_suite::panics_pass_through(|| $idle_policy);
            }
        }
    )*};
}
