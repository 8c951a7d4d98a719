//! Where a worker sleeps: so that a worker with work which wakes it can have it woken on another processor than its own.

use crate::os::{SleepersMask, current_processor, yield_now};
use crate::primitive::{AtomicU32, Ordering};

const UP: u32 = 0;
const BEING_TURNED: u32 = 1;
const TURNED: u32 = 2;
const DOWN: u32 = 3;

/// Where a worker sleeps. The README beside this file has the states.
#[derive(Debug)]
pub(super) struct Bed {
    state: AtomicU32,
    mask: SleepersMask,
}

impl Bed {
    pub(super) fn new() -> Self {
        Self { state: AtomicU32::new(UP), mask: SleepersMask::new() }
    }

    /// The calling worker, whose bed it is, is about to block.
    pub(super) fn lies_down(&self) {
        self.gets_up();
        if self.state.load(Ordering::Relaxed) != UP {
            return;
        }
        // SAFETY: nobody else does anything with it while the worker is up, which only it can change.
        if unsafe { self.mask.note() } {
            // Release pairs with the acquire in `turns_from_here`: what was noted.
            self.state.store(DOWN, Ordering::Release);
        }
    }

    /// The calling worker, whose bed it is, has got up. If somebody is about to turn it just now, it sees to that the next time.
    pub(super) fn gets_up(&self) {
        // Acquire, twice: pairs with the release in `turns_from_here`. Who has turned it does no more, and what was noted is the worker's own again.
        let mut state = self.state.load(Ordering::Acquire);
        if state == DOWN {
            let (success, failure) = (Ordering::Relaxed, Ordering::Acquire);
            match self.state.compare_exchange(DOWN, UP, success, failure) {
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
        if state == TURNED {
            // SAFETY: it was noted before it was turned; who did that has done it, and nobody else does before the worker is down again.
            unsafe { self.mask.restore() };
            self.state.store(UP, Ordering::Relaxed);
        }
    }

    /// Who is about to wake the worker goes on with its work, where it is: if `is_another_free`, the worker is to be woken on another processor.
    pub(super) fn turns_from_here(&self, is_another_free: impl FnOnce() -> bool) {
        if self.state.load(Ordering::Relaxed) != DOWN || !is_another_free() {
            return;
        }
        let Some(here) = current_processor() else { return };
        // Acquire pairs with the release in `lies_down`: what was noted.
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        if self.state.compare_exchange(DOWN, BEING_TURNED, success, failure).is_err() {
            return;
        }
        // SAFETY: it was noted, and the thread does not end before the next line (`leaves`). Nobody else does anything with it now.
        unsafe { self.mask.leave_out(here) };
        // Release pairs with the acquires in `gets_up`.
        self.state.store(TURNED, Ordering::Release);
    }

    /// The calling worker, whose bed it is, is about to end its thread, or has just begun it. Waits for who is about to turn it.
    pub(super) fn leaves(&self) {
        self.gets_up();
        while self.state.load(Ordering::Relaxed) == BEING_TURNED {
            yield_now();
        }
        self.gets_up();
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// A worker that sleeps again and again, two that wake it at any time, or not at all: what is noted is changed and read by one at a time, which loom checks, and in the end
    /// the thread may run where it could.
    #[test]
    fn loom_bed_who_was_turned_may_run_where_it_could() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let bed = Arc::new(Bed::new());
            let wakers = [(); 2].map(|()| {
                let bed = bed.clone();
                thread::spawn(move || bed.turns_from_here(|| true))
            });
            for _ in 0..2 {
                bed.lies_down();
                bed.gets_up();
            }
            bed.leaves();
            assert!(bed.mask.is_whole());
            wakers.into_iter().for_each(|waker| waker.join().unwrap());
            assert!(bed.mask.is_whole());
        });
    }
}

#[cfg(all(test, not(loom), target_os = "linux", not(locksley_portable)))]
mod tests {
    use super::*;

    #[test]
    fn it_is_turned_if_another_processor_is_free_and_only_while_it_is_slept_in() {
        let on = |bed: &Bed, free: bool| {
            bed.turns_from_here(|| free);
            bed.state.load(Ordering::Relaxed)
        };
        std::thread::spawn(move || {
            let bed = Bed::new();
            assert_eq!(on(&bed, true), UP);
            bed.lies_down();
            if bed.state.load(Ordering::Relaxed) == UP {
                return; // there is only one processor
            }
            bed.gets_up();
            assert_eq!(bed.state.load(Ordering::Relaxed), UP);
            bed.lies_down();
            assert_eq!(on(&bed, false), DOWN);
            assert_eq!(on(&bed, true), TURNED);
            bed.gets_up();
            bed.lies_down();
            bed.state.store(BEING_TURNED, Ordering::Relaxed);
            bed.gets_up();
            bed.lies_down();
            assert_eq!(on(&bed, true), BEING_TURNED);
            bed.state.store(TURNED, Ordering::Relaxed);
            assert_eq!(on(&bed, true), TURNED);
            bed.lies_down();
            assert_eq!(bed.state.load(Ordering::Relaxed), DOWN);
            bed.leaves();
            assert_eq!(bed.state.load(Ordering::Relaxed), UP);
        })
        .join()
        .unwrap();
    }
}
