//! Lets a waker keep the thread that it wakes off its own processor.

use crate::os::{SleepersMask, current_processor, yield_now};
use crate::primitive::{AtomicU32, Ordering, fence};

/// The worker is awake, and nothing is changed about its affinity.
const AWAKE: u32 = 0;
/// The worker sleeps, and has noted its affinity.
const ASLEEP: u32 = 1;
/// A waker is narrowing the affinity.
const NARROWING: u32 = 2;
/// The affinity is narrowed. The worker restores it when it wakes up.
const NARROWED: u32 = 3;
/// The worker woke up while its affinity was being narrowed. The waker restores it.
const ABANDONED: u32 = 4;

const STATE: u32 = 7;
/// The bits above the state count the sleeps of the worker.
const ONE_SLEEP: u32 = 8;

fn state(word: u32) -> u32 {
    word & STATE
}

fn with_state(word: u32, state: u32) -> u32 {
    word & !STATE | state
}

/// The state of one worker's affinity while it sleeps. The README beside this file draws the
/// states.
#[derive(Debug)]
pub(super) struct WakeAffinity {
    word: AtomicU32,
    mask: SleepersMask,
}

impl WakeAffinity {
    pub(super) fn new() -> Self {
        Self { word: AtomicU32::new(AWAKE), mask: SleepersMask::new() }
    }

    /// Notes the affinity of the calling worker, which is about to park. Does nothing if it may not
    /// run on so many `processors`: a waker could not tell that one of its processors is idle.
    pub(super) fn begin_sleep(&self, processors: usize) {
        self.end_sleep();
        // Acquire pairs with the last release in `exclude_own_processor`: the waker that restored
        // the affinity is done with the mask.
        let word = self.word.load(Ordering::Acquire);
        if state(word) != AWAKE {
            return;
        }
        // SAFETY: no other thread uses the mask while the state is `AWAKE`, which only this worker
        // leaves.
        if unsafe { self.mask.note(processors) } {
            // Release pairs with the acquire in `exclude_own_processor`: the mask.
            let asleep = with_state(word.wrapping_add(ONE_SLEEP), ASLEEP);
            self.word.store(asleep, Ordering::Release);
        }
    }

    /// Restores the affinity of the calling worker, which has woken up. Does not wait: a waker that
    /// is narrowing the affinity just now restores it itself.
    pub(super) fn end_sleep(&self) {
        let next = |word| match state(word) {
            ASLEEP => Some(with_state(word, AWAKE)),
            NARROWING => Some(with_state(word, ABANDONED)),
            _ => None,
        };
        // Acquire pairs with the release of `NARROWED`: that waker is done with the mask. During
        // one sleep the states only advance, so this ends.
        let changed = self.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        if let Err(word) = changed
            && state(word) == NARROWED
        {
            // SAFETY: the mask was noted before the affinity was narrowed. The waker that narrowed
            // it is done, and no other starts before the next `ASLEEP`.
            unsafe { self.mask.restore() };
            // Release pairs with the acquire in `unrestricted_epoch`.
            self.word.store(with_state(word, AWAKE), Ordering::Release);
        }
    }

    /// Removes the processor of the calling thread from the affinity of the sleeping worker, if
    /// `is_another_idle`. The caller is about to wake that worker.
    pub(super) fn exclude_own_processor(&self, is_another_idle: impl FnOnce() -> bool) {
        let word = self.word.load(Ordering::Relaxed);
        if state(word) != ASLEEP || !is_another_idle() {
            return;
        }
        let Some(here) = current_processor() else { return };
        // Acquire pairs with the release in `begin_sleep`: the mask.
        let (narrowing, failure) = (with_state(word, NARROWING), Ordering::Relaxed);
        if self.word.compare_exchange(word, narrowing, Ordering::Acquire, failure).is_err() {
            return;
        }
        // SAFETY: the mask was noted, and `NARROWING` gives this thread the exclusive use of it.
        // The sleeping thread does not end before the state is left (`settle`).
        unsafe { self.mask.leave_out(here) };
        // Release pairs with the acquires in `end_sleep`.
        let narrowed = with_state(word, NARROWED);
        if self.word.compare_exchange(narrowing, narrowed, Ordering::Release, failure).is_err() {
            // SAFETY: `ABANDONED` leaves the exclusive use of the noted mask to this thread, and
            // the thread that it belongs to does not end before (`settle`).
            unsafe { self.mask.restore() };
            // Release pairs with the acquires in `begin_sleep` and `unrestricted_epoch`.
            self.word.store(with_state(word, AWAKE), Ordering::Release);
        }
    }

    /// The number of the current interval in which the worker is awake and its affinity is not
    /// narrowed; `None` outside of such intervals.
    ///
    /// If it is the same before and after a thread has read the worker's affinity, that was the
    /// unrestricted one.
    pub(super) fn unrestricted_epoch(&self) -> Option<u32> {
        // Keeps an earlier read of the affinity before the load. If that saw the result of the
        // system call in `exclude_own_processor`, this sees the word, which was changed before.
        fence(Ordering::SeqCst);
        // Acquire pairs with the releases of `AWAKE`: the affinity is restored.
        let word = self.word.load(Ordering::Acquire);
        (state(word) == AWAKE).then_some(word)
    }

    /// Waits until no waker changes the affinity of the calling thread. The thread calls this
    /// before it ends, since its number may then become another thread's, and when it takes a slot.
    pub(super) fn settle(&self) {
        self.end_sleep();
        while state(self.word.load(Ordering::Acquire)) != AWAKE {
            yield_now();
        }
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(loom), target_os = "linux", not(locksley_portable)))]
mod tests {
    use super::*;

    #[test]
    fn an_affinity_is_narrowed_only_during_sleep_and_only_if_another_processor_is_idle() {
        let state_after_wake = |wake_affinity: &WakeAffinity, is_another_idle: bool| {
            wake_affinity.exclude_own_processor(|| is_another_idle);
            state(wake_affinity.word.load(Ordering::Relaxed))
        };
        std::thread::spawn(move || {
            let wake_affinity = WakeAffinity::new();
            assert_eq!(state_after_wake(&wake_affinity, true), AWAKE);
            let first_epoch = wake_affinity.unrestricted_epoch();
            assert!(first_epoch.is_some());
            wake_affinity.begin_sleep(2);
            if state(wake_affinity.word.load(Ordering::Relaxed)) == AWAKE {
                return; // there is only one processor
            }
            assert_eq!(wake_affinity.unrestricted_epoch(), None);
            wake_affinity.end_sleep();
            let second_epoch = wake_affinity.unrestricted_epoch();
            assert!(second_epoch.is_some() && second_epoch != first_epoch);
            wake_affinity.begin_sleep(2);
            assert_eq!(state_after_wake(&wake_affinity, false), ASLEEP);
            assert_eq!(state_after_wake(&wake_affinity, true), NARROWED);
            assert_eq!(wake_affinity.unrestricted_epoch(), None);
            wake_affinity.end_sleep();
            assert!(wake_affinity.unrestricted_epoch().is_some());
            wake_affinity.begin_sleep(2);
            let word = wake_affinity.word.load(Ordering::Relaxed);
            wake_affinity.word.store(with_state(word, NARROWING), Ordering::Relaxed);
            wake_affinity.end_sleep();
            assert_eq!(state_after_wake(&wake_affinity, true), ABANDONED);
            wake_affinity.begin_sleep(2);
            assert_eq!(state_after_wake(&wake_affinity, true), ABANDONED);
            wake_affinity.word.store(with_state(word, AWAKE), Ordering::Relaxed);
            wake_affinity.settle();
            assert!(wake_affinity.unrestricted_epoch().is_some());
        })
        .join()
        .unwrap();
    }
}
