//! The slots of a pool, and what lies in their queues.

use super::Shared;
use crate::deque::OpenRequest;
use crate::os;
use crate::primitive::{AtomicU64, Ordering};
use crate::scheduler::Slot;
use crate::trace::Event;

/// A number of slots: a hint, on which no task depends.
pub(super) struct SlotsInUse(AtomicU64);

impl SlotsInUse {
    /// The bits above the number count its raises.
    const ONE_RAISE: u64 = 1 << 32;

    pub(super) fn new(slots: usize) -> Self {
        Self(AtomicU64::new(slots as u64))
    }

    fn get(&self) -> usize {
        // Acquire pairs with the release in `raise`: the slots are made.
        self.0.load(Ordering::Acquire) as u32 as usize
    }

    fn raise(&self, slots: usize) {
        self.0.fetch_add(Self::ONE_RAISE, Ordering::Relaxed);
        let raise = |before: u64| {
            let number = before % Self::ONE_RAISE;
            (number < slots as u64).then(|| before - number + slots as u64)
        };
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, raise);
    }

    /// Leaves out free slots at the end. Does nothing if the number is raised meanwhile, since a
    /// slot that was free may then be in use.
    fn lower(&self, is_free: impl Fn(usize) -> bool) {
        let before = self.0.load(Ordering::Relaxed);
        let number = before % Self::ONE_RAISE;
        let last = (0..number as usize).rfind(|&slot| !is_free(slot));
        let after = before - number + last.map_or(0, |last| last as u64 + 1);
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let _ = self.0.compare_exchange(before, after, success, failure);
    }
}

impl Shared {
    pub(crate) fn slot(&self, slot: usize) -> &Slot {
        self.slots[slot].get().expect("a slot is made before it is taken")
    }

    /// The slot of the first replacement.
    pub(crate) fn first_replacement(&self) -> usize {
        self.workers + self.external_slots.count()
    }

    /// The number of slots up to the last one that a worker ever had. Includes the slot of each
    /// worker that pushed before the caller's last fence.
    pub(crate) fn slots_taken(&self) -> usize {
        // Acquire pairs with the release in `mark_slot_taken`: the slots are made.
        self.slots_taken.load(Ordering::Acquire)
    }

    /// Records that a worker is about to take `slot`. It does not push before this. The worker
    /// makes a fence after it has pushed, and a thread that looks for what it pushed makes one
    /// before (`../../sleep/README.md`).
    pub(crate) fn mark_slot_taken(&self, slot: usize) {
        self.slots_taken.fetch_max(slot + 1, Ordering::Release);
        self.slots_in_use.raise(slot + 1);
    }

    /// The number of slots up to the last one in use, and the thief's own. Slots above
    /// may hold tasks, too.
    pub(crate) fn slots_in_use(&self, own_slot: usize) -> usize {
        self.slots_in_use.get().max(own_slot + 1)
    }

    /// Lowers the number of slots in use, when a replacement parks. Otherwise thieves would miss
    /// more often for ever after many workers have waited or blocked at once.
    pub(crate) fn lower_slots_in_use(&self) {
        self.slots_in_use.lower(|slot| match slot.checked_sub(self.first_replacement()) {
            Some(replacement) => self.replacements.is_parked(replacement),
            None => slot >= self.workers && self.external_slots.is_free(slot - self.workers),
        });
    }

    /// The slots that workers ever had.
    pub(crate) fn taken(&self) -> impl Iterator<Item = &Slot> {
        (0..self.slots_taken()).map(|slot| self.slot(slot))
    }

    /// True if any worker could take a job now. Sees all that was pushed or sent before the
    /// caller's last fence.
    pub(crate) fn is_work_left(&self) -> bool {
        let is_left = |slot: &Slot| !slot.deque.is_empty() || !slot.inbox.is_empty();
        self.taken().any(is_left)
            || !self.injector.is_empty()
            || self.place_states().iter().any(|place_state| !place_state.inbox.is_empty())
    }

    /// Opens all closed deques: thieves see what was pushed to them, and their owners push openly
    /// from now on. `scratch` is empty before and after.
    pub(crate) fn open_deques(&self, scratch: &mut Vec<(usize, OpenRequest)>) {
        let closed = |(worker, slot): (usize, &Slot)| Some((worker, slot.deque.request_open()?));
        scratch.extend(self.taken().enumerate().filter_map(closed));
        // The system may forbid the barrier after a deque was closed. If all fails, the owner opens
        // with its next push or pop, as it was requested.
        let is_made = scratch.is_empty() || os::heavy_barrier() || os::preempt_all();
        if !is_made {
            self.trace(|| Event::LosesAssist);
        }
        for (worker, closed) in scratch.drain(..) {
            if is_made {
                self.slot(worker).deque.open(closed);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Pool;
    use crate::idle::Activity;
    use crate::pool::tests::LONGEST;

    #[test]
    fn slots_are_in_use_up_to_the_last_one_that_is_not_free() {
        let slots = SlotsInUse::new(2);
        slots.raise(7);
        slots.raise(3);
        assert_eq!(slots.get(), 7);
        slots.lower(|slot| slot > 4);
        assert_eq!(slots.get(), 5);
        // Slot 4 is taken while another thread looks for free slots.
        slots.lower(|_| {
            slots.raise(5);
            true
        });
        assert_eq!(slots.get(), 5);
    }

    #[test]
    fn replacements_that_have_parked_sleep_and_their_slots_are_not_in_use() {
        let pool = Pool::new(2).unwrap();
        let block = || crate::blocking(|| std::thread::sleep(std::time::Duration::from_millis(5)));
        pool.install(|_| crate::scope(|scope| (0..40).for_each(|_| scope.spawn(|_| block()))));
        let (shared, began) = (pool.shared(), std::time::Instant::now());
        let replacements = shared.first_replacement()..;
        assert!(replacements.contains(&shared.slots_taken()));
        let are_in_use = || replacements.contains(&shared.slots_in_use(0).saturating_sub(1));
        let is_awake = |slot: &Slot| slot.activity() != Activity::Sleeps;
        while are_in_use() || shared.taken().skip(replacements.start).any(is_awake) {
            assert!(began.elapsed() < LONGEST, "{}", shared.slots_in_use(0));
            std::thread::yield_now();
        }
    }
}
