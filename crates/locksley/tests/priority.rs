//! A thread's priority is lowered while it searches, and never while it runs a task. Linux only:
//! elsewhere it is never changed.

#![cfg(all(target_os = "linux", not(locksley_portable)))]

use locksley::{Pool, idle::Abp};

fn policy() -> i32 {
    // SAFETY: no memory is involved; 0 is the calling thread.
    unsafe { libc::sched_getscheduler(0) }
}

#[test]
fn tasks_run_at_the_original_priority_of_the_thread() {
    let at_once = Abp { attempts: 1, lower_after: Some(0), sleep_after: Some(1000) };
    let before = policy();
    let pool = Pool::builder().workers(3).idle_policy(at_once).build().unwrap();
    for _ in 0..300 {
        let (a, b) = pool.install(|w| w.join(|_| policy(), |_| policy()));
        assert_eq!((a, b), (before, before));
        std::thread::yield_now();
    }
}
