//! Jobs are sent, and waiting workers are woken.

use std::ptr::NonNull;

use super::Shared;
use crate::scheduler::Worker;
use crate::scheduler::job::Job;
use crate::sleep::WakeToken;

impl Shared {
    /// Hands a job to the pool from outside.
    pub(crate) fn send(&self, job: NonNull<Job>) {
        self.send_from(None, job);
    }

    /// The same, by that worker, of whatever pool.
    pub(crate) fn send_from(&self, caller: Option<&Worker>, job: NonNull<Job>) {
        // SAFETY: whichever thread takes a word out of an inbox runs it, once; this one is about to
        // be sent.
        self.send_back(unsafe { self.wrapped(caller, job) });
    }

    /// Hands on a job that was taken and not run.
    pub(crate) fn send_back(&self, job: NonNull<Job>) {
        self.inbox.send(job);
        self.sleep.notify_sent();
    }

    /// Panics on a thread that has outlived the pool whose worker it is: no other worker is there any
    /// more.
    pub(crate) fn must_be_open(&self) {
        assert!(!self.closed.is_set(), "the pool that this thread belongs to has been closed");
    }

    /// Hands a job to one worker, which alone runs it.
    pub(crate) fn send_to(&self, caller: Option<&Worker>, worker: usize, job: NonNull<Job>) {
        // SAFETY: the worker runs what is in its pinned queue, once; and this is about to be sent.
        let job = unsafe { self.wrapped(caller, job) };
        self.slots[worker].pinned_queue.send(job);
        self.sleep.wake(worker);
        self.unpark(worker);
    }

    /// Hands a ready task to one worker, from outside; others may take it too.
    pub(crate) fn send_ready(&self, worker: usize, job: NonNull<Job>) {
        // SAFETY: as in `send_from`.
        let job = unsafe { self.wrapped(None, job) };
        self.slots[worker].inbox().send(job);
        self.sleep.notify_addressed(worker, None);
    }

    /// The same, by a worker of this pool. The job keeps its stamp.
    pub(crate) fn pass_on(&self, worker: usize, job: NonNull<Job>, wake_token: &WakeToken) {
        self.slots[worker].inbox().send(job);
        self.sleep.notify_addressed(worker, Some(wake_token));
    }

    /// What the thread of a slot may wait for has happened, and that was published before.
    pub(crate) fn unpark(&self, slot: usize) {
        self.slots[slot].parker().unpark();
    }
}
