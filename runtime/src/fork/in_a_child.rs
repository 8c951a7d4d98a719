//! What still runs in the child of a process that was forked in a task: what that task waits for, and what it has pushed since.
//!
//! The child has a copy of everything that its worker had, and the parent runs all that. See the README of pools, "After a fork".

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::ptr::NonNull;

use super::waiting::Awaited;
use crate::deque::ChaseLevOwner;
use crate::hunt::Found;
use crate::job::{self, Job};
use crate::latch::Flag;
use crate::unwind::AbortOnUnwind;
use crate::worker::Worker;

/// What a worker's deque held when the process forked, as the child has it.
///
/// To the deque it counts as stolen. So its indices do not recur: no frame of before takes what the child pushes for its own.
#[derive(Debug, Default)]
pub(crate) struct Inherited {
    /// Where it lies in the deque, as long as it was not brought to safety: the handler of the fork must not allocate.
    first: Cell<Option<i64>>,
    end: Cell<i64>,
    /// What nobody has waited for yet, the oldest first; once it was brought to safety.
    jobs: RefCell<Option<Vec<NonNull<Job>>>>,
}

impl Inherited {
    /// To be called in the child at once.
    pub(crate) fn lies_in(&self, deque: &ChaseLevOwner<Job>) {
        let Range { start, end } = deque.lose_all();
        self.first.set(Some(start));
        self.end.set(end);
    }

    /// Where it lies still, if that was noted.
    #[inline]
    pub(crate) fn indices(&self) -> Option<Range<i64>> {
        Some(self.first.get()?..self.end.get())
    }

    /// Keeps what `fetch` brings, if this was not done before.
    #[cold]
    pub(crate) fn secure(&self, fetch: impl FnOnce() -> Vec<NonNull<Job>>) {
        let mut jobs = self.jobs.borrow_mut();
        if jobs.is_none() {
            *jobs = Some(fetch());
            self.first.set(None);
        }
    }

    /// The newest that is awaited.
    fn take(&self, is_awaited: impl Fn(NonNull<Job>) -> bool) -> Option<NonNull<Job>> {
        let mut jobs = self.jobs.borrow_mut();
        let jobs = jobs.as_mut()?;
        let newest = jobs.iter().rposition(|&job| is_awaited(job))?;
        Some(jobs.remove(newest))
    }
}

impl Worker {
    /// As [`recover`](Self::recover). If somebody else has the job, the process ends.
    #[cold]
    pub(crate) fn recover_in_a_child(&self, job: NonNull<Job>, end: &Flag) -> bool {
        let abort = AbortOnUnwind("a panic came out of a task");
        while !end.is_set() {
            let newest = self.take_in_a_child().map(|newest| newest.job);
            match newest.or_else(|| self.inherited().take(|its| its == job)) {
                Some(newest) if newest == job => {
                    abort.disarm();
                    return true;
                }
                Some(newer) => self.execute(Found { job: newer, from: self.seat_index() }),
                None => self.shared().end_of_the_lost(),
            }
        }
        abort.disarm();
        false
    }

    /// Waits for a scope, or a root of intervals. If somebody else has a task of it, the process ends; and so it does if one was spawned in the
    /// child by who did not have the worker at hand: it is in the pool's inbox, among what other threads have sent, whose frames are gone.
    #[cold]
    pub(super) fn wait_in_a_child(&self, event: &Flag, (scope, below): Awaited<'_>) {
        let abort = AbortOnUnwind("a panic came out of a task");
        while !event.is_set() {
            // SAFETY: it was taken from the deque, by this worker alone, and has not run here: who was to run it is the parent.
            let is_its = |job| unsafe { job::scope(job) } == Some(scope);
            let other = || self.inherited().take(is_its).or_else(|| below?.take());
            let other = || Some(Found { job: other()?, from: self.seat_index() });
            let found = self.take_in_a_child().or_else(other);
            match found.or_else(|| self.take_mail_of(scope)) {
                Some(found) => self.execute(found),
                None => self.shared().end_of_the_lost(),
            }
        }
        abort.disarm();
    }
}
