//! Sends jobs to the workers of a pool, and unparks workers that wait.

use std::ptr::{self, NonNull};

use super::Shared;
use crate::scheduler::Worker;
use crate::scheduler::job::Job;
use crate::trace::Event;

impl Shared {
    /// The caller, if it is a worker of this pool.
    #[inline]
    pub(crate) fn own_worker<'w>(&self, caller: Option<&'w Worker>) -> Option<&'w Worker> {
        caller.filter(|caller| ptr::eq(&**caller.shared(), self))
    }

    /// Makes a job available to all workers. `caller` is the calling worker, of any pool.
    #[inline]
    pub(crate) fn push_or_send(&self, caller: Option<&Worker>, job: NonNull<Job>) {
        match self.own_worker(caller) {
            Some(own) => own.push_next(job),
            None => self.send(caller, job),
        }
    }

    /// Sends a job to the pool. `caller` is the calling worker, of any pool.
    pub(crate) fn send(&self, caller: Option<&Worker>, job: NonNull<Job>) {
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
        self.callers.stop();
        self.slots[worker].pinned_queue.send(job);
        self.sleep.wake_own_thread(worker);
        self.unpark(worker);
    }

    /// Sends a ready task to one worker. Other workers may take it. `caller` is the calling
    /// worker, if it belongs to this pool.
    pub(crate) fn send_ready(&self, caller: Option<&Worker>, worker: usize, job: NonNull<Job>) {
        // SAFETY: as in `send`.
        let job = unsafe { self.wrap(caller, job) };
        self.slots[worker].inbox.send(job);
        let wake_token = caller.map(|caller| &caller.wake_token);
        self.sleep.notify_addressed(worker..worker + 1, wake_token);
    }

    /// Unparks the thread of a slot: an event that it may wait for has happened. The caller has
    /// published the event before.
    pub(crate) fn unpark(&self, slot: usize) {
        self.slots[slot].parker.unpark(|| self.trace(|| Event::Signals(slot)));
    }
}
