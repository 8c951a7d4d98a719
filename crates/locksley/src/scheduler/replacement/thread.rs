//! The thread of a replacement worker.

use std::io;
use std::sync::{Arc, PoisonError};

use crate::deque::OwnDeque;
use crate::idle::Activity;
use crate::os::{self, Assists};
use crate::scheduler::config::{Affinity, Hook};
use crate::scheduler::job::Job;
use crate::scheduler::shared::Shared;
use crate::scheduler::worker::Worker;
use crate::trace::Event;
use crate::unwind::{self, AbortOnUnwind};

impl Shared {
    /// Starts the thread of a replacement, which serves the worker with this index first.
    pub(super) fn start_replacement(
        self: &Arc<Self>,
        replacement: usize,
        index: usize,
    ) -> io::Result<()> {
        let replacements = &self.replacements;
        let names = self.config.names.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let first = self.first_replacement();
        // Also those below: searches look at all of them.
        for (own, slot) in replacements.all[..=replacement].iter().zip(&self.slots[first..]) {
            slot.get_or_init(|| {
                let (deque, slot) = self.config.new_slot();
                *own.deque.lock().unwrap_or_else(PoisonError::into_inner) = Some(deque);
                slot
            });
        }
        // Before it pushes anything, so that searches look there.
        self.mark_slot_taken(first + replacement);
        let shared = Arc::clone(self);
        let serve = move || shared.serve_as_replacement(replacement, index);
        let handle = self.config.spawn(format!("{}'", names[index]), serve)?;
        replacements.threads.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
        Ok(())
    }

    fn serve_as_replacement(self: &Arc<Self>, replacement: usize, index: usize) {
        let replacements = &self.replacements;
        let own = &replacements.all[replacement];
        let deque = own.deque.lock().unwrap_or_else(PoisonError::into_inner).take();
        let deque = deque.expect("a replacement gets a thread once");
        if self.config.affinity != Affinity::Builder {
            os::move_to_process_affinity();
        }
        self.set_time_slice();
        let slot = self.first_replacement() + replacement;
        self.sleep.settle_wake_affinity(slot);
        self.run_worker((index, slot), deque, |worker| {
            let before_park = || {
                let _ = replacements.subtract_active(1);
                self.lower_slots_in_use();
            };
            let own_slot = self.slot(slot);
            loop {
                own_slot.set_activity(Activity::Sleeps);
                self.trace(|| Event::Blocks);
                let is_assigned = own.assignment.wait(before_park, || self.closed.is_set());
                self.trace(|| Event::Unparks);
                if !is_assigned {
                    break;
                }
                self.mark_slot_taken(slot);
                own_slot.set_activity(Activity::Works);
                worker.replace_worker(|| own.assignment.worker(), own.assignment.release_flag());
            }
        });
        self.sleep.settle_wake_affinity(slot);
    }

    /// Requests the time slice that the idle policy wants, for the calling thread.
    pub(crate) fn set_time_slice(&self) {
        if let Some(slice) = self.config.idle_policy.time_slice()
            && self.config.assists.has(Assists::SHORT_TIME_SLICES)
        {
            os::shorten_time_slice(slice);
        }
    }

    /// Runs a worker on the calling thread: makes its data, calls the hooks, and calls `work` in
    /// between. Panics of the program's code go to the panic handler, and the worker goes on.
    pub(crate) fn run_worker(
        self: &Arc<Self>,
        (index, slot): (usize, usize),
        deque: OwnDeque<Job>,
        work: impl FnOnce(&Worker),
    ) {
        let (config, report) = (&self.config, |payload| self.report_panic(payload));
        let data = unwind::catch(|| config.make_data(index)).unwrap_or_else(|payload| {
            report(payload);
            None
        });
        let abort = AbortOnUnwind("an idle policy panicked");
        let worker = Worker::new(index, slot, deque, Arc::clone(self), data);
        abort.disarm();
        let call = |hook: &Option<Hook>| {
            let call = || hook.iter().for_each(|hook| hook(index));
            unwind::catch(call).unwrap_or_else(report);
        };
        worker.as_current(|| {
            call(&config.on_start);
            // After the hook, which may pin the thread: until then no other worker moves it.
            self.slot(slot).attach_thread(self.config.assists);
            work(&worker);
            self.slot(slot).detach_thread();
            call(&config.on_exit);
        });
        unwind::catch(|| drop(worker)).unwrap_or_else(report);
    }
}
