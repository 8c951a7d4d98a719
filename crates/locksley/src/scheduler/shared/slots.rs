//! The slots of a pool, and what lies in their queues.

use super::Shared;
use crate::deque::OpenRequest;
use crate::os;
use crate::primitive::{CachePadded, Ordering};
use crate::scheduler::Slot;
use crate::scheduler::latch::Flag;

impl Shared {
    pub(crate) fn slot(&self, slot: usize) -> &Slot {
        &self.slots[slot]
    }

    /// The number of slots up to the last one that a worker ever had. Includes the slot of each
    /// worker that pushed before the caller's last fence.
    pub(crate) fn slots_taken(&self) -> usize {
        self.slots_taken.load(Ordering::Relaxed)
    }

    /// Records that a worker is about to take `slot`. It does not push before this.
    pub(crate) fn mark_slot_taken(&self, slot: usize) {
        // Relaxed: the worker makes a fence after it has pushed, and a thread that looks for what
        // it pushed makes one before (`../../sleep/README.md`).
        let mut taken = self.slots_taken();
        while taken <= slot {
            let relaxed = Ordering::Relaxed;
            match self.slots_taken.compare_exchange(taken, slot + 1, relaxed, relaxed) {
                Ok(_) => return,
                Err(now) => taken = now,
            }
        }
    }

    /// The slots that workers ever had.
    pub(crate) fn taken(&self) -> &[CachePadded<Slot>] {
        &self.slots[..self.slots_taken()]
    }

    /// True if `done` ends the service of the worker in `slot`, and not the wait for some task.
    pub(crate) fn is_end_of_service(&self, slot: usize, done: &Flag) -> bool {
        let end = match slot.checked_sub(self.workers) {
            None => &self.closed,
            Some(replacement) => self.replacements.released(replacement),
        };
        std::ptr::eq(done, end)
    }

    /// True if any worker could take a job now. Sees all that was pushed or sent before the
    /// caller's last fence.
    pub(crate) fn is_work_left(&self) -> bool {
        let is_left =
            |slot: &CachePadded<Slot>| !slot.deque().is_empty() || !slot.inbox().is_empty();
        self.taken().iter().any(is_left)
            || !self.injector.is_empty()
            || self.place_states().iter().any(|place_state| !place_state.inbox().is_empty())
    }

    /// Opens all closed deques: thieves see what was pushed to them, and their owners push openly
    /// from now on. `scratch` is empty before and after.
    pub(crate) fn open_deques(&self, scratch: &mut Vec<(usize, OpenRequest)>) {
        let closed = |(worker, slot): (usize, &CachePadded<Slot>)| {
            Some((worker, slot.deque().request_open()?))
        };
        scratch.extend(self.taken().iter().enumerate().filter_map(closed));
        // If the barrier fails, the owners open with their next push or pop, as they were
        // requested.
        let may_open = !scratch.is_empty() && os::heavy_barrier();
        for (worker, closed) in scratch.drain(..) {
            if may_open {
                self.slots[worker].deque().open(closed);
            }
        }
    }
}
