//! On which processors a thread may run that sleeps, for whoever wakes it.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use super::affinity::{self, Mask};
use super::fork::generation;

/// On which processors a thread may run, as the thread itself has noted it before it sleeps; so
/// that one other can leave one of them out until the thread is up.
///
/// The core's `sleep/bed.rs` has the protocol: who notes, leaves out and restores in turn.
#[derive(Debug)]
pub struct SleepersMask {
    thread: AtomicI32,
    generation: AtomicU32,
    mask: UnsafeCell<Mask>,
}

// SAFETY: one thread at a time notes, leaves out or restores, by the contract of these three.
unsafe impl Sync for SleepersMask {}

impl SleepersMask {
    /// Nothing is noted.
    pub fn new() -> Self {
        Self {
            thread: AtomicI32::new(0),
            generation: AtomicU32::new(0),
            mask: UnsafeCell::new(affinity::NONE),
        }
    }

    /// Notes where the calling thread may run. Says whether one can be left out: only if there are
    /// several, and so many at least; and not of the process's main thread, whose affinity stands
    /// for the process's.
    ///
    /// # Safety
    /// Nobody else is about to do anything with this.
    pub unsafe fn note(&self, at_least: usize) -> bool {
        // SAFETY: no memory is involved.
        let thread = unsafe { libc::gettid() };
        if thread == std::process::id().cast_signed() {
            return false;
        }
        let mask =
            affinity::of_this_thread().filter(|mask| affinity::count(mask) >= at_least.max(2));
        let Some(mask) = mask else { return false };
        // SAFETY: nobody else looks at it, says the caller.
        unsafe { *self.mask.get() = mask };
        // Relaxed, as the next: published by who lets others do something with this.
        self.thread.store(thread, Ordering::Relaxed);
        self.generation.store(generation(), Ordering::Relaxed);
        true
    }

    /// From now on the thread, which sleeps, may run on all of these but that one.
    ///
    /// # Safety
    /// It has noted them, and does not end before this returns. Nobody else is about to do anything
    /// with this.
    pub unsafe fn leave_out(&self, processor: usize) {
        // In a child of the process the thread is not there, and the number may be that of any
        // other.
        if self.generation.load(Ordering::Relaxed) != generation() {
            return;
        }
        // SAFETY: nobody changes it meanwhile, says the caller.
        let mask = unsafe { *self.mask.get() };
        affinity::set_without(self.thread.load(Ordering::Relaxed), mask, processor);
    }

    /// The calling thread may run where it could when it noted that.
    ///
    /// # Safety
    /// It has noted it. Nobody else is about to do anything with this.
    pub unsafe fn restore(&self) {
        // SAFETY: nobody changes it meanwhile, says the caller.
        affinity::give(affinity::THIS_THREAD, unsafe { &*self.mask.get() });
    }

    /// The thread may run where it could when it noted that.
    ///
    /// # Safety
    /// As of [`leave_out`](Self::leave_out).
    pub unsafe fn give_back(&self) {
        if self.generation.load(Ordering::Relaxed) == generation() {
            let thread = self.thread.load(Ordering::Relaxed);
            // SAFETY: nobody changes it meanwhile, says the caller.
            affinity::give(thread, unsafe { &*self.mask.get() });
        }
    }
}

/// The processor that the calling thread runs on.
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
                let before = affinity::of_this_thread().unwrap();
                // SAFETY: the other thread waits for this.
                let can_be_less = unsafe { mask.note(2) };
                step.wait();
                step.wait();
                let meanwhile = affinity::of_this_thread().unwrap();
                // SAFETY: the other thread has left it out, and does no more.
                unsafe { mask.restore() };
                assert_eq!(affinity::of_this_thread(), Some(before));
                (can_be_less, affinity::count(&before) - affinity::count(&meanwhile))
            });
            step.wait();
            let one = affinity::process_affinity().unwrap()[0];
            if affinity::process_affinity().unwrap().len() > 1 {
                for _ in 0..2 {
                    // SAFETY: it has noted, and waits for the next step.
                    unsafe { mask.leave_out(one) };
                    // SAFETY: as above.
                    unsafe { mask.give_back() };
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
    fn who_has_one_processor_keeps_it() {
        let one = || {
            let here = current_processor().unwrap();
            assert!(affinity::bind_this_thread(&[here]));
            // SAFETY: nobody else knows of it.
            assert!(!unsafe { SleepersMask::new().note(1) });
        };
        std::thread::spawn(one).join().unwrap();
    }
}
