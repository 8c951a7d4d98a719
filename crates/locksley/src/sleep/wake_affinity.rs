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
pub(super) struct WakeAffinity {
    word: AtomicU32,
    mask: SleepersMask,
}

impl WakeAffinity {
    pub(super) fn new() -> Self {
        Self { word: AtomicU32::new(UP), mask: SleepersMask::new() }
    }

    /// The calling worker, whose wake-up affinity it is, is about to block. It is not turned if it may not run on so many processors.
    pub(super) fn begin_sleep(&self, processors: usize) {
        self.end_sleep();
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

    /// The calling worker, whose wake-up affinity it is, has got up. It waits for nobody: if somebody is about to turn it just now, that one turns it back.
    pub(super) fn end_sleep(&self) {
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
        // Acquire pairs with the release in `begin_sleep`: what was noted.
        let (being_turned, failure) = (in_state(word, BEING_TURNED), Ordering::Relaxed);
        if self.word.compare_exchange(word, being_turned, Ordering::Acquire, failure).is_err() {
            return;
        }
        // SAFETY: it was noted, and the thread does not end before this has said what has become of it (`leaves`). Nobody else does anything with it now.
        unsafe { self.mask.leave_out(here) };
        // Release pairs with the acquires in `end_sleep`.
        let turned = in_state(word, TURNED);
        if self.word.compare_exchange(being_turned, turned, Ordering::Release, failure).is_err() {
            // SAFETY: as above.
            unsafe { self.mask.give_back() };
            // Release pairs with the acquires in `begin_sleep` and `whole`.
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

    /// The calling worker, whose wake-up affinity it is, is about to end its thread, or has just begun it. Waits for who is about to turn it.
    pub(super) fn leaves(&self) {
        self.end_sleep();
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
    fn loom_wake_up_affinity_who_was_turned_may_run_where_it_could() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let wake_affinity = Arc::new(WakeAffinity::new());
            let wakers = [(); 2].map(|()| {
                let wake_affinity = wake_affinity.clone();
                thread::spawn(move || wake_affinity.turns_from_here(|| true))
            });
            for _ in 0..2 {
                wake_affinity.begin_sleep(2);
                wake_affinity.end_sleep();
            }
            wake_affinity.leaves();
            assert!(wake_affinity.mask.is_whole());
            wakers.into_iter().for_each(|waker| waker.join().unwrap());
            assert!(wake_affinity.mask.is_whole());
        });
    }
}

#[cfg(all(test, not(loom), target_os = "linux", not(locksley_portable)))]
mod tests {
    use super::*;

    #[test]
    fn it_is_turned_if_another_processor_is_free_and_only_while_it_is_slept_in() {
        let on = |wake_affinity: &WakeAffinity, free: bool| {
            wake_affinity.turns_from_here(|| free);
            state(wake_affinity.word.load(Ordering::Relaxed))
        };
        std::thread::spawn(move || {
            let wake_affinity = WakeAffinity::new();
            assert_eq!(on(&wake_affinity, true), UP);
            let at_first = wake_affinity.whole();
            assert!(at_first.is_some());
            wake_affinity.begin_sleep(2);
            if wake_affinity.whole().is_some() {
                return; // there is only one processor
            }
            wake_affinity.end_sleep();
            assert!(wake_affinity.whole().is_some() && wake_affinity.whole() != at_first);
            wake_affinity.begin_sleep(2);
            assert_eq!(on(&wake_affinity, false), DOWN);
            assert_eq!(on(&wake_affinity, true), TURNED);
            assert_eq!(wake_affinity.whole(), None);
            wake_affinity.end_sleep();
            assert!(wake_affinity.whole().is_some());
            wake_affinity.begin_sleep(2);
            let word = wake_affinity.word.load(Ordering::Relaxed);
            wake_affinity.word.store(in_state(word, BEING_TURNED), Ordering::Relaxed);
            wake_affinity.end_sleep();
            assert_eq!(on(&wake_affinity, true), LEFT);
            wake_affinity.begin_sleep(2);
            assert_eq!(on(&wake_affinity, true), LEFT);
            wake_affinity.word.store(in_state(word, UP), Ordering::Relaxed);
            wake_affinity.leaves();
            assert!(wake_affinity.whole().is_some());
        })
        .join()
        .unwrap();
    }
}
