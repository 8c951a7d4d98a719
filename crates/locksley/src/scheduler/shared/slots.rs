//! The slots of a pool, and what lies in their queues.

use super::Shared;
use crate::deque::OpenRequest;
use crate::os;
use crate::primitive::{CachePadded, Ordering};
use crate::scheduler::Slot;
use crate::trace::Event;

impl Shared {
    pub(crate) fn slot(&self, slot: usize) -> &Slot {
        &self.slots[slot]
    }

    /// The slot of the first replacement.
    pub(crate) fn first_replacement(&self) -> usize {
        self.workers + self.callers.slots()
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
        self.slots_taken.fetch_max(slot + 1, Ordering::Relaxed);
    }

    /// The slots that workers ever had.
    pub(crate) fn taken(&self) -> &[CachePadded<Slot>] {
        &self.slots[..self.slots_taken()]
    }

    /// True if any worker could take a job now. Sees all that was pushed or sent before the
    /// caller's last fence.
    pub(crate) fn is_work_left(&self) -> bool {
        let is_left = |slot: &CachePadded<Slot>| !slot.deque.is_empty() || !slot.inbox.is_empty();
        self.taken().iter().any(is_left)
            || !self.injector.is_empty()
            || self.place_states().iter().any(|place_state| !place_state.inbox.is_empty())
    }

    /// Opens all closed deques: thieves see what was pushed to them, and their owners push openly
    /// from now on. `scratch` is empty before and after.
    pub(crate) fn open_deques(&self, scratch: &mut Vec<(usize, OpenRequest)>) {
        let closed = |(worker, slot): (usize, &CachePadded<Slot>)| {
            Some((worker, slot.deque.request_open()?))
        };
        scratch.extend(self.taken().iter().enumerate().filter_map(closed));
        // The system may forbid the barrier after a deque was closed. If all fails, the owner opens
        // with its next push or pop, as it was requested.
        let is_made = scratch.is_empty() || os::heavy_barrier() || os::preempt_all();
        if !is_made {
            self.trace(|| Event::LosesAssist);
        }
        for (worker, closed) in scratch.drain(..) {
            if is_made {
                self.slots[worker].deque.open(closed);
            }
        }
    }
}
