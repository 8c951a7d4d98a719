//! How a searching worker sleeps, and what it looks at afterwards.

use super::attempt::{receive_near, take_from_inbox, take_from_place};
use super::cpu_placement::move_out_of_the_way;
use super::searcher::{Found, Searcher, run_idle_hooks};
use crate::idle::Activity;
use crate::scheduler::allowance::PollPhase;
use crate::scheduler::latch::Flag;
use crate::scheduler::{PlaceState, Worker};
use crate::sleep::{SleepOutcome, SleepRole};

/// A sentinel goes on for this many timed parks when all workers within the push limit sleep. If
/// the program uses its pool again before that, the worker with work need not wake another one to
/// be the sentinel.
const RESERVE: u32 = 8;

impl Searcher {
    /// Sleeps until there may be work, and looks for it.
    pub(super) fn sleep(&mut self, worker: &Worker, done: &Flag) -> Option<Found> {
        // More workers may be allowed now than when the policy decided. At most one poll for each
        // sleep, so that an idle worker does not go on polling.
        if !std::mem::take(&mut self.has_polled) && self.poll_allowance_before_sleep(worker) {
            self.has_polled = true;
            return None;
        }
        self.sleeps_on = false;
        let found = run_idle_hooks(worker).or_else(|| self.sleep_and_look(worker, done));
        if found.is_none() {
            self.failures = 0;
        }
        found
    }

    /// Sleeps, and then looks everywhere, whatever the policy decides next. A worker over the push
    /// limit looks only at what other workers do not seem to touch.
    fn sleep_and_look(&mut self, worker: &Worker, done: &Flag) -> Option<Found> {
        let outcome = self.park(worker, done);
        let shared = worker.shared();
        let was_within_limit = !shared.sleep.is_over_push_limit();
        // It looks for work before it reads files for a poll.
        shared.allowance.as_ref().inspect(|it| it.postpone_reading(it.now()));
        // A pause for the quota may be over. Files are read only after the search for work.
        let _ = shared.poll_allowance(PollPhase::Searching);
        if done.is_set() {
            return None;
        }
        if shared.sleep.is_over_push_limit() {
            return self.search_over_push_limit(worker, outcome);
        }
        let found = self.sweep(worker, true);
        if found.is_none() && outcome == SleepOutcome::StayedAwake {
            // Otherwise it would sweep again at once, and have closed deques opened each time.
            self.far.begin_wait();
        }
        // If the poll has just raised the push limit, this worker is the one that may stay awake.
        let has_timed_out = outcome == SleepOutcome::SentinelTimedOut;
        self.sleeps_on = found.is_none() && has_timed_out && was_within_limit;
        found
    }

    fn search_over_push_limit(&mut self, worker: &Worker, outcome: SleepOutcome) -> Option<Found> {
        let sleep = &worker.shared().sleep;
        let is_over_size = sleep.is_over_size();
        // Two workers may stay awake for the same task, and both be over the push limit then. Both
        // must take tasks, or each would leave this one to the other for ever.
        let has_stayed = outcome == SleepOutcome::StayedAwake;
        let received = worker.take_pinned().or_else(|| {
            let own = worker.receive_from(&worker.slot().inbox);
            let takes_near = has_stayed || !is_over_size;
            let near = own.or_else(|| if takes_near { receive_near(worker) } else { None });
            let takes_sent = has_stayed || !sleep.is_over_send_limit();
            near.or_else(|| if takes_sent { worker.take_injected() } else { None })
        });
        if received.is_some() || !outcome.is_sentinel() {
            return received;
        }
        self.take_untouched(worker, is_over_size)
    }

    /// Takes one task from a queue that no other worker seems to touch.
    fn take_untouched(&mut self, worker: &Worker, is_over_size: bool) -> Option<Found> {
        let shared = worker.shared();
        let takes_sent =
            self.untouched.is_injector_untouched(shared, shared.sleep.is_over_send_limit());
        let sent = if takes_sent { worker.take_injected() } else { None };
        sent.or_else(|| self.take_untouched_of_place(worker, is_over_size)).or_else(|| {
            let mut others = (0..shared.slots_taken()).filter(|&it| it != worker.slot_index());
            others.find_map(|victim| self.take_untouched_of_worker(worker, victim, is_over_size))
        })
    }

    fn take_untouched_of_place(&mut self, worker: &Worker, is_over_size: bool) -> Option<Found> {
        let shared = worker.shared();
        shared.place_states().iter().enumerate().find_map(|(place, place_state)| {
            let record = self.untouched.places[place];
            if !self.untouched.is_untouched(&place_state.inbox, record, is_over_size) {
                return None;
            }
            if place == worker.place() {
                return worker.receive_from(&place_state.inbox);
            }
            let sent = take_from_place(worker, place);
            if sent.is_some() && !is_over_size && !place_state.inbox.is_probably_empty() {
                // The awake workers of that place may be stuck, and this one takes one task a timed
                // park.
                let workers = place_state.workers.clone();
                shared.sleep.wake_first(|worker| workers.contains(&worker));
            }
            sent
        })
    }

    fn take_untouched_of_worker(
        &mut self,
        worker: &Worker,
        victim: usize,
        is_over_size: bool,
    ) -> Option<Found> {
        let shared = worker.shared();
        let inbox = &shared.slot(victim).inbox;
        let is_untouched = |record| self.untouched.is_untouched(inbox, record, is_over_size);
        if self.untouched.inbox_of(victim).is_some_and(is_untouched) {
            let sent = take_from_inbox(worker, victim);
            if sent.is_some() {
                if !is_over_size && !inbox.is_probably_empty() {
                    // The limit may have kept the sender from waking it, and this one takes one
                    // task a timed park.
                    shared.sleep.wake(victim);
                }
                return sent;
            }
        }
        if !self.untouched.grant_steal(victim, shared, is_over_size) {
            return None;
        }
        self.steal(worker, victim).or_else(|| {
            // The owner cannot answer an open request while this worker uses its processor.
            (self.unanswered == Some(victim)).then(|| self.steal_by_force(worker)).flatten()
        })
    }

    /// Goes through the sleep protocol: announce, look again, park.
    fn park(&mut self, worker: &Worker, done: &Flag) -> SleepOutcome {
        let shared = worker.shared();
        let in_reserve = self.reserve > 0;
        let look_again = |role: SleepRole| {
            if role != SleepRole::Spare {
                shared.open_deques(&mut self.open_requests);
            }
            match role {
                SleepRole::Sentinel => self.reserve = RESERVE,
                SleepRole::ReserveSentinel => self.reserve -= 1,
                SleepRole::Ordinary | SleepRole::Spare => {}
            }
            if role.is_sentinel() {
                self.untouched.record(shared);
            }
            let is_work_left = match role {
                SleepRole::Ordinary | SleepRole::ReserveSentinel => shared.is_work_left(),
                SleepRole::Spare | SleepRole::Sentinel => {
                    let is_near = |place_state: &PlaceState| !place_state.inbox.is_empty();
                    let is_injected = || !shared.injector.is_empty();
                    !shared.sleep.is_send_limit_reached()
                        && (is_injected() || worker.place_state().is_some_and(is_near))
                }
            };
            let is_addressed = worker.has_pinned() || !worker.slot().inbox.is_empty();
            let stays_awake = done.is_set() || is_addressed || is_work_left;
            worker.counters().sleeps.add(u64::from(!stays_awake));
            stays_awake
        };
        worker.slot().set_activity(Activity::Sleeps);
        let outcome = shared.sleep.sleep(worker.slot_index(), in_reserve, look_again);
        // After a recall, the worker and the external thread are both active, until that leaves.
        shared.replacements.add_active(usize::from(outcome == SleepOutcome::Recalled));
        if outcome == SleepOutcome::StayedAwake {
            worker.slot().cancel_sleep();
        } else {
            worker.slot().set_activity(Activity::Searches);
            self.account_for_switches(worker, 0);
            worker.counters().wakeups.increment();
            move_out_of_the_way(worker);
        }
        outcome
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::pool::tests::beside_a_held_worker;
    use crate::scheduler::job::HeapJob;
    use crate::sleep::Limit;

    /// Here the worker is the sentinel. A spare worker looks at the same.
    #[test]
    fn a_worker_over_the_limit_leaves_a_sent_task_only_at_the_send_limit() {
        let outcomes = beside_a_held_worker(|worker| {
            let shared = worker.shared();
            let mut searcher = Searcher::new(worker.index(), worker.slot_index(), shared);
            let mut park = |allowed, is_sent| {
                let limit = Limit { awake: 1, timed_park: Duration::from_millis(1) };
                shared.sleep.set_limit(limit, allowed);
                if is_sent {
                    // SAFETY: sent once, here; the task borrows nothing, and does not unwind.
                    shared.injector.send(unsafe { HeapJob::into_job(None, |_| ()) });
                }
                shared.sleep.begin_search();
                let outcome = searcher.park(worker, &Flag::default());
                shared.sleep.end_search(&worker.wake_token, || false);
                while worker.run_one() {}
                outcome
            };
            [park(2, true), park(1, true), park(2, false)]
        });
        use SleepOutcome::{SentinelTimedOut, StayedAwake};
        assert_eq!(outcomes, [StayedAwake, SentinelTimedOut, SentinelTimedOut]);
    }

    #[test]
    fn a_sentinel_goes_on_for_some_parks_when_all_workers_within_the_limit_sleep() {
        let left_in_reserve = beside_a_held_worker(|worker| {
            let shared = worker.shared();
            let mut searcher = Searcher::new(worker.index(), worker.slot_index(), shared);
            let set_limit = |awake| {
                let limit = Limit { awake, timed_park: Duration::from_millis(1) };
                shared.sleep.set_limit(limit, 2);
            };
            let mut park = || {
                assert_eq!(searcher.park(worker, &Flag::default()), SleepOutcome::SentinelTimedOut)
            };
            (0..2).for_each(|_| shared.sleep.begin_search());
            set_limit(1);
            park();
            set_limit(2);
            shared.sleep.sleep(1 - worker.slot_index(), false, |role| {
                assert_eq!(role, SleepRole::Ordinary);
                set_limit(1);
                (0..RESERVE).for_each(|_| park());
                true
            });
            (0..2).for_each(|_| shared.sleep.end_search(&worker.wake_token, || false));
            searcher.reserve
        });
        assert_eq!(left_in_reserve, 0);
    }

    /// Both workers of a pool of size 1 fall asleep, see a sent task, and stay awake.
    #[test]
    fn of_two_workers_in_lockstep_one_takes_a_sent_task() {
        let is_taken = beside_a_held_worker(|worker| {
            let shared = worker.shared();
            let mut searcher = Searcher::new(worker.index(), worker.slot_index(), shared);
            shared.sleep.resize(1);
            // SAFETY: sent once, here; the task borrows nothing, and does not unwind.
            shared.injector.send(unsafe { HeapJob::into_job(None, |_| ()) });
            (0..2).for_each(|_| shared.sleep.begin_search());
            let mut outcome = None;
            shared.sleep.sleep(1 - worker.slot_index(), false, |_| {
                outcome = Some(searcher.park(worker, &Flag::default()));
                true
            });
            assert_eq!(outcome, Some(SleepOutcome::StayedAwake));
            let found = searcher.search_over_push_limit(worker, SleepOutcome::StayedAwake);
            (0..2).for_each(|_| shared.sleep.end_search(&worker.wake_token, || false));
            let is_taken = found.is_some();
            found.into_iter().for_each(|found| worker.execute(found));
            is_taken
        });
        assert!(is_taken);
    }
}
