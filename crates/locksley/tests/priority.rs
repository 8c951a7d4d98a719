//! Priority is lowered while searching and never while working. Linux only: elsewhere it is not
//! touched.

#![cfg(all(target_os = "linux", not(locksley_portable)))]

use locksley::{Pool, idle::Abp};

fn policy() -> i32 {
    // SAFETY: no memory is involved; 0 is the calling thread.
    unsafe { libc::sched_getscheduler(0) }
}

#[test]
fn tasks_run_at_the_priority_that_the_thread_had() {
    let at_once = Abp { attempts: 1, lower_after: Some(0), sleep_after: Some(1000) };
    let before = policy();
    let pool = Pool::builder().workers(3).idle_policy(at_once).build().unwrap();
    for _ in 0..300 {
        let (a, b) = pool.install(|w| w.join(|_| policy(), |_| policy()));
        assert_eq!((a, b), (before, before));
        std::thread::yield_now();
    }
}
