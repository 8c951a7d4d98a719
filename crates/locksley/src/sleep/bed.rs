//! Where a worker sleeps: so that a worker with work which wakes it can have it woken on another processor than its own.

use crate::os::{SleepersMask, current_processor, yield_now};
use crate::primitive::{AtomicU32, Ordering, fence};

const UP: u32 = 0;
const DOWN: u32 = 1;
const BEING_TURNED: u32 = 2;
const TURNED: u32 = 3;
/// The worker has got up while it was being turned; who does that turns it back.
const LEFT: u32 = 4;

const STATE: u32 = 7;
/// What is above the state: how often the worker has lain down.
const ROUND: u32 = 8;

fn state(word: u32) -> u32 {
    word & STATE
}

fn in_state(word: u32, state: u32) -> u32 {
    word & !STATE | state
}

/// Where a worker sleeps. The README beside this file has the states.
#[derive(Debug)]
pub(super) struct Bed {
    word: AtomicU32,
    mask: SleepersMask,
}

impl Bed {
    pub(super) fn new() -> Self {
        Self { word: AtomicU32::new(UP), mask: SleepersMask::new() }
    }

    /// The calling worker, whose bed it is, is about to block. It is not turned if it may not run on so many processors.
    pub(super) fn lies_down(&self, processors: usize) {
        self.gets_up();
        // Acquire pairs with the last release in `turns_from_here`: who has turned it back does no more.
        let word = self.word.load(Ordering::Acquire);
        if state(word) != UP {
            return;
        }
        // SAFETY: nobody else does anything with it while the worker is up, which only it can change.
        if unsafe { self.mask.note(processors) } {
            // Release pairs with the acquire in `turns_from_here`: what was noted.
            self.word.store(in_state(word.wrapping_add(ROUND), DOWN), Ordering::Release);
        }
    }

    /// The calling worker, whose bed it is, has got up. It waits for nobody: if somebody is about to turn it just now, that one turns it back.
    pub(super) fn gets_up(&self) {
        // Acquire, twice: pairs with the release of `TURNED`. Who has turned it does no more, and what was noted is the worker's own again.
        let mut word = self.word.load(Ordering::Acquire);
        // In one round it goes from one of these states to the next, so this ends.
        loop {
            let up = match state(word) {
                DOWN => UP,
                BEING_TURNED => LEFT,
                TURNED => {
                    // SAFETY: it was noted before it was turned; who did that has done it, and nobody else does before the worker is down again.
                    unsafe { self.mask.restore() };
                    // Release pairs with the acquire in `whole`.
                    return self.word.store(in_state(word, UP), Ordering::Release);
                }
                _ => return,
            };
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            match self.word.compare_exchange(word, in_state(word, up), success, failure) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Who is about to wake the worker goes on with its work, where it is: if `is_another_free`, the worker is to be woken on another processor.
    pub(super) fn turns_from_here(&self, is_another_free: impl FnOnce() -> bool) {
        let word = self.word.load(Ordering::Relaxed);
        if state(word) != DOWN || !is_another_free() {
            return;
        }
        let Some(here) = current_processor() else { return };
        // Acquire pairs with the release in `lies_down`: what was noted.
        let (being_turned, failure) = (in_state(word, BEING_TURNED), Ordering::Relaxed);
        if self.word.compare_exchange(word, being_turned, Ordering::Acquire, failure).is_err() {
            return;
        }
        // SAFETY: it was noted, and the thread does not end before this has said what has become of it (`leaves`). Nobody else does anything with it now.
        unsafe { self.mask.leave_out(here) };
        // Release pairs with the acquires in `gets_up`.
        let turned = in_state(word, TURNED);
        if self.word.compare_exchange(being_turned, turned, Ordering::Release, failure).is_err() {
            // SAFETY: as above.
            unsafe { self.mask.give_back() };
            // Release pairs with the acquires in `lies_down` and `whole`.
            self.word.store(in_state(word, UP), Ordering::Release);
        }
    }

    /// Which time it is that the worker is up and may run on all that it may; `None` if it is not, perhaps. If this is the same before and after somebody has looked where it
    /// may run, that was all.
    pub(super) fn whole(&self) -> Option<u32> {
        fence(Ordering::SeqCst);
        // Acquire pairs with the releases of `UP`: what was left out is given back.
        let word = self.word.load(Ordering::Acquire);
        fence(Ordering::SeqCst);
        (state(word) == UP).then_some(word)
    }

    /// The calling worker, whose bed it is, is about to end its thread, or has just begun it. Waits for who is about to turn it.
    pub(super) fn leaves(&self) {
        self.gets_up();
        while state(self.word.load(Ordering::Acquire)) != UP {
            yield_now();
        }
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
                bed.lies_down(2);
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
            state(bed.word.load(Ordering::Relaxed))
        };
        std::thread::spawn(move || {
            let bed = Bed::new();
            assert_eq!(on(&bed, true), UP);
            let at_first = bed.whole();
            assert!(at_first.is_some());
            bed.lies_down(2);
            if bed.whole().is_some() {
                return; // there is only one processor
            }
            bed.gets_up();
            assert!(bed.whole().is_some() && bed.whole() != at_first);
            bed.lies_down(2);
            assert_eq!(on(&bed, false), DOWN);
            assert_eq!(on(&bed, true), TURNED);
            assert_eq!(bed.whole(), None);
            bed.gets_up();
            assert!(bed.whole().is_some());
            bed.lies_down(2);
            let word = bed.word.load(Ordering::Relaxed);
            bed.word.store(in_state(word, BEING_TURNED), Ordering::Relaxed);
            bed.gets_up();
            assert_eq!(on(&bed, true), LEFT);
            bed.lies_down(2);
            assert_eq!(on(&bed, true), LEFT);
            bed.word.store(in_state(word, UP), Ordering::Relaxed);
            bed.leaves();
            assert!(bed.whole().is_some());
        })
        .join()
        .unwrap();
    }
}
