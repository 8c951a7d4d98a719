//! Sends jobs to the workers of a pool, and unparks workers that wait.

use std::ptr::{self, NonNull};

use super::Shared;
use crate::scheduler::Worker;
use crate::scheduler::job::Job;
use crate::trace::Event;

impl Shared {
    /// The calling worker, if it belongs to this pool.
    #[inline]
    pub(crate) fn own_worker<'w>(&self, current: Option<&'w Worker>) -> Option<&'w Worker> {
        current.filter(|worker| ptr::eq(&**worker.shared(), self))
    }

    /// Makes a job available to all workers. `current` is the calling worker, of any pool.
    #[inline]
    pub(crate) fn push_or_send(&self, current: Option<&Worker>, job: NonNull<Job>) {
        match self.own_worker(current) {
            Some(own) => own.push_next(job),
            None => self.send(current, job),
        }
    }

    /// Sends a job to the pool. `current` is the calling worker, of any pool.
    pub(crate) fn send(&self, current: Option<&Worker>, job: NonNull<Job>) {
        // SAFETY: whichever thread takes a word out of an inbox runs it, once; this one is about to
        // be sent.
        self.send_back(unsafe { self.wrap(current, job) });
    }

    /// Puts a job into the injector as it is: it keeps the stamp of an observer.
    pub(crate) fn send_back(&self, job: NonNull<Job>) {
        self.injector.send(job);
        self.sleep.notify_injected();
    }

    /// Panics if the pool is closed: then the calling thread is the only worker that is left of it.
    pub(crate) fn assert_open(&self) {
        assert!(!self.closed.is_set(), "the pool that this thread belongs to has been closed");
    }

    /// Sends a job to one worker, which alone may run it.
    pub(crate) fn send_to(&self, current: Option<&Worker>, worker: usize, job: NonNull<Job>) {
        // SAFETY: the worker runs each word of its pinned tasks once; this one is about to be sent.
        let job = unsafe { self.wrap(current, job) };
        self.external_slots.forbid_external_threads();
        self.slot(worker).pinned_tasks.send(job);
        self.sleep.wake_own_thread(worker);
        // The thread may also be blocked in a wait, while a replacement works.
        self.unpark(worker);
    }

    /// Sends a ready task to one worker. Other workers may take it. `current` is the calling
    /// worker, if it belongs to this pool.
    pub(crate) fn send_ready(&self, current: Option<&Worker>, worker: usize, job: NonNull<Job>) {
        // SAFETY: as in `send`.
        let job = unsafe { self.wrap(current, job) };
        if let Err(job) = self.slot(worker).deque.push_from_any(job) {
            self.slot(worker).inbox.send(job);
        }
        self.notify_addressed(current, worker);
    }

    /// Wakes a worker for a task that was sent to this one.
    pub(crate) fn notify_addressed(&self, current: Option<&Worker>, worker: usize) {
        let wake_token = current.map(|worker| &worker.wake_token);
        self.sleep.notify_addressed(worker..worker + 1, false, wake_token);
    }

    /// Unparks the thread of a slot: an event that it may wait for has happened. The caller has
    /// published the event before.
    pub(crate) fn unpark(&self, slot: usize) {
        self.slot(slot).parker.unpark(|| self.trace(|| Event::Signals(slot)));
    }
}
