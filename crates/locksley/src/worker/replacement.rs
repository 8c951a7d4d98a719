//! Replacements: slots whose threads work under the indexes of threads that block.
//!
//! A thread that blocks takes a free replacement, and starts the replacement's thread if it has
//! none. Then it makes the replacement the holder of its own index. The replacement works until
//! another thread takes the index. (Here, too: how the thread of any worker begins and ends.)

use std::io;
use std::sync::Arc;

use super::{Role, Worker};
use crate::idle::Activity;
use crate::numbers::{Index, Slot};
use crate::os::{self, Assists};
use crate::shared::Shared;
use crate::shared::config::{Affinity, Hook};
use crate::trace::Event;
use crate::unwind::{self, AbortOnUnwind};

impl Shared {
    fn slot_of_replacement(&self, number: usize) -> Slot {
        Slot::new(self.first_replacement() + number)
    }

    /// Frees the replacement in `slot`, if it is one: it has lost its index.
    pub(super) fn free_replacement_in(&self, slot: Slot) {
        if let Some(number) = slot.get().checked_sub(self.first_replacement()) {
            self.replacements.put_back(number);
        }
    }

    /// Takes a free replacement for `index`, with a thread. `None` if all are taken, if no thread
    /// can be started, or if the pool is closed.
    pub(super) fn take_replacement(self: &Arc<Self>, index: Index) -> Option<usize> {
        // (In a forked child, a new thread would run tasks of the parent.)
        if self.closed.is_set() || self.is_in_forked_child() {
            return None;
        }
        let number = self.replacements.take()?;
        let is_started =
            self.replacements.has_thread(number) || self.start_replacement(number, index).is_ok();
        if is_started {
            return Some(number);
        }
        // One with a thread may lie deeper in the stack.
        let next = self.replacements.take();
        self.replacements.put_back(number);
        next.filter(|&next| {
            let has_thread = self.replacements.has_thread(next);
            if !has_thread {
                self.replacements.put_back(next);
            }
            has_thread
        })
    }

    fn start_replacement(self: &Arc<Self>, number: usize, index: Index) -> io::Result<()> {
        let names = self.config.names.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        // The slots below, too: thieves look at all up to the highest taken one.
        for below in (0..=number).map(|number| self.slot_of_replacement(number)) {
            self.make_slot(below, || self.config.new_slot());
        }
        self.mark_slot_taken(self.slot_of_replacement(number));
        let shared = Arc::clone(self);
        let serve = Box::new(move || shared.serve_as_replacement(number));
        let thread = self.config.spawn(format!("{}'", names[index.get()]), serve)?;
        self.replacements.set_thread(number, thread);
        Ok(())
    }

    /// Gives the index of the thread in slot `from` to a replacement that was taken. Returns false
    /// if a thread waits for the index: then the replacement is free.
    pub(super) fn hand_off(&self, number: usize, index: Index, from: Slot) -> bool {
        self.replacements.set_index(number, index);
        let slot = self.slot_of_replacement(number);
        let is_given = self.index_lock(index).transfer(from, slot);
        if is_given {
            self.unpark(slot);
        } else {
            self.replacements.put_back(number);
        }
        is_given
    }

    fn serve_as_replacement(self: &Arc<Self>, number: usize) {
        // The thread that has started this one runs a task, which may have changed its own.
        self.config.builder_thread.iter().for_each(os::ThreadSettings::apply);
        if self.config.affinity != Affinity::Builder {
            os::move_to_process_affinity();
        }
        self.set_time_slice();
        // Hooks may wait, as tasks do, so they run under an index, too.
        let Some(first) = self.wait_for_index(number) else { return };
        let slot = self.slot_of_replacement(number);
        self.run_worker(Role::Replacement, (first, slot), |worker| {
            let mut given = Some(first);
            while let Some(index) = given {
                self.slot(slot).set_activity(Activity::Works);
                worker.work_as_replacement(index);
                self.slot(slot).set_activity(Activity::Sleeps);
                self.trace(|| Event::Blocks);
                given = self.wait_for_index(number);
                self.trace(|| Event::Unparks);
            }
        });
    }

    /// Waits, on the thread of a replacement, until it has been given an index. `None` if the pool
    /// is closed.
    fn wait_for_index(&self, number: usize) -> Option<Index> {
        let slot = self.slot_of_replacement(number);
        loop {
            let index = self.replacements.index(number);
            let lock = self.index_lock(index);
            if self.closed.is_set() {
                return None;
            }
            if lock.end_idle(slot) || lock.is_held_busy(slot) {
                return Some(index);
            }
            let has_index = || self.index_lock(self.replacements.index(number)).is_held_by(slot);
            self.sleep.parker(slot).park(|| has_index() || self.closed.is_set(), None);
        }
    }

    /// Requests the time slice that the idle policy wants, for the calling thread.
    pub(crate) fn set_time_slice(&self) {
        if let Some(slice) = self.config.idle_policy.time_slice() {
            if self.config.assists.has(Assists::SHORT_TIME_SLICES) {
                os::shorten_time_slice(slice);
            }
        }
    }

    /// Runs a worker on the calling thread: makes its data, then calls the start hook, `work` and
    /// the exit hook. Panics of the program's code go to the panic handler, and the worker goes on.
    pub(crate) fn run_worker(
        self: &Arc<Self>,
        role: Role,
        (index, slot): (Index, Slot),
        work: impl FnOnce(&Worker),
    ) {
        // Before the program's code: a thread may wait for the index, and watches the progress.
        self.slot(slot).attach_thread(Some(self.config.assists));
        let (config, report) = (&self.config, |payload| self.report_panic(payload));
        let data = unwind::catch(|| config.make_data(index.get())).unwrap_or_else(|payload| {
            report(payload);
            None
        });
        let abort = AbortOnUnwind("an idle policy panicked");
        let worker = Worker::new(role, (index, slot), Arc::clone(self), data);
        abort.disarm();
        let call = |hook: &Option<Hook>| {
            let call = || hook.iter().for_each(|hook| hook(index.get()));
            unwind::catch(call).unwrap_or_else(report);
        };
        worker.as_current(|| {
            call(&config.on_start);
            work(&worker);
            self.slot(slot).detach_thread();
            // A replacement may have worked under others since. Both hooks see the same index.
            worker.local.index.set(index);
            call(&config.on_exit);
        });
        unwind::catch(|| drop(worker)).unwrap_or_else(report);
    }
}

impl Worker {
    /// Runs this replacement under an index, whose lock it was given, until another thread takes
    /// it.
    fn work_as_replacement(&self, index: Index) {
        self.local.index.set(index);
        self.work_under_index(&|| self.local.shared.closed.is_set());
        self.end_with_index();
        self.leave_tasks_to_others();
        // Its last task went on without the index, so no other thread has freed this one.
        if self.local.is_without_index.take() {
            self.local.shared.free_replacement_in(self.local.slot);
        }
    }
}
