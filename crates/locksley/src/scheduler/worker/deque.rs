//! What a worker pushes to its own deque, and takes back.

use std::ptr::NonNull;

use super::Worker;
use crate::deque::{SlowPush, Steal};
use crate::idle::Activity;
use crate::scheduler::job::{Job, JobFifo};
use crate::scheduler::search::Found;
use crate::unwind::AbortOnUnwind;

impl Worker {
    /// Makes a job available to all workers.
    pub(crate) fn push(&self, job: NonNull<Job>) {
        let pushed = self.deque.push(job);
        if pushed.is_complete {
            return;
        }
        if self.observer().is_none() {
            return self.after_slow_push(pushed.index);
        }
        // SAFETY: pushes of an observed worker are redirected, so no thread has seen the word; the
        // thread that takes the new word runs it once.
        self.push_real(unsafe { self.shared.wrap(Some(self), job) });
    }

    /// Makes a job available to all workers, even if pushes are redirected. The job keeps its
    /// stamp. Returns the index.
    #[inline]
    pub(crate) fn push_real(&self, job: NonNull<Job>) -> i64 {
        let pushed = self.deque.push_real(job);
        if !pushed.is_complete {
            self.after_slow_push(pushed.index);
        }
        pushed.index
    }

    /// As [`push`](Self::push), for a task that the running one spawned or made ready, and that
    /// comes next when the running one waits. If it is the only task, thieves leave it alone for a
    /// grace period.
    pub(crate) fn push_next(&self, job: NonNull<Job>) {
        self.slot().mark_run_next(self.deque.bottom());
        self.push(job);
    }

    /// Makes a job available to all workers; it begins after the jobs that this worker pushed to
    /// `fifo` before.
    ///
    /// # Safety
    /// `fifo` is alive until all its jobs have begun.
    pub(crate) unsafe fn push_fifo(&self, fifo: &JobFifo, job: NonNull<Job>) {
        // SAFETY: about to be pushed; the thread that takes a word of the queue runs it once.
        let job = unsafe { self.shared.wrap(Some(self), job) };
        // SAFETY: as the caller promises; the word is pushed here.
        let word = unsafe { fifo.push(job) };
        // The word may stand for another job than this one.
        self.push_real(word);
    }

    /// Completes a push that took the slow path.
    pub(crate) fn after_slow_push(&self, index: i64) {
        // The job may lie in a frame, and other threads may have it already.
        let abort = AbortOnUnwind("a deque cannot grow");
        match self.deque.after_slow_push(index) {
            SlowPush::Closed => {}
            SlowPush::Open => {
                self.shared.sleep.notify_pushed_or_close(&self.deque, &self.wake_token);
            }
            SlowPush::Full(job) => self.execute(Found { job, from: self.slot_index }),
        }
        abort.disarm();
    }

    /// Makes a job available that this worker has made ready, and that ran last on the worker
    /// `home`.
    pub(crate) fn push_at_home(&self, home: usize, job: NonNull<Job>) {
        // If polls are brief, the task stays here: to send it costs more than to run it. So it does
        // if neither this worker nor `home` has other work; then the first of the two takes it. Not
        // if `home` sleeps: then it has to be woken, which a push may leave out.
        // A deque with a lock takes all that is sent: exactly WS-LAST.
        let is_brief = self.has_brief_polls.get() && self.slot().deque.has_bounds();
        let searches = || self.shared.slot(home).activity() == Activity::Searches;
        if home == self.index() || is_brief || self.is_about_to_search() && searches() {
            self.push_next(job);
        } else {
            self.shared.send_ready(Some(self), home, job);
        }
    }

    /// Takes the newest job of the deque.
    pub(crate) fn take_newest(&self) -> Option<Found> {
        self.deque.pop_newest().map(|job| Found { job, from: self.slot_index })
    }

    /// Takes the next job of the deque, in the order that the pool is built with.
    #[inline]
    pub(crate) fn take_own(&self) -> Option<Found> {
        if self.shared.config.oldest_first { self.take_oldest() } else { self.take_newest() }
    }

    /// Takes the oldest job of the deque.
    #[cold]
    pub(super) fn take_oldest(&self) -> Option<Found> {
        self.deque.open(); // it steals from itself
        loop {
            match self.slot().deque.steal_oldest() {
                Steal::Taken(job) => return Some(Found { job, from: self.slot_index }),
                Steal::Empty => return None,
                Steal::Lost | Steal::Closed => {} // a thief was faster
            }
        }
    }

    /// True if the worker's deque holds tasks.
    ///
    /// # Examples
    /// ```
    /// locksley::Pool::new(1)?.install(|worker| {
    ///     assert!(!worker.has_own_tasks());
    ///     locksley::spawn(|| ());
    ///     assert!(worker.has_own_tasks());
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn has_own_tasks(&self) -> bool {
        !self.slot().deque.is_empty()
    }

    /// True if the worker has no task but the present one, and searches after that.
    pub(crate) fn is_about_to_search(&self) -> bool {
        let comes_back = !self.is_borrowed && self.has_replacement.get().is_none();
        comes_back && self.slot().has_empty_deque() && self.slot().pinned_tasks.is_probably_empty()
    }
}
