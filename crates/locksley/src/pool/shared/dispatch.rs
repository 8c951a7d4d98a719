//! Jobs are sent, and who waits is woken.

use std::ptr::NonNull;

use super::Shared;
use crate::fiber::Node;
use crate::job::Job;
use crate::sleep::Summons;

impl Shared {
    /// Hands a job to the pool from outside.
    pub(crate) fn send(&self, job: NonNull<Job>) {
        // SAFETY: whoever takes a word out of the inbox runs it, once; and this one is about to be sent.
        self.send_as_is(unsafe { self.metered(job) });
    }

    /// The same for a job that has the path that it has, or none.
    pub(crate) fn send_as_is(&self, job: NonNull<Job>) {
        self.inbox.send(job);
        self.sleep.work_was_sent();
    }

    /// Hands a job to those workers who can go to a stack of its own.
    pub(crate) fn send_apart(&self, job: NonNull<Job>) {
        // SAFETY: whoever takes a word out of an inbox runs it, once; and this one is about to be sent.
        self.apart.send(unsafe { self.metered(job) }, &self.sleep);
    }

    /// Panics on a thread that has outlived the pool whose worker it is: no other worker is there any more.
    pub(crate) fn must_be_open(&self) {
        assert!(!self.closed.is_set(), "the pool that this thread belongs to has been closed");
    }

    /// Hands a job to one worker, which alone runs it.
    pub(crate) fn send_to(&self, worker: usize, job: NonNull<Job>) {
        // SAFETY: the worker runs what is in its mailbox, once; and this is about to be sent.
        self.send_to_as_is(worker, unsafe { self.metered(job) });
    }

    /// The same for a job that has the path that it has, or none.
    pub(crate) fn send_to_as_is(&self, worker: usize, job: NonNull<Job>) {
        self.seats[worker].mailbox.send(job);
        self.sleep.wake(worker);
    }

    /// The same, a task of that scope.
    pub(crate) fn send_task_to(&self, worker: usize, scope: NonNull<()>, task: NonNull<Job>) {
        self.seats[worker].mailbox.send_on(scope.as_ptr(), task);
        self.sleep.wake(worker);
    }

    /// Hands a ready task to one worker, from outside; others may take it too.
    pub(crate) fn send_ready(&self, worker: usize, job: NonNull<Job>) {
        // SAFETY: whoever takes a word out of an inbox runs it, once; and this one is about to be sent.
        self.send_ready_as_is(worker, unsafe { self.metered(job) });
    }

    /// The same for a job that has the path that it has, or none.
    pub(crate) fn send_ready_as_is(&self, worker: usize, job: NonNull<Job>) {
        self.seats[worker].inbox().send(job);
        self.sleep.work_was_addressed(worker, None);
    }

    /// The same, by a worker of this pool.
    pub(crate) fn pass_on(&self, worker: usize, job: NonNull<Job>, summons: &Summons) {
        self.seats[worker].inbox().send(job);
        self.sleep.work_was_addressed(worker, Some(summons));
    }

    /// What a worker waits for has happened, and that was published before. If a stack of its own waited, that is given back.
    pub(crate) fn wake(&self, worker: usize, stack: Option<NonNull<Node>>) {
        if let Some(stack) = stack {
            let returns = self.seats[worker].returns();
            match worker.checked_sub(self.workers) {
                // SAFETY: what sets a flag for stacks hands the node over, once; alive, since its stack waits.
                None => unsafe { returns.send(stack) },
                // It does not sleep in the pool if nobody wants it.
                // SAFETY: as above.
                Some(stand_in) => unsafe { self.stand_ins.give_back(stand_in, stack, returns) },
            }
        }
        self.sleep.wake(worker);
    }
}
