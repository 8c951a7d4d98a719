//! Sends jobs to the workers of a pool, and unparks workers that wait.

use std::ptr::NonNull;

use super::Shared;
use crate::scheduler::Worker;
use crate::scheduler::job::Job;
use crate::sleep::WakeToken;

impl Shared {
    /// Sends a job to the pool from a thread that is not a worker.
    pub(crate) fn send(&self, job: NonNull<Job>) {
        self.send_from(None, job);
    }

    /// Sends a job to the pool. `caller` may be a worker of any pool.
    pub(crate) fn send_from(&self, caller: Option<&Worker>, job: NonNull<Job>) {
        // SAFETY: whichever thread takes a word out of an inbox runs it, once; this one is about to
        // be sent.
        self.send_back(unsafe { self.wrap(caller, job) });
    }

    /// Sends a job that was taken from a queue and not run. It keeps its stamp.
    pub(crate) fn send_back(&self, job: NonNull<Job>) {
        self.injector.send(job);
        self.sleep.notify_sent();
    }

    /// Panics if the pool is closed: then the calling thread is the only worker that is left of it.
    pub(crate) fn assert_open(&self) {
        assert!(!self.closed.is_set(), "the pool that this thread belongs to has been closed");
    }

    /// Sends a job to one worker, which alone may run it.
    pub(crate) fn send_to(&self, caller: Option<&Worker>, worker: usize, job: NonNull<Job>) {
        // SAFETY: the worker runs each word of its pinned queue once; this one is about to be sent.
        let job = unsafe { self.wrap(caller, job) };
        self.slots[worker].pinned_queue.send(job);
        self.sleep.wake(worker);
        self.unpark(worker);
    }

    /// Sends a ready task to one worker from a thread that is not a worker. Other workers may take
    /// it.
    pub(crate) fn send_ready(&self, worker: usize, job: NonNull<Job>) {
        // SAFETY: as in `send_from`.
        let job = unsafe { self.wrap(None, job) };
        self.slots[worker].inbox().send(job);
        self.sleep.notify_addressed(worker..worker + 1, None);
    }

    /// The same from a worker of this pool, with its wake token. The job keeps its stamp.
    pub(crate) fn send_ready_from(&self, worker: usize, job: NonNull<Job>, wake_token: &WakeToken) {
        self.slots[worker].inbox().send(job);
        self.sleep.notify_addressed(worker..worker + 1, Some(wake_token));
    }

    /// Unparks the thread of a slot: an event that it may wait for has happened. The caller has
    /// published the event before.
    pub(crate) fn unpark(&self, slot: usize) {
        self.slots[slot].parker().unpark();
    }
}
