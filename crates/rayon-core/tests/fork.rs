//! A forked child has its own global pool. The only test of this binary: a child that is forked
//! while another thread starts cannot build one.

#![cfg(target_os = "linux")]

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rayon_core::{ThreadPoolBuilder, broadcast, current_num_threads};

/// Returns the status of a child that broadcasts.
fn broadcast_in_a_child() -> i32 {
    // SAFETY: the child uses only what is valid there, and ends without the parent's destructors.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        // SAFETY: the signal ends the child if it hangs.
        unsafe { libc::alarm(20) };
        let sent = catch_unwind(|| broadcast(|_| ()).len() == current_num_threads());
        // SAFETY: no memory is involved.
        unsafe { libc::_exit(i32::from(!sent.unwrap_or(false))) };
    }
    let mut status = 0;
    // SAFETY: this process has not waited for the child yet; `status` is valid for the write.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status
}

#[test]
fn a_child_broadcasts_although_a_thread_of_the_parent_did_so_at_the_fork() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.broadcast(|_| ()); // its thread has started
    let stop = AtomicBool::new(false);
    let failed = thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                pool.broadcast(|_| ());
            }
        });
        let failed = (0..100).map(|_| broadcast_in_a_child()).find(|&status| status != 0);
        stop.store(true, Ordering::Relaxed);
        failed
    });
    assert_eq!(failed, None);
}
