//! Detached tasks, and how a pool closes after the last of them.

use std::ptr::NonNull;

use super::HeapJob;
use crate::header::Job;
use crate::numbers::Slot;
use crate::primitive::Ordering;
use crate::shared::Shared;
use crate::shared::pending::Left;
use crate::unwind;
use crate::worker::Worker;

impl Shared {
    /// Makes a job that keeps the pool open until it has run. The caller pushes or sends it, once,
    /// to this pool. Drops the task and returns `None` if the pool is closed.
    pub(crate) fn detached<F>(&self, task: F) -> Option<NonNull<Job>>
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        if !self.pending.begin_closure() {
            return None;
        }
        let run = |worker: &Worker| {
            let shared = worker.shared();
            unwind::catch(|| task(worker)).unwrap_or_else(|payload| shared.report_panic(payload));
            shared.end_closure();
        };
        // SAFETY: it is run once, because the pool is not closed before; it borrows nothing; its
        // panic is caught.
        Some(unsafe { HeapJob::into_job(None, run) })
    }

    /// Counts the end of a closure, or of the pool's handle. After the last one, all futures
    /// that wait are cancelled, unless a shutdown waits for them. When nothing is left, the pool is
    /// closed.
    pub(crate) fn end_closure(&self) {
        self.proceed_to_close(self.pending.end_closure());
    }

    /// Counts the end of a future as a task.
    pub(crate) fn end_task(&self) {
        self.proceed_to_close(self.pending.end_task());
    }

    fn proceed_to_close(&self, left: Left) {
        match left {
            Left::Some => {}
            // Relaxed: `shutdown` sets it before it counts the end of the handle, and the last
            // closure ends after that.
            Left::Tasks if self.waits_for_tasks.load(Ordering::Relaxed) => {}
            Left::Tasks => self.cancel_tasks(),
            Left::Nothing => {
                self.closed.set();
                // No limit holds any more: a thread that ends counts as active.
                self.resize(self.workers);
                // Those that sleep end. A borrowed thread that waits has to run what is left.
                (0..self.slots_taken()).for_each(|slot| self.unpark(Slot::new(slot)));
                self.closed_event.set();
            }
        }
    }

    /// Has the workers drop the futures that wait. From now on, no future is accepted.
    pub(crate) fn cancel_tasks(&self) {
        // Once. Release pairs with the acquire in `is_closing`.
        if !self.closing.swap(true, Ordering::AcqRel) {
            self.owned_tasks.cancel_all();
        }
    }
}
