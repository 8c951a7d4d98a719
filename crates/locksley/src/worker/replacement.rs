//! Replacements: threads that work under the index of a worker whose thread blocks.
//!
//! A thread that blocks takes a free replacement, gives it the lock of its index, and wakes it, or
//! starts its thread. The replacement works until another thread takes the index, and is free again.

use std::io;
use std::sync::Arc;

use super::{Role, Worker};
use crate::deque::OwnDeque;
use crate::header::Job;
use crate::idle::Activity;
use crate::numbers::{Index, Slot};
use crate::os::{self, Assists};
use crate::shared::Shared;
use crate::shared::config::{Affinity, Hook};
use crate::shared::replacements::Taken;
use crate::trace::Event;
use crate::unwind::{self, AbortOnUnwind};

impl Shared {
    pub(super) fn slot_of_replacement(&self, taken: Taken) -> Slot {
        Slot::new(self.first_replacement() + taken.number)
    }

    /// The number of the replacement in `slot`, if it is one.
    pub(super) fn replacement_in(&self, slot: Slot) -> Option<usize> {
        slot.get().checked_sub(self.first_replacement())
    }

    /// Takes a free replacement. `None` if all are taken, or the pool is closed.
    pub(super) fn take_replacement(&self) -> Option<Taken> {
        // (In a forked child, a new thread would run tasks of the parent.)
        if self.closed.is_set() || self.is_in_forked_child() {
            return None;
        }
        let taken = self.replacements.take()?;
        if !taken.has_thread {
            // The slot exists before the replacement gets the index, since it is a victim from then
            // on. Those below exist, too: thieves look at all slots up to the highest taken one.
            for number in 0..=taken.number {
                self.make_slot(Slot::new(self.first_replacement() + number), || {
                    let (deque, state) = self.config.new_slot();
                    self.replacements.set_deque(number, deque);
                    state
                });
            }
            self.mark_slot_taken(self.slot_of_replacement(taken));
        }
        Some(taken)
    }

    /// Starts a replacement that was taken and has the lock of `index`: wakes its thread, or creates
    /// one. If none can be created, frees the replacement and returns false.
    pub(super) fn send_out(self: &Arc<Self>, taken: Taken, index: Index) -> bool {
        let is_started = taken.has_thread || self.start_replacement(taken, index).is_ok();
        if is_started {
            self.replacements.send_out(taken, index);
        } else {
            self.replacements.put_back(taken);
        }
        is_started
    }

    fn start_replacement(self: &Arc<Self>, taken: Taken, index: Index) -> io::Result<()> {
        let names = self.config.names.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let slot = self.slot_of_replacement(taken);
        let shared = Arc::clone(self);
        let serve = move || shared.serve_as_replacement(taken.number, (index, slot));
        let thread = self.config.spawn(format!("{}'", names[index.get()]), serve)?;
        self.replacements.add_thread(thread);
        Ok(())
    }

    fn serve_as_replacement(self: &Arc<Self>, number: usize, (index, slot): (Index, Slot)) {
        if self.config.affinity != Affinity::Builder {
            os::move_to_process_affinity();
        }
        self.set_time_slice();
        let deque = self.replacements.take_deque(number);
        self.run_worker(Role::Replacement, (index, slot), deque, |worker| {
            let state = self.slot(slot);
            loop {
                state.set_activity(Activity::Sleeps);
                self.trace(|| Event::Blocks);
                let sending = self.replacements.wait(number, || self.closed.is_set());
                self.trace(|| Event::Unparks);
                let Some(sending) = sending else { break };
                state.set_activity(Activity::Works);
                worker.work_as_replacement(sending.index());
                self.replacements.set_free(number, sending);
            }
        });
    }

    /// Requests the time slice that the idle policy wants, for the calling thread.
    pub(crate) fn set_time_slice(&self) {
        if let Some(slice) = self.config.idle_policy.time_slice()
            && self.config.assists.has(Assists::SHORT_TIME_SLICES)
        {
            os::shorten_time_slice(slice);
        }
    }

    /// Runs a worker on the calling thread: makes its data, then calls the start hook, `work` and the
    /// exit hook. Panics of the program's code go to the panic handler, and the worker goes on.
    pub(crate) fn run_worker(
        self: &Arc<Self>,
        role: Role,
        (index, slot): (Index, Slot),
        deque: OwnDeque<Job>,
        work: impl FnOnce(&Worker),
    ) {
        let (config, report) = (&self.config, |payload| self.report_panic(payload));
        let data = unwind::catch(|| config.make_data(index.get())).unwrap_or_else(|payload| {
            report(payload);
            None
        });
        let abort = AbortOnUnwind("an idle policy panicked");
        let worker = Worker::new(role, (index, slot), deque, Arc::clone(self), data);
        abort.disarm();
        let call = |hook: &Option<Hook>| {
            let call = || hook.iter().for_each(|hook| hook(index.get()));
            unwind::catch(call).unwrap_or_else(report);
        };
        worker.as_current(|| {
            call(&config.on_start);
            self.slot(slot).attach_thread(self.config.assists);
            work(&worker);
            self.slot(slot).detach_thread();
            call(&config.on_exit);
        });
        unwind::catch(|| drop(worker)).unwrap_or_else(report);
    }
}

impl Worker {
    /// Notes whether this thread is inside of a task that has blocked, if it is a replacement.
    pub(super) fn set_in_frame(&self, is_in_frame: bool) {
        if self.role == Role::Replacement
            && let Some(number) = self.shared.replacement_in(self.slot)
        {
            self.shared.replacements.set_in_frame(number, is_in_frame);
        }
    }

    /// Runs this replacement under an index, whose lock it was given, until another thread takes it.
    fn work_as_replacement(&self, index: Index) {
        self.index.set(index);
        if self.shared.index_lock(index).end_idle(self.slot) {
            self.work_under_index(&|| self.shared.closed.is_set());
        }
        self.end_with_index();
        self.leave_tasks_to_others();
    }
}
