//! A worker whose thread blocks, and the replacement worker that has its slot meanwhile.

use super::Worker;
use crate::deque::Closable as _;
use crate::hooks;
use crate::idle::Activity;
use crate::scheduler::latch::Flag;

/// While it lives, the worker's thread is about to block, blocks, or has just blocked; a
/// replacement has its slot, if one is left.
pub(crate) struct Replaced<'w> {
    worker: &'w Worker,
    /// The replacement, and the number by which it was called.
    replacement: Option<(usize, usize)>,
    /// Whether it was replaced already, and this is nothing.
    is_nested: bool,
    /// Whether no thread of the pool is left that comes to look for tasks.
    leaves_no_thread: bool,
    /// Whether its time did not count as the pool's before.
    is_elsewhere: bool,
}

impl Worker {
    /// Leaves the slot to a replacement worker until what is returned is dropped.
    pub(crate) fn replace(&self) -> Replaced<'_> {
        // Another thread cannot look after what satellites have noted here.
        hooks::pause();
        hooks::idle();
        // For thieves, to find it open.
        self.deque.open();
        let is_elsewhere = self.slot().is_elsewhere();
        let is_nested = self.is_away.replace(true);
        let (mut replacement, mut leaves_no_thread) = (None, false);
        if !is_nested {
            self.is_seen_to(Activity::Sleeps, is_elsewhere);
            let number = self.index();
            replacement =
                self.shared.call_replacement(number).map(|replacement| (replacement, number));
            leaves_no_thread = self.shared.replacements().threads_leave(self.threads());
        }
        Replaced { worker: self, replacement, is_nested, leaves_no_thread, is_elsewhere }
    }

    /// As how many threads this one counts: one that belongs to the program need not come back.
    fn threads(&self) -> usize {
        usize::from(!self.is_borrowed())
    }

    fn is_seen_to(&self, activity: Activity, is_elsewhere: bool) {
        self.slot().does(activity);
        if is_elsewhere {
            self.slot().spends_time_on(None);
        }
    }

    /// This one, a replacement, works for the worker whose number is that of the `caller`, until it
    /// is `released`. It may be released and called again before it looks.
    pub(crate) fn replace_worker(&self, caller: impl Fn() -> Option<usize>, released: &Flag) {
        self.work_until(released, || {
            caller().into_iter().for_each(|number| self.takes_number(number));
        });
        self.steps_down();
    }

    fn takes_number(&self, number: usize) {
        self.number.set(number);
        if let Some(neighbours) = self.shared.neighbours_of(number) {
            self.wake_token.has_neighbours(neighbours);
        }
    }

    /// A replacement works no more. It leaves what it has not run within reach of all, and wakes a
    /// worker for it.
    fn steps_down(&self) {
        hooks::idle();
        self.deque.open();
        if self.has_own_tasks() || !self.slot().inbox().is_empty() {
            self.shared.sleep().notify_sent();
        }
    }
}

impl Replaced<'_> {
    /// Whether no thread of the pool is left that looks for tasks, or will: all wait or block.
    pub(crate) fn leaves_no_thread(&self) -> bool {
        self.leaves_no_thread
    }
}

impl Drop for Replaced<'_> {
    fn drop(&mut self) {
        let worker = self.worker;
        if self.is_nested {
            return;
        }
        worker.is_away.set(false);
        worker.shared.replacements().threads_come(worker.threads());
        worker.is_seen_to(Activity::Works, self.is_elsewhere);
        if let Some((replacement, number)) = self.replacement {
            worker.shared.release_replacement(replacement, number);
        }
    }
}
