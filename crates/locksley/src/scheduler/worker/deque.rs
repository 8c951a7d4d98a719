//! A worker's own deque: what it pushes there, and what it takes back.

use std::ptr::NonNull;

use super::Worker;
use crate::deque::{Closable as _, SlowPush, Steal, TakeBack};
use crate::idle::Activity;
use crate::scheduler::job::{Job, Line};
use crate::scheduler::observed;
use crate::scheduler::search::Found;
use crate::unwind::AbortOnUnwind;

impl Worker {
    /// Makes a job available to all workers.
    pub(crate) fn push(&self, job: NonNull<Job>) {
        let (index, is_done) = self.fork(job);
        if is_done {
            return;
        }
        match self.stamp() {
            None => self.after_slow_push(index),
            // SAFETY: pushes of an observed worker are redirected, so no thread has seen the word;
            // whichever takes what is pushed runs it once.
            Some(stamp) => drop(self.push_real(unsafe { observed::wrapped(job, stamp) })),
        }
    }

    /// Makes a job available to all workers, whether pushes are redirected or not. The job keeps its
    /// stamp. Returns the index.
    #[inline]
    pub(crate) fn push_real(&self, job: NonNull<Job>) -> i64 {
        let (index, is_done) = self.deque.push_real(job);
        if !is_done {
            self.after_slow_push(index);
        }
        index
    }

    /// As [`push`](Self::push), for a task that has become ready through the running one, and comes
    /// next if that one waits: for a moment thieves leave it, if there is nothing else.
    pub(crate) fn push_next(&self, job: NonNull<Job>) {
        self.slot().mark_run_next(self.deque_end());
        self.push(job);
    }

    /// Makes a job available to all workers, after those that this worker has put into the line.
    ///
    /// # Safety
    /// The line is this worker's, and is alive until all jobs in it have begun.
    pub(crate) unsafe fn push_in_line(&self, line: &Line, job: NonNull<Job>) {
        // SAFETY: about to be enqueued; whichever thread takes a word of the line runs it, once.
        let job = unsafe { self.shared.wrapped(Some(self), job) };
        // SAFETY: as the caller promises; the word is pushed here.
        let word = unsafe { line.enqueue(job) };
        // The word may stand for another job than this one.
        self.push_real(word);
    }

    /// Adds a fork to the deque, at the index that is returned. Also says whether that was all: if
    /// not, the deque has to grow or to open, or pushes are redirected, and nothing was added.
    #[inline]
    pub(crate) fn fork(&self, job: NonNull<Job>) -> (i64, bool) {
        self.deque.push(job)
    }

    pub(crate) fn after_slow_push(&self, index: i64) {
        // The job may lie in a frame, and other threads may have it already.
        let abort = AbortOnUnwind("a deque cannot grow");
        match self.deque.after_slow_push(index) {
            SlowPush::Closed => {}
            SlowPush::Open => {
                self.shared.sleep().notify_pushed_openly(&self.deque, &self.wake_token);
            }
            SlowPush::Full(job) => self.execute(Found { job, from: self.index }),
        }
        abort.disarm();
    }

    /// Makes a job available that has become ready here, and belongs to the worker `home`.
    pub(crate) fn push_at_home(&self, home: usize, job: NonNull<Job>) {
        if home != self.index() && !self.may_keep(home) {
            return self.send_ready(home, job);
        }
        self.push_next(job);
    }

    /// Whether neither this worker nor the `home` of a task has anything else to do: then the task
    /// stays here for a moment, and the first of the two takes it.
    pub(crate) fn may_keep(&self, home: usize) -> bool {
        // A sleeping worker is woken: pushes may leave that to workers that are awake.
        self.is_about_to_search() && self.shared.slot(home).activity() == Activity::Searches
    }

    /// Takes back what was pushed to `index`, if that is the newest job here. The caller knows that
    /// this worker has not run it.
    #[inline]
    pub(crate) fn take_back(&self, index: i64) -> TakeBack {
        self.deque.take_back(index)
    }

    /// Decides which side has the job that [`take_back`](Self::take_back) found contended.
    pub(crate) fn take_lowered(&self, index: i64) -> bool {
        self.deque.pop_lowered(index).is_some()
    }

    /// Where the next job is pushed to.
    #[inline]
    pub(crate) fn deque_end(&self) -> i64 {
        self.deque.end()
    }

    /// The newest job pushed here that was not taken.
    pub(crate) fn take_newest(&self) -> Option<Found> {
        self.deque.pop_newest().map(|job| Found { job, from: self.index })
    }

    /// The own task that comes next.
    #[inline]
    pub(crate) fn take_own(&self) -> Option<Found> {
        if self.shared.oldest_first() { self.take_oldest() } else { self.take_newest() }
    }

    /// The oldest job pushed here that was not taken.
    #[cold]
    pub(super) fn take_oldest(&self) -> Option<Found> {
        self.deque.open(); // taken as thieves take it
        loop {
            match self.slot().deque().steal_oldest() {
                Steal::Taken(job) => return Some(Found { job, from: self.index }),
                Steal::Empty => return None,
                Steal::Lost | Steal::Kept => {} // a thief was faster
            }
        }
    }

    /// Whether tasks of this worker's own wait for it, or for a thief, in its deque.
    ///
    /// # Examples
    /// ```
    /// locksley::Pool::new(1)?.install(|worker| {
    ///     assert!(!worker.has_own_tasks());
    ///     worker.spawn(|_| ());
    ///     assert!(worker.has_own_tasks());
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn has_own_tasks(&self) -> bool {
        !self.slot().deque().is_empty()
    }

    /// Whether that is known of its deque.
    pub(super) fn holds_one_at_most(&self) -> bool {
        self.deque.holds_one_at_most()
    }

    /// Whether nothing waits for it but its present task, and it looks for more after that.
    pub(crate) fn is_about_to_search(&self) -> bool {
        let comes_back = !self.is_borrowed && !self.is_away.get();
        comes_back && self.slot().seems_empty() && !self.has_pinned()
    }
}
