//! On which processors a sleeping thread may run, for the thread that wakes it.

use std::cell::UnsafeCell;

use super::affinity::{self, Mask};
use super::fork::generation;
use super::{main_thread, this_thread};

/// On which processors a thread may run, as the thread itself has noted it before it sleeps; so
/// that one other can leave one of them out until the thread is up.
///
/// The core's `sleep` has the protocol: which thread notes, leaves out and restores in turn.
#[derive(Debug)]
pub struct SleepersMask(UnsafeCell<Noted>);

#[derive(Debug)]
struct Noted {
    thread: libc::pid_t,
    /// In a child of the process the thread is not there, and the number may be that of any other.
    generation: u32,
    mask: Mask,
}

// SAFETY: one thread at a time notes, leaves out or restores, by the contract of these three.
unsafe impl Sync for SleepersMask {}

impl SleepersMask {
    /// Nothing is noted.
    pub fn new() -> Self {
        Self(UnsafeCell::new(Noted { thread: 0, generation: 0, mask: affinity::NO_PROCESSORS }))
    }

    /// Notes where the calling thread may run. Says whether one can be left out: only if there are
    /// several, and so many at least; and not of the process's main thread, since its affinity
    /// stands for the process's.
    ///
    /// # Safety
    /// No other thread is about to do anything with this.
    pub unsafe fn note(&self, at_least: usize) -> bool {
        let (thread, generation) = (this_thread(), generation());
        let mask =
            affinity::this_thread_mask().filter(|mask| affinity::count(mask) >= at_least.max(2));
        let Some(mask) = mask.filter(|_| thread != main_thread()) else { return false };
        // SAFETY: no other thread looks at it, says the caller.
        unsafe { *self.0.get() = Noted { thread, generation, mask } };
        true
    }

    /// From now on the thread, which sleeps, may run on all of these but that one.
    ///
    /// # Safety
    /// It has noted them, and does not end before this returns. No other thread is about to do
    /// anything with this.
    pub unsafe fn leave_out(&self, processor: usize) {
        // SAFETY: no thread changes it meanwhile, says the caller.
        let noted = unsafe { &*self.0.get() };
        if noted.generation == generation() {
            affinity::set_without(noted.thread, noted.mask, processor);
        }
    }

    /// The thread may run where it could when it noted that. Called by itself or by another one.
    ///
    /// # Safety
    /// As of [`leave_out`](Self::leave_out).
    pub unsafe fn restore(&self) {
        // SAFETY: no thread changes it meanwhile, says the caller.
        let noted = unsafe { &*self.0.get() };
        if noted.generation == generation() {
            affinity::restore(noted.thread, &noted.mask);
        }
    }
}

/// The processor that the calling thread runs on.
#[inline]
pub fn current_processor() -> Option<usize> {
    // SAFETY: no memory is involved.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn one_is_left_out_and_restored() {
        let (mask, step) = (SleepersMask::new(), Barrier::new(2));
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                let before = affinity::this_thread_mask().unwrap();
                // SAFETY: the other thread waits for this.
                let can_be_less = unsafe { mask.note(2) };
                step.wait();
                step.wait();
                let meanwhile = affinity::this_thread_mask().unwrap();
                // SAFETY: the other thread has left it out, and does no more.
                unsafe { mask.restore() };
                assert_eq!(affinity::this_thread_mask(), Some(before));
                (can_be_less, affinity::count(&before) - affinity::count(&meanwhile))
            });
            step.wait();
            let one = affinity::process_affinity().unwrap()[0];
            if affinity::process_affinity().unwrap().len() > 1 {
                for _ in 0..2 {
                    // SAFETY: it has noted, and waits for the next step.
                    unsafe { mask.leave_out(one) };
                    // SAFETY: as above.
                    unsafe { mask.restore() };
                }
                // SAFETY: as above.
                unsafe { mask.leave_out(one) };
            }
            step.wait();
            let (can_be_less, fewer) = sleeper.join().unwrap();
            // On a machine with one processor there is none to be left out.
            assert_eq!(usize::from(can_be_less), fewer);
        });
    }

    #[test]
    fn a_thread_with_one_processor_keeps_it() {
        let one = || {
            let here = current_processor().unwrap();
            assert!(affinity::bind_this_thread(&[here]));
            // SAFETY: no other thread knows of it.
            assert!(!unsafe { SleepersMask::new().note(1) });
        };
        std::thread::spawn(one).join().unwrap();
    }
}
