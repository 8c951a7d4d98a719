//! A worker's thread blocks, and a replacement works under its index.

use super::Worker;
use crate::hooks;
use crate::idle::Activity;
use crate::scheduler::latch::Flag;
use crate::trace::Event;

/// While this value lives, the worker's thread may block. A replacement works under its index, if
/// one was free.
pub(crate) struct Replaced<'w> {
    worker: &'w Worker,
    /// The replacement, and the index of the worker that it was assigned to.
    replacement: Option<(usize, usize)>,
    /// True if the thread may block already. Then this value has no effect.
    is_nested: bool,
    /// True if no thread of the pool searches for tasks, or will do so after its task.
    pub(crate) is_last_thread: bool,
    /// True if the time of the worker was charged to code that is not the pool's.
    was_elsewhere: bool,
}

impl Worker {
    /// Has a replacement work under this worker's index until the value returned is dropped.
    pub(crate) fn replace(&self) -> Replaced<'_> {
        // What satellites have noted on this thread, no other thread can publish.
        hooks::pause();
        hooks::run_idle();
        self.deque.open();
        let was_elsewhere = self.slot().is_elsewhere();
        let is_nested = self.has_replacement.get().is_some();
        let (mut replacement, mut active_threads) = (None, 0);
        if !is_nested {
            self.set_activity(Activity::Sleeps, was_elsewhere);
            self.shared.trace(|| Event::Blocks);
            let index = self.index();
            replacement = self.shared.assign_replacement(index).map(|slot| (slot, index));
            self.has_replacement.set(Some(replacement.is_some()));
            active_threads = self.active_threads();
        }
        let is_last_thread = self.shared.replacements.subtract_active(active_threads);
        Replaced { worker: self, replacement, is_nested, is_last_thread, was_elsewhere }
    }

    /// The number of threads that this one counts as: 0 for a borrowed thread, which need not come
    /// back to the pool. An external thread counts as the worker that it has taken over.
    fn active_threads(&self) -> usize {
        usize::from(!self.is_borrowed || self.is_external)
    }

    fn set_activity(&self, activity: Activity, is_elsewhere: bool) {
        self.slot().set_activity(activity);
        if is_elsewhere {
            self.slot().charge_elsewhere();
        }
    }

    /// Runs this replacement for the worker with the index `assigned`, until it is `released`. It
    /// may be released and assigned again before it checks.
    pub(crate) fn replace_worker(&self, assigned: impl Fn() -> Option<usize>, released: &Flag) {
        self.work_until(released, || {
            let Some(index) = assigned() else { return };
            self.index.set(index);
            self.wake_token.set_neighbours(self.shared.neighbours_of(index));
        });
        // Its tasks are left to other workers, and one is woken for them.
        hooks::run_idle();
        self.deque.open();
        if self.has_own_tasks() || !self.slot().inbox.is_empty() {
            self.shared.sleep.notify_injected();
        }
    }
}

impl Replaced<'_> {
    /// True if no replacement was free when the thread began to block.
    pub(crate) fn is_at_limit(&self) -> bool {
        self.worker.has_replacement.get() == Some(false)
    }
}

impl Drop for Replaced<'_> {
    fn drop(&mut self) {
        let worker = self.worker;
        if self.is_nested {
            return;
        }
        worker.has_replacement.set(None);
        worker.shared.trace(|| Event::Unparks);
        worker.shared.replacements.add_active(worker.active_threads());
        worker.set_activity(Activity::Works, self.was_elsewhere);
        if let Some((replacement, index)) = self.replacement {
            worker.shared.release_replacement(replacement, index);
        }
    }
}
