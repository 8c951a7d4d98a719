//! Who sits where, and what lies there.

use super::Shared;
use crate::deque::Closed;
use crate::os;
use crate::primitive::{CachePadded, Ordering};
use crate::scheduler::Slot;
use crate::scheduler::latch::Flag;

impl Shared {
    pub(crate) fn slot(&self, slot: usize) -> &Slot {
        &self.slots[slot]
    }

    /// Behind so many slots nobody has ever sat. Exact for those who pushed before the caller's last fence.
    pub(crate) fn slots_taken(&self) -> usize {
        self.slots_taken.load(Ordering::Relaxed)
    }

    /// Somebody is going to sit there, who does not push before this.
    pub(crate) fn take_slot(&self, slot: usize) {
        let mut taken = self.slots_taken();
        while taken <= slot {
            // Relaxed: whoever looks for what that one pushed has a fence between, as it has (`../../sleep/README.md`).
            match self.slots_taken.compare_exchange(
                taken,
                slot + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => taken = now,
            }
        }
    }

    pub(crate) fn taken(&self) -> &[CachePadded<Slot>] {
        &self.slots[..self.slots_taken()]
    }

    /// Whether `done` is what who sits there works until, and not the end of some task.
    pub(crate) fn is_end_of_service(&self, slot: usize, done: &Flag) -> bool {
        let end = match slot.checked_sub(self.workers) {
            None => &self.closed,
            Some(replacement) => self.replacements.is_released(replacement),
        };
        std::ptr::eq(done, end)
    }

    /// Whether any worker could take something now. Exact for what was pushed or sent before the caller's last fence.
    pub(crate) fn is_work_left(&self) -> bool {
        let is_left =
            |slot: &CachePadded<Slot>| !slot.deque().is_empty() || !slot.inbox().is_empty();
        self.taken().iter().any(is_left)
            || !self.inbox.is_empty()
            || self.place_states().iter().any(|place_state| !place_state.inbox().is_empty())
    }

    /// Has the deques opened that their owners have closed, so that what was pushed to them is seen and what will be
    /// pushed is pushed openly. `scratch` is empty before and after.
    pub(crate) fn open_deques(&self, scratch: &mut Vec<(usize, Closed)>) {
        let closed =
            |(worker, slot): (usize, &CachePadded<Slot>)| Some((worker, slot.deque().ask()?));
        scratch.extend(self.taken().iter().enumerate().filter_map(closed));
        // Where the barrier fails, the owners are asked all the same, and open with their next push or pop.
        let may_open = !scratch.is_empty() && os::heavy_barrier();
        for (worker, closed) in scratch.drain(..) {
            if may_open {
                self.slots[worker].deque().open(closed);
            }
        }
    }
}
