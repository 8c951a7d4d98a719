//! Tasks that nobody waits for, and what comes after the last of them.

use std::ptr::NonNull;

use super::Shared;
use crate::primitive::Ordering;
use crate::scheduler::Worker;
use crate::scheduler::job::{HeapJob, Job};
use crate::scheduler::pending::Left;
use crate::unwind::{self, AbortOnUnwind, Payload};

impl Shared {
    /// A detached task is about to be accepted. `false` if the pool is closed: the caller need not be counted itself.
    #[must_use]
    pub(crate) fn begin_detached(&self) -> bool {
        self.pending.begin_owed()
    }

    /// A job that keeps the pool open until it has run. It is pushed or sent, once, to this pool. `None` if the pool is closed: then
    /// nobody would run the task, and it is dropped.
    pub(crate) fn detached<F>(&self, task: F) -> Option<NonNull<Job>>
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        if !self.begin_detached() {
            return None;
        }
        let run = |worker: &Worker| worker.shared().run_detached(|| task(worker));
        // SAFETY: it will be run once, because the pool is not closed before; it borrows nothing; its panic is caught.
        Some(unsafe { HeapJob::into_job(run) })
    }

    /// Runs a detached task: its panic goes to the handler, and to nobody else.
    fn run_detached(&self, task: impl FnOnce()) {
        if let Err(payload) = unwind::halt(task) {
            self.report_panic(payload);
        }
        self.end_detached();
    }

    /// Nobody waits for a detached task, so its panic must not pass in silence: without a handler, or when that panics
    /// too, the process ends.
    pub(crate) fn report_panic(&self, payload: Payload) {
        let abort =
            AbortOnUnwind("a detached task panicked and the pool has no handler that takes it");
        if let Some(handler) = &self.panic_handler {
            handler(payload);
            abort.disarm();
        }
    }

    /// A detached task, or the pool's handle, has ended. After the last one, and after what processes waited for by then that is no channel, futures
    /// are cancelled that are still tasks, and after the last of these the pool is closed.
    pub(crate) fn end_detached(&self) {
        self.see_to_the_rest(self.pending.end_owed());
    }

    /// As [`begin_detached`](Self::begin_detached), for a future.
    #[must_use]
    pub(crate) fn begin_task(&self) -> bool {
        self.pending.begin_task()
    }

    /// A future has finished as a task.
    pub(crate) fn end_task(&self) {
        self.see_to_the_rest(self.pending.end_task());
    }

    fn see_to_the_rest(&self, left: Left) {
        match left {
            Left::Some => {}
            Left::Tasks => self.cancel_tasks(),
            Left::Nothing => {
                self.closed.set();
                self.replacements.close();
                self.sleep.wake_all();
            }
        }
    }

    /// Whether tasks are dropped instead of polled.
    pub(crate) fn is_closing(&self) -> bool {
        // Acquire pairs with the release in `cancel_tasks`.
        self.closing.load(Ordering::Acquire)
    }

    /// Has all tasks cancelled by a worker; once.
    #[cold]
    fn cancel_tasks(&self) {
        if self.is_closing() || !self.pending.begin_task() {
            return; // that is under way, or meanwhile there are none
        }
        // Release pairs with the acquire in `is_closing`.
        if self.closing.swap(true, Ordering::AcqRel) {
            return self.end_task(); // somebody was faster
        }
        let cancel = |worker: &Worker| {
            worker.shared().owned_tasks.cancel_all();
            worker.shared().end_task();
        };
        // SAFETY: it will be run once, because it counts as a task; it borrows nothing, and does not unwind.
        let job = unsafe { HeapJob::into_job(cancel) };
        self.send(job);
    }
}
