//! A barrier on one thread, where the system refuses [`heavy_barrier`](super::heavy_barrier).
//!
//! A helper thread runs for a moment on the last processor of that thread, which then does not run
//! there. So the kernel has switched the thread out, and each switch is a full barrier between two
//! of its instructions.

use std::sync::atomic::{Ordering, fence};
use std::{fs, io};

use super::affinity::{self, THIS_THREAD, ThreadAffinity, mask_of, on_a_throwaway_thread};
use super::{rseq, this_thread};

impl ThreadAffinity {
    /// Returns true if the thread has made a full barrier between two of its instructions since the
    /// call began, makes one before its next instruction, or has ended. Takes as long as another
    /// thread waits for a turn on its processor.
    ///
    /// Fails without `/proc`, where the caller may not run on that processor, or where the C
    /// library does not tell the processor of a thread by `rseq`: an emulated kernel may only
    /// pretend to move threads.
    pub fn preempt(&self) -> bool {
        // Checked first: without it, each call would create a thread in vain.
        let can_check = rseq::number_of_this_thread().is_ok();
        can_check
            && on_a_throwaway_thread(|| {
                self.run_on_its_processor().map_err(|error| error.to_string())
            })
            .is_ok()
    }

    fn run_on_its_processor(&self) -> io::Result<()> {
        // The files may be those of another namespace, with other numbers for our threads.
        let own_path = format!("{}/task/{}", std::process::id(), this_thread());
        if fs::read_link("/proc/thread-self")?.to_str() != Some(own_path.as_str()) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // Pairs with the barrier of a switch: if the thread has moved since the file was read, it
        // sees all that the caller wrote before.
        fence(Ordering::SeqCst);
        let stat = match fs::read_to_string(format!("/proc/self/task/{}/stat", self.0)) {
            // It has ended: before the file was opened, or before it was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
            stat => stat?,
        };
        let processor = last_processor(&stat).ok_or(io::ErrorKind::InvalidData)?;
        // The result is ignored: the check of `here` decides.
        affinity::set(THIS_THREAD, &mask_of([processor].into_iter()));
        let here = rseq::number_of_this_thread().map_err(io::Error::other)?;
        // SAFETY: the word of the calling thread, which lives.
        let here = unsafe { here.as_ref() }.load(Ordering::Relaxed);
        if here as usize == processor { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
    }
}

/// The 39th field: on which processor the thread runs, or ran last. The second field is a name in
/// parentheses, with any characters.
fn last_processor(stat: &str) -> Option<usize> {
    stat.rsplit(')').next()?.split_ascii_whitespace().nth(39 - 3)?.parse().ok()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_processor_is_read_behind_any_name() {
        // All from the third field to the 37th.
        let before = "R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 \
                      31 32 33 34 35 36 37";
        for name in ["cat", "a b", ") R 1 (", ""] {
            assert_eq!(last_processor(&format!("7 ({name}) {before} 38")), None);
            assert_eq!(last_processor(&format!("7 ({name}) {before} 38 52 0")), Some(52));
        }
        assert_eq!(last_processor(""), None);
    }

    /// How often a thread was switched out.
    fn switches(thread: &ThreadAffinity) -> u64 {
        let status = fs::read_to_string(format!("/proc/self/task/{}/status", thread.0)).unwrap();
        let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
        lines
            .map(|line| line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap())
            .sum()
    }

    #[test]
    fn a_running_thread_is_switched_out_and_an_ended_one_counts_as_switched_out() {
        if let Err(why) = rseq::number_of_this_thread() {
            return crate::skip_test(why);
        }
        let ((sender, receiver), is_over) = (channel(), AtomicBool::new(false));
        let turns = AtomicU64::new(0);
        let thread = std::thread::scope(|scope| {
            scope.spawn(|| {
                sender.send(ThreadAffinity::of_this_thread()).unwrap();
                while !is_over.load(Ordering::Relaxed) {
                    turns.fetch_add(1, Ordering::Relaxed);
                }
            });
            let thread = receiver.recv().unwrap();
            let is_switched_out = || {
                // Another program may have its processor. So the thread has to run after the first
                // count.
                let (before, turn) = (switches(&thread), turns.load(Ordering::Relaxed));
                while turns.load(Ordering::Relaxed) == turn {
                    std::thread::yield_now();
                }
                thread.preempt() && switches(&thread) > before
            };
            let is_always = (0..20).all(|_| is_switched_out());
            is_over.store(true, Ordering::Relaxed);
            assert!(is_always);
            thread
        });
        // The entry in `/proc` disappears some time after the thread was joined.
        let until = Instant::now() + Duration::from_secs(20);
        while fs::exists(format!("/proc/self/task/{}", thread.0)).unwrap() {
            assert!(Instant::now() < until);
            std::thread::yield_now();
        }
        assert!(thread.preempt());
    }

    #[test]
    fn a_waiting_thread_needs_no_switch() {
        if let Err(why) = rseq::number_of_this_thread() {
            return crate::skip_test(why);
        }
        let ((sender, receiver), (end, wait)) = (channel(), channel::<()>());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                sender.send(ThreadAffinity::of_this_thread()).unwrap();
                let _ = wait.recv();
            });
            assert!(receiver.recv().unwrap().preempt());
            drop(end);
        });
    }
}
