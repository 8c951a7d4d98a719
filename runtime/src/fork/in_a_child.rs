//! What still runs in the child of a process that was forked in a task: what that task waits for, and what it has pushed since.
//!
//! The child has a copy of everything that its worker had, and the parent runs all that. See the README of pools, "After a fork".

use std::ptr::NonNull;

use super::waiting::Awaited;
use crate::hunt::Found;
use crate::job::{self, Job};
use crate::latch::Flag;
use crate::unwind::AbortOnUnwind;
use crate::worker::Worker;

impl Worker {
    /// As [`recover`](Self::recover). If somebody else has the job, the process ends.
    #[cold]
    pub(crate) fn recover_in_a_child(&self, job: NonNull<Job>, end: &Flag) -> bool {
        let abort = AbortOnUnwind("a panic came out of a task");
        while !end.is_set() {
            match self.take_in_a_child(|newest| newest == job) {
                Some(newest) if newest.job == job => {
                    abort.disarm();
                    return true;
                }
                Some(newer) => self.execute(newer),
                None => self.shared().end_of_the_lost(),
            }
        }
        abort.disarm();
        false
    }

    /// Waits for a scope. If somebody else has a task of it, the process ends.
    #[cold]
    pub(super) fn wait_in_a_child(&self, event: &Flag, (scope, below): Awaited<'_>) {
        let abort = AbortOnUnwind("a panic came out of a task");
        while !event.is_set() {
            // SAFETY: just taken.
            let found = self.take_in_a_child(|job| unsafe { job::scope(job) } == Some(scope));
            let stray = || Some(Found { job: below?.take()?, from: self.seat_index() });
            match found.or_else(stray).or_else(|| self.take_mail_of(scope)) {
                Some(found) => self.execute(found),
                None => self.shared().end_of_the_lost(),
            }
        }
        abort.disarm();
    }
}
