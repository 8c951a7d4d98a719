//! What lies in the queues of a pool.

use std::ptr::NonNull;

use super::Shared;
use super::slot::SlotState;
use crate::deque::OpenRequest;
use crate::header::Job;
use crate::numbers::{Index, Slot};
use crate::os;
use crate::primitive::Ordering;
use crate::sleep::WakeToken;
use crate::trace::Event;

impl Shared {
    pub(crate) fn slot(&self, slot: Slot) -> &SlotState {
        self.slots[slot.get()].get().expect("a slot is made before it is taken")
    }

    /// Makes the state of the slot, if it was not made.
    pub(crate) fn make_slot(&self, slot: Slot, make: impl FnOnce() -> Box<SlotState>) {
        // Not `get_or_init`: a thread that is suspended in there would block others.
        if self.slots[slot.get()].get().is_none() {
            let _ = self.slots[slot.get()].set(make());
        }
    }

    /// The number of slots up to the last one that a thread ever had. Includes the slot of each
    /// thread that pushed before the caller's last fence.
    pub(crate) fn slots_taken(&self) -> usize {
        // Acquire pairs with the release in `mark_slot_taken`: the slots are made.
        self.slots_taken.load(Ordering::Acquire)
    }

    /// Records that a thread is about to take `slot`. All slots below are made. It does not push
    /// before this. The thread makes a fence after it has pushed, and a thread that looks for what
    /// it pushed makes one before (`../sleep/README.md`).
    pub(crate) fn mark_slot_taken(&self, slot: Slot) {
        if self.slots_taken() <= slot.get() {
            self.slots_taken.fetch_max(slot.get() + 1, Ordering::Release);
        }
    }

    /// The slots that threads ever had.
    pub(crate) fn taken(&self) -> impl Iterator<Item = &SlotState> {
        (0..self.slots_taken()).map(|slot| self.slot(Slot::new(slot)))
    }

    /// True if any worker could take a job now. Sees all that was pushed or sent before the
    /// caller's last fence.
    pub(crate) fn is_work_left(&self) -> bool {
        let is_left = |slot: &SlotState| !slot.deque.is_empty() || !slot.inbox.is_empty();
        !self.injector.is_empty()
            || self.taken().any(is_left)
            || self.place_states().iter().any(|place_state| !place_state.inbox.is_empty())
    }

    /// Opens all closed deques: thieves see what was pushed to them, and their owners push openly
    /// from now on. `scratch` is empty before and after.
    pub(crate) fn open_deques(&self, scratch: &mut Vec<(Slot, OpenRequest)>) {
        let slots = (0..self.slots_taken()).map(Slot::new);
        let closed = |slot: Slot| Some((slot, self.slot(slot).deque.request_open()?));
        scratch.extend(slots.filter_map(closed));
        // The system may forbid the barrier after a deque was closed. If all fails, the owner opens
        // with its next push or pop, as it was requested.
        let is_made = scratch.is_empty() || os::heavy_barrier() || os::preempt_all();
        if !is_made {
            self.trace(|| Event::LosesAssist);
        }
        for (slot, closed) in scratch.drain(..) {
            if is_made {
                self.slot(slot).deque.open(closed);
            }
        }
    }

    /// Puts a job into the injector. The job is wrapped already, if the pool is observed.
    pub(crate) fn inject(&self, job: NonNull<Job>) {
        self.injector.send(job);
        self.sleep.notify_sent();
    }

    /// Puts a job into the inbox of a worker. Other workers may take the job. `wake_token` is that
    /// of the calling worker, if it belongs to the pool.
    pub(crate) fn send_to_inbox(
        &self,
        wake_token: Option<&WakeToken>,
        index: Index,
        job: NonNull<Job>,
    ) {
        self.slot(index.slot()).inbox.send(job);
        self.sleep.notify_addressed(&(index.get()..index.get() + 1), wake_token);
    }
}
