//! What is sent to a worker alone, to a worker first, to its place, and to all.

use std::ptr::NonNull;

use super::Worker;
use crate::deque::Inbox;
use crate::scheduler::job::Job;
use crate::scheduler::search::Found;

impl Worker {
    /// What was sent to this worker and to no other.
    pub(crate) fn take_pinned(&self) -> Option<Found> {
        let job = self.pinned_tasks.take()?;
        self.counters().received.increment();
        Some(Found { job, from: self.index })
    }

    pub(crate) fn has_pinned(&self) -> bool {
        !self.pinned_tasks.is_empty()
    }

    /// A job from this worker's inbox, or from the pool's.
    pub(crate) fn receive_from(&self, inbox: &Inbox<Job>) -> Option<Found> {
        let job = inbox.take()?;
        self.counters().received.increment();
        Some(Found { job, from: self.index })
    }

    pub(super) fn take_local(&self) -> Option<Found> {
        let found = self.take_own().or_else(|| self.take_pinned());
        found.or_else(|| self.receive_from(self.slot().inbox()))
    }

    /// What was sent to all.
    pub(crate) fn take_sent(&self) -> Option<Found> {
        self.receive_from(self.shared.inbox())
    }

    /// A ready task that was sent to this worker, or to its place, if one is seen at a glance.
    pub(crate) fn take_addressed(&self) -> Option<Found> {
        let at_a_glance =
            |inbox: &Inbox<Job>| if inbox.looks_empty() { None } else { self.receive_from(inbox) };
        let found = at_a_glance(self.slot().inbox());
        found.or_else(|| at_a_glance(self.place_state()?.inbox()))
    }

    /// Sends a ready task to another worker; any may take it.
    pub(crate) fn send_ready(&self, worker: usize, job: NonNull<Job>) {
        // SAFETY: whichever thread takes a word out of an inbox runs it, once; this one is about to
        // be sent.
        let job = unsafe { self.shared.wrapped(Some(self), job) };
        self.shared.pass_on(worker, job, &self.wake_token);
    }

    /// Puts a ready task behind those that this worker has.
    pub(crate) fn send_to_back(&self, job: NonNull<Job>) {
        self.send_ready(self.index, job);
    }
}
