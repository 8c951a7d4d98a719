//! One attempt to find work, and a sweep over the whole pool.

use super::cpu_placement::leave_its_processor;
use super::locality::{self, Neighbourhood, Victim};
use super::searcher::{Found, Searcher, run_idle_hooks};
use crate::deque::Steal;
use crate::primitive::spin_loop;
use crate::scheduler::Worker;

/// A thief that has asked an owner to open its deque tries this many more times. An owner that
/// pushes or pops meanwhile answers within nanoseconds.
const TRIES_AFTER_REQUEST: u32 = 8;

/// A thief checks whether it occupies its victim's processor in this many first attempts of a
/// search, and then in each one out of as many.
const CHECK_PROCESSOR_EVERY: u64 = 8;

/// One of so many attempts, at random, chooses its victim among all slots, and the others among
/// those in use.
const ALL_SLOTS_EVERY: usize = 8;

/// After `LOOK_FURTHER_AT` failures, and again after each `LOOK_FURTHER_EVERY` more, a thief opens
/// closed deques by force, and looks at all inboxes.
const LOOK_FURTHER_AT: u64 = 32;
const LOOK_FURTHER_EVERY: u64 = 64;

impl Searcher {
    /// Makes one attempt, and counts it if it fails. From time to time it looks further.
    pub(super) fn attempt(&mut self, worker: &Worker) -> Option<Found> {
        (self.sleeps_on, self.has_polled) = (false, false);
        if let Some(found) = self.try_once(worker) {
            return Some(found);
        }
        self.failures += 1;
        if self.failures % LOOK_FURTHER_EVERY != LOOK_FURTHER_AT {
            return None;
        }
        self.poll_allowance(worker);
        let stolen = self.steal_by_force(worker).or_else(|| run_idle_hooks(worker));
        stolen.or_else(|| self.search_inboxes(worker, true))
    }

    /// Tries the pinned tasks and what was sent to this worker or its place; before every P-th
    /// attempt of P workers, all that this worker receives from; then one victim, its deque before
    /// its inbox. In a pool with several places, some attempts try the inbox of another place
    /// instead.
    fn try_once(&mut self, worker: &Worker) -> Option<Found> {
        let pinned = worker.receive_at_a_glance(&worker.slot().pinned_tasks);
        if let Some(addressed) = pinned.or_else(|| worker.take_addressed()) {
            return Some(addressed);
        }
        if self.failures.is_multiple_of(worker.workers() as u64)
            && let Some(received) = receive(worker)
        {
            return Some(received);
        }
        let slots = self.slots_of_victims(worker);
        if let Some(place_state) = worker.place_state() {
            let neighbourhood = Neighbourhood::new(worker, place_state, slots);
            let place = self.far.next_place(&neighbourhood, self.failures);
            if let Some(sent) = place.and_then(|place| self.take_if_left(worker, place, true)) {
                return Some(sent);
            }
            // The last far victim may have been asked to open its deque.
            if self.far.must_try_far()
                && let Some(stolen) = self.steal_by_force(worker)
            {
                return Some(stolen);
            }
            if !self.choose_victim(worker, &neighbourhood) {
                return None;
            }
        } else {
            self.victim = self.victims.choose(slots);
        }
        self.try_victim(worker, self.victim?)
    }

    /// The number of slots among which an attempt chooses: mostly those in use. But a replacement
    /// that has parked may have left tasks, and a thief that never sleeps makes no sweep.
    fn slots_of_victims(&mut self, worker: &Worker) -> usize {
        let shared = worker.shared();
        if self.victims.below(ALL_SLOTS_EVERY) == 0 {
            shared.slots_taken()
        } else {
            shared.slots_in_use(worker.slot_index())
        }
    }

    /// Chooses the victim of an attempt in a pool with several places. Returns true if the thief
    /// tries it. The policy sees the victim in either case: it may hold work and have no processor.
    fn choose_victim(&mut self, worker: &Worker, neighbourhood: &Neighbourhood<'_>) -> bool {
        let victim = self.far.next_victim(&mut self.victims, neighbourhood, self.failures);
        self.victim = victim.map(|victim| victim.slot);
        let Some(Victim { slot, is_forced }) = victim else { return false };
        if !locality::is_far(worker, slot) {
            return true;
        }
        if is_forced {
            self.far.attempts_since_far = 0;
            return true;
        }
        locality::should_steal_far(worker, slot)
    }

    fn try_victim(&mut self, worker: &Worker, victim: usize) -> Option<Found> {
        let slot = worker.shared().slot(victim);
        let stolen = if self.leave_to_owner(worker, victim) {
            None
        } else {
            let is_first = self.failures < CHECK_PROCESSOR_EVERY;
            if is_first || self.failures.is_multiple_of(CHECK_PROCESSOR_EVERY) {
                leave_its_processor(worker, victim);
            }
            self.steal(worker, victim)
        };
        stolen.or_else(|| {
            if slot.inbox.is_probably_empty() { None } else { take_from_inbox(worker, victim) }
        })
    }

    /// Looks everywhere, for a caller that goes on with something else if it finds nothing, and may
    /// not come back.
    pub(crate) fn search_once(&mut self, worker: &Worker) -> Option<Found> {
        self.sweep(worker, false).or_else(|| {
            // A caller that repeats this must in the end get what a suspended owner holds.
            let has_asked = self.unanswered.is_some();
            let stolen = self.steal_by_force(worker);
            let found = stolen.or_else(|| has_asked.then(|| self.sweep(worker, false)).flatten());
            found.or_else(|| run_idle_hooks(worker))
        })
    }

    /// Looks once into each queue of the pool: first those that this worker receives from, then the
    /// deques of all other workers, then their inboxes. `leaves_far` leaves what was sent to other
    /// places to the workers there for a moment.
    pub(super) fn sweep(&mut self, worker: &Worker, leaves_far: bool) -> Option<Found> {
        let stolen = receive(worker).or_else(|| {
            self.others(worker).find_map(|victim| {
                let is_left = self.leave_to_owner(worker, victim);
                if is_left { None } else { self.steal(worker, victim) }
            })
        });
        stolen.or_else(|| self.search_inboxes(worker, leaves_far))
    }

    /// All other workers, from a random one on; near workers before far ones.
    fn others<'w>(&mut self, worker: &'w Worker) -> impl Iterator<Item = usize> + use<'w> {
        let first = self.victims.choose(worker.shared().slots_taken());
        locality::by_distance(worker, first.unwrap_or(0))
    }

    /// Takes from the inbox of any other worker or place.
    fn search_inboxes(&mut self, worker: &Worker, leaves_far: bool) -> Option<Found> {
        let sent = self.others(worker).find_map(|victim| take_from_inbox(worker, victim));
        let mut others = worker.place_state().map_or(&[][..], |it| &it.others).iter();
        sent.or_else(|| {
            others.find_map(|&place| {
                if leaves_far {
                    return self.take_if_left(worker, place, false);
                }
                take_from_place(worker, place)
            })
        })
    }

    /// Takes from the inbox of another place, if its workers have left that alone for a moment.
    fn take_if_left(&mut self, worker: &Worker, place: usize, at_a_glance: bool) -> Option<Found> {
        let there = &worker.shared().place_states()[place];
        let may_take = self.far.observe_inbox(place, there, at_a_glance);
        if may_take { take_from_place(worker, place) } else { None }
    }

    pub(super) fn steal(&mut self, worker: &Worker, victim: usize) -> Option<Found> {
        let slot = worker.shared().slot(victim);
        let mut steal = slot.deque.steal_oldest();
        for _ in 0..TRIES_AFTER_REQUEST {
            if !matches!(steal, Steal::Closed) {
                break;
            }
            spin_loop();
            steal = slot.deque.steal_oldest();
        }
        if matches!(steal, Steal::Closed) {
            self.unanswered = Some(victim);
        }
        if let Steal::Taken(job) = steal {
            worker.record_steal_from(victim);
            return Some(Found { job, from: victim });
        }
        worker.counters().failed_steals.increment();
        None
    }

    /// Opens all closed deques if a request of this thief was not answered, and steals from
    /// that victim. The owner may be suspended, or run one long task. Called at the
    /// latest before this thief gives up its processor.
    ///
    /// It steals at once: on one processor, the owner may close the deque again when it runs.
    pub(super) fn steal_by_force(&mut self, worker: &Worker) -> Option<Found> {
        let victim = self.unanswered.take()?;
        worker.shared().open_deques(&mut self.open_requests);
        self.steal(worker, victim)
    }
}

/// Takes what was pinned to this worker, or sent to it, to its place, or to all.
fn receive(worker: &Worker) -> Option<Found> {
    let own = worker.take_pinned().or_else(|| worker.receive_from(&worker.slot().inbox));
    own.or_else(|| receive_near(worker)).or_else(|| worker.take_injected())
}

pub(super) fn receive_near(worker: &Worker) -> Option<Found> {
    worker.receive_from(&worker.place_state()?.inbox)
}

/// Takes a task that was sent to another worker.
pub(super) fn take_from_inbox(worker: &Worker, victim: usize) -> Option<Found> {
    let job = worker.shared().slot(victim).inbox.take()?;
    worker.record_steal_from(victim);
    Some(Found { job, from: victim })
}

/// Takes a task that was sent to another place.
pub(super) fn take_from_place(worker: &Worker, place: usize) -> Option<Found> {
    let found = worker.receive_from(&worker.shared().place_states()[place].inbox);
    worker.counters().out_of_place.add(u64::from(found.is_some()));
    found
}
