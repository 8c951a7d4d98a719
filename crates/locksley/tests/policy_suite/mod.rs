//! What every policy must leave intact, whatever it decides.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use locksley::idle::Governor;
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

pub(crate) fn joins_agree_with_the_serial_program<G: Governor>(governor: fn() -> G) {
    for pool in pools(governor) {
        assert_eq!(pool.install(|w| fib_on(w, 17)), fib(17));
    }
}

pub(crate) fn scopes_run_every_task_once<G: Governor>(governor: fn() -> G) {
    for pool in pools(governor) {
        let mut counts = vec![0; 500];
        pool.install(|w| {
            w.scope(|w, scope| {
                counts.iter_mut().for_each(|count| scope.spawn_on(w, |_, _| *count += 1));
            });
        });
        assert!(counts.iter().all(|&count| count == 1));
    }
}

pub(crate) fn detached_tasks_end_before_the_pool<G: Governor>(governor: fn() -> G) {
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
pub(crate) fn a_stuck_worker_is_helped<G: Governor>(governor: fn() -> G) {
    for pool in pools(governor).skip(1) {
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

pub(crate) fn panics_pass_through<G: Governor>(governor: fn() -> G) {
    for pool in pools(governor) {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|w| w.join(|w| fib_on(w, 8), |_| panic!("on its way")));
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"on its way"));
        assert_eq!(pool.install(|w| fib_on(w, 8)), fib(8));
    }
}

macro_rules! policy_suite {
    ($($name:ident: $governor:expr;)*) => {$(
        mod $name {
            use super::*;
            use crate::policy_suite;

            #[test]
            fn joins_agree_with_the_serial_program() {
                policy_suite::joins_agree_with_the_serial_program(|| $governor);
            }
            #[test]
            fn scopes_run_every_task_once() {
                policy_suite::scopes_run_every_task_once(|| $governor);
            }
            #[test]
            fn detached_tasks_end_before_the_pool() {
                policy_suite::detached_tasks_end_before_the_pool(|| $governor);
            }
            #[test]
            fn a_stuck_worker_is_helped() {
                policy_suite::a_stuck_worker_is_helped(|| $governor);
            }
            #[test]
            fn panics_pass_through() {
                policy_suite::panics_pass_through(|| $governor);
            }
        }
    )*};
}
