//! Takes what was sent to a worker alone, to a worker, to its place, and to all.

use std::ptr::NonNull;

use super::Worker;
use crate::deque::Inbox;
use crate::scheduler::job::Job;
use crate::scheduler::search::Found;

impl Worker {
    /// Takes a job that only this worker may run.
    pub(crate) fn take_pinned(&self) -> Option<Found> {
        self.receive_from(&self.slot().pinned_tasks)
    }

    pub(crate) fn has_pinned(&self) -> bool {
        !self.slot().pinned_tasks.is_empty()
    }

    /// Takes a job from an inbox that this worker receives from.
    pub(crate) fn receive_from(&self, inbox: &Inbox<Job>) -> Option<Found> {
        let job = inbox.take()?;
        self.counters().received.increment();
        Some(Found { job, from: self.slot_index })
    }

    /// Takes a job from the deque, the pinned tasks or the inbox of this worker.
    pub(super) fn take_local(&self) -> Option<Found> {
        let found = self.take_own().or_else(|| self.take_pinned());
        found.or_else(|| self.receive_from(&self.slot().inbox))
    }

    /// Takes a job from the injector.
    pub(crate) fn take_injected(&self) -> Option<Found> {
        self.receive_from(&self.shared.injector)
    }

    /// As [`receive_from`](Self::receive_from), if the inbox is probably not empty.
    pub(crate) fn receive_at_a_glance(&self, inbox: &Inbox<Job>) -> Option<Found> {
        if inbox.is_probably_empty() { None } else { self.receive_from(inbox) }
    }

    /// Takes a job that was sent to this worker or to its place, from an inbox that is probably not
    /// empty.
    pub(crate) fn take_addressed(&self) -> Option<Found> {
        let found = self.receive_at_a_glance(&self.slot().inbox);
        found.or_else(|| self.receive_at_a_glance(&self.place_state()?.inbox))
    }

    /// Sends a ready task to this worker itself, behind its other tasks.
    pub(crate) fn send_to_back(&self, job: NonNull<Job>) {
        // SAFETY: as in `Shared::send`.
        let job = unsafe { self.shared.wrap(Some(self), job) };
        self.slot().inbox.send(job);
        self.shared.notify_addressed(Some(self), self.slot_index);
    }
}
