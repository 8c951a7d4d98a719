//! A barrier on all threads, where the system refuses [`heavy_barrier`](super::heavy_barrier).
//!
//! A helper thread runs for a moment on one processor after the other. A thread that ran on such a
//! processor has then been switched out, or had moved before: each switch is a full barrier between
//! two of its instructions.

use std::sync::atomic::{Ordering, fence};

use super::affinity::{self, on_a_throwaway_thread};
use super::rseq;

/// Returns true if each running thread of the process has made a full barrier between two of its
/// instructions since the call began. Takes as long as a new thread waits for each processor in
/// sequence.
///
/// Fails if the process may not set affinity, or where the C library does not tell the processor of
/// a thread by `rseq`: an emulated kernel may only pretend to move threads.
#[must_use]
pub fn preempt_all() -> bool {
    // Checked first: without it, each call would create a thread in vain.
    rseq::number_of_this_thread().is_ok() && on_a_throwaway_thread(visit_all).is_ok()
}

fn visit_all() -> Result<(), String> {
    let here = rseq::number_of_this_thread()?;
    // Pairs with the barriers of the switches: a thread that moves to a processor that was visited
    // sees all that the caller wrote before.
    fence(Ordering::SeqCst);
    affinity::visit_processors(|processor| {
        // SAFETY: the word of the calling thread, which lives.
        let here = unsafe { here.as_ref() }.load(Ordering::Relaxed);
        here as usize == processor
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::super::this_thread;
    use super::*;

    /// How often a thread was switched out.
    fn switches(thread: libc::pid_t) -> u64 {
        let status = fs::read_to_string(format!("/proc/self/task/{thread}/status")).unwrap();
        let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
        lines
            .map(|line| line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap())
            .sum()
    }

    #[test]
    fn a_running_thread_is_switched_out_each_time() {
        if let Err(why) = rseq::number_of_this_thread() {
            return crate::skip_test(why);
        }
        let ((sender, receiver), is_over) = (channel(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sender.send(this_thread()).unwrap();
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let thread = receiver.recv().unwrap();
            let until = Instant::now() + Duration::from_secs(20);
            let is_switched_out = (0..20).all(|_| {
                let before = switches(thread);
                // It may have been switched out just before the call, and not have run since.
                while preempt_all() && switches(thread) == before && Instant::now() < until {}
                switches(thread) > before
            });
            is_over.store(true, Ordering::Relaxed);
            assert!(is_switched_out);
        });
    }
}
