//! A worker's search: ask the idle policy, and do as it says, until there is work.

use std::fmt;
use std::ptr::NonNull;

use super::cpu_placement::{
    bring_here, is_taken, leave_its_processor, move_away, move_out_of_the_way,
};
use super::grace_period::passes_by;
use super::near::{self, Around, Near};
use super::untouched::Untouched;
use super::victims::Victims;
use crate::deque::{Closed, Steal};
use crate::hooks;
use crate::idle::{Activity, End, IdleContext, Move, Thief};
use crate::os::{self, LoweredPriority};
use crate::primitive::spin_loop;
use crate::scheduler::Worker;
use crate::scheduler::allowance::PollBudget;
use crate::scheduler::job::Job;
use crate::scheduler::latch::Flag;
use crate::scheduler::{PlaceState, Shared};
use crate::sleep::{Rest, Slept};
use crate::unwind::AbortOnUnwind;

/// How many times a thief looks whether the owner that it has asked to open its deque has done so, before it goes on. An owner
/// that forks as often as one that closes its deque answers within nanoseconds; it takes longer to get to see it.
const LOOKS: u32 = 8;

/// In its first attempts, and then once in so many, a thief looks whether it has its victim's processor.
const AT_ONCE: u64 = 8;

/// A sentinel timed parks on for so long when those within the limit have gone to sleep. If a program calls its pool again before, nobody has to wake a worker that is over the limit so that there is
/// a sentinel: that costs the one with work a system call, and a processor that it or a peer has.
const RESERVE: u32 = 8;

/// After so many attempts a thief that has asked in vain insists, whatever its idle policy says.
const INSIST_AFTER: u64 = 64;

/// A job that was taken, from the deque of that worker; or else `from` is the worker that has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) job: NonNull<Job>,
    pub(crate) from: usize,
}

/// What a worker keeps from one search to the next.
pub(crate) struct Searcher {
    thief: Box<dyn Thief>,
    victims: Victims,
    near: Near,
    /// Room for [`Shared::open_deques`], kept so that it seldom allocates.
    closed: Vec<(usize, Closed)>,
    /// Whether a victim was asked to open its deque since that was last made sure of.
    has_asked: bool,
    /// The victim of the last attempt.
    victim: Option<usize>,
    /// What lay in the deques when this worker became the sentinel.
    untouched: Untouched,
    /// For how many more timed parks it is the sentinel when those within the limit sleep, too.
    reserve: u32,
    /// Whether it was woken by nobody, and has found nothing, so that it goes on sleeping.
    sleeps_on: bool,
    /// The worker's context switches that are accounted for.
    switches: u64,
}

impl Searcher {
    /// For the worker with that number, in that slot.
    pub(crate) fn new(worker: usize, slot: usize, shared: &Shared) -> Self {
        let thief = shared.idle_policy().thief(worker, shared.workers());
        Self {
            thief,
            victims: Victims::new(slot),
            near: Near::new(shared.place_states().len()),
            closed: Vec::new(),
            has_asked: false,
            victim: None,
            untouched: Untouched::new(shared.place_states().len()),
            reserve: 0,
            sleeps_on: false,
            switches: 0,
        }
    }

    /// Looks for work until there is some, or the goal is reached.
    pub(crate) fn run(&mut self, worker: &Worker, done: &Flag) -> Option<Found> {
        let abort = AbortOnUnwind("a idle policy panicked");
        let shared = worker.shared();
        if shared.is_lost() {
            // Nobody could ever give it anything but what is the parent's.
            shared.end_of_the_lost();
        }
        let _ = shared.poll_allowance(PollBudget::Hardly);
        shared.sleep().begin_search();
        worker.slot().begin_search();
        let mut failures = 0;
        (self.victim, self.sleeps_on) = (None, false);
        self.near.begins();
        self.switches = worker.slot().switches().unwrap_or(0);
        let found = self.search(worker, done, &mut failures);
        self.account_for_switches(worker, 0);
        let end = match &found {
            None => End::Over,
            Some(found) if found.from == worker.slot_index() => End::Received,
            Some(_) => End::Stole,
        };
        let context = self.context(worker, done, failures);
        self.thief.search_ends(&context, end);
        worker.slot().does(Activity::Works);
        self.end_search(worker);
        abort.disarm();
        found
    }

    fn search(&mut self, worker: &Worker, done: &Flag, failures: &mut u64) -> Option<Found> {
        // Whether it has seen what is allowed since it was last about to do something else than to sleep.
        let mut has_looked = false;
        while !done.is_set() {
            let context = self.context(worker, done, *failures);
            let shared = worker.shared();
            let is_over = shared.sleep().is_over_size() || shared.is_over_allowance();
            let sleeps_on = std::mem::take(&mut self.sleeps_on);
            let next = if is_over || sleeps_on { Move::Sleep } else { self.thief.next(&context) };
            let next = match next {
                // It stays awake for what will be taken in a moment, perhaps by who waits for this processor.
                Move::Sleep if !is_over && self.near.has_to_wait() => Move::Yield,
                next => next,
            };
            match next {
                Move::Search => spin_loop(),
                Move::Yield => {
                    self.insist(worker);
                    self.let_others_run(worker);
                }
                Move::YieldLowered => {
                    self.insist(worker);
                    self.yield_lowered(worker);
                }
                Move::HandOver(peer) => self.hand_over(worker, peer),
                Move::MoveAway => move_away(worker),
                Move::Wake(sleeper) => worker.shared().sleep().wake(sleeper),
                Move::Sleep => {
                    // There may be more allowed now than when that was decided. Once, for nobody goes on looking.
                    has_looked = !has_looked && self.looks_before_it_sleeps(worker);
                    if has_looked {
                        self.sleeps_on = sleeps_on;
                        continue;
                    }
                    let made_ready = look_after_satellites(worker);
                    let found = made_ready.or_else(|| self.sleep_and_look(worker, done));
                    if found.is_some() {
                        return found;
                    }
                    *failures = 0;
                    continue;
                }
            }
            has_looked = false;
            let found = self.attempt(worker, *failures);
            if found.is_some() {
                return found;
            }
            *failures += 1;
            if failures.is_multiple_of(INSIST_AFTER) {
                self.poll_allowance_while_searching(worker);
                self.insist(worker);
                let found =
                    look_after_satellites(worker).or_else(|| self.search_inboxes(worker, true));
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// One attempt: what was sent to this worker or its place; the pool's inbox, first and then once for as many victims as there are; or
    /// else one random victim: its deque, and then its inbox. Where there are several places, the nearer the likelier; and after the attempts
    /// at home also what was sent to another place and has been left there.
    fn attempt(&mut self, worker: &Worker, failures: u64) -> Option<Found> {
        let pinned_tasks = worker.take_pinned().or_else(|| worker.take_addressed());
        if pinned_tasks.is_some() {
            return pinned_tasks;
        }
        if failures.is_multiple_of(worker.workers() as u64) {
            let received = receive(worker);
            if received.is_some() {
                return received;
            }
        }
        if let Some(place_state) = worker.place_state() {
            let around = Around::of(worker, place_state);
            let sent = self
                .near
                .place(&around, failures)
                .and_then(|place| self.take_if_left(worker, place, true));
            if sent.is_some() {
                return sent;
            }
            if self.near.is_due() {
                // It may have asked there the last time.
                self.insist(worker);
            }
            if !self.choose_victim_here(worker, &around, failures) {
                return None;
            }
        } else {
            self.victim = self.victims.choose(worker.shared().slots_taken());
        }
        let victim = self.victim?;
        let passes_by = passes_by(worker.shared().slot(victim));
        let stolen = if passes_by {
            None
        } else {
            if failures < AT_ONCE || failures.is_multiple_of(AT_ONCE) {
                leave_its_processor(worker, victim);
            }
            self.steal(worker, victim)
        };
        stolen.or_else(|| {
            let looks_empty = worker.shared().slot(victim).inbox().looks_empty();
            if looks_empty { None } else { take_sent(worker, victim) }
        })
    }

    /// Chooses the victim of an attempt where there are several places. Says whether it is tried, and not left alone: that the idle policy looks at it, which may
    /// find that it has work and no processor, is another matter.
    fn choose_victim_here(&mut self, worker: &Worker, around: &Around<'_>, failures: u64) -> bool {
        let chosen = self.near.victim(&mut self.victims, around, failures);
        self.victim = chosen.map(|(victim, _)| victim);
        let Some((victim, in_any_case)) = chosen else { return false };
        if !near::is_far(worker, victim) {
            return true;
        }
        if in_any_case {
            self.near.tries_far();
        }
        in_any_case || near::has_too_much(worker, victim)
    }

    /// Looks everywhere, for a worker that goes on with something else if there is nothing, and may not come back.
    pub(crate) fn look_once(&mut self, worker: &Worker) -> Option<Found> {
        self.sweep(worker, false).or_else(|| {
            // Whoever does this again and again must in the end get what a suspended owner keeps.
            let again = self.has_asked;
            self.insist(worker);
            let found = again.then(|| self.sweep(worker, false)).flatten();
            found.or_else(|| look_after_satellites(worker))
        })
    }

    /// One attempt each: the pinned queue, the inboxes that this worker looks into first, and all other workers from a random one on:
    /// their deques, and then their inboxes. Who is patient leaves what was sent to other places to these for a moment.
    fn sweep(&mut self, worker: &Worker, is_patient: bool) -> Option<Found> {
        let received = worker.take_pinned().or_else(|| receive(worker));
        let stolen =
            received.or_else(|| self.others(worker).find_map(|victim| self.steal(worker, victim)));
        stolen.or_else(|| self.search_inboxes(worker, is_patient))
    }

    /// All other workers, from a random one on; but near ones first.
    fn others<'w>(&mut self, worker: &'w Worker) -> impl Iterator<Item = usize> + use<'w> {
        let (own, slots) = (worker.slot_index(), worker.shared().slots_taken());
        let first = self.victims.choose(slots);
        let alike = first.filter(|_| worker.place_state().is_none());
        let victims = alike.into_iter().flat_map(move |first| first..first + slots);
        let victims =
            victims.map(move |victim| victim % slots).filter(move |&victim| victim != own);
        victims.chain(near::in_order(worker, first.unwrap_or(0)))
    }

    /// Looks into the inboxes of all other workers and places, and not only at a glance.
    fn search_inboxes(&mut self, worker: &Worker, is_patient: bool) -> Option<Found> {
        let sent = self.others(worker).find_map(|victim| take_sent(worker, victim));
        let mut others = worker.place_state().map_or(&[][..], PlaceState::others).iter();
        sent.or_else(|| {
            others.find_map(|&place| {
                if is_patient {
                    return self.take_if_left(worker, place, false);
                }
                take_from_place(worker, place)
            })
        })
    }

    /// What was sent to another place than that of this worker, and was left there.
    fn take_if_left(&mut self, worker: &Worker, place: usize, at_a_glance: bool) -> Option<Found> {
        let there = &worker.shared().place_states()[place];
        let is_left = self.near.is_left(place, there, at_a_glance);
        if is_left { take_from_place(worker, place) } else { None }
    }

    fn steal(&mut self, worker: &Worker, victim: usize) -> Option<Found> {
        let slot = worker.shared().slot(victim);
        let mut steal = slot.deque().steal_oldest();
        for _ in 0..LOOKS {
            if !matches!(steal, Steal::Kept) {
                break;
            }
            spin_loop();
            steal = slot.deque().steal_oldest();
        }
        self.has_asked |= matches!(steal, Steal::Kept);
        if let Steal::Taken(job) = steal {
            worker.record_steal_from(victim);
            return Some(Found { job, from: victim });
        }
        worker.counters().failed_steals.increment();
        None
    }

    /// An owner that was asked to open its deque and has not done so may be suspended, or busy with one long task, while
    /// others wait there. So a thief sees to it, at the latest before it gives up the processor.
    fn insist(&mut self, worker: &Worker) {
        if std::mem::take(&mut self.has_asked) {
            worker.shared().open_deques(&mut self.closed);
        }
    }

    fn end_search(&mut self, worker: &Worker) {
        let shared = worker.shared();
        shared.sleep().end_search(worker.wake_token(), || {
            shared.open_deques(&mut self.closed);
            shared.is_work_left()
        });
    }

    /// Beside busy programs this may take long. So the worker does not count as searching meanwhile: pushes wake another.
    fn yield_lowered(&mut self, worker: &Worker) {
        let shared = worker.shared();
        if !shared.can_lower_priority() {
            return self.let_others_run(worker);
        }
        self.end_search(worker);
        let lowered = LoweredPriority::begin();
        self.let_others_run(worker);
        // Back to normal before taking anything: a thief that is preempted after it took a task hides it.
        drop(lowered);
        shared.sleep().begin_search();
    }

    /// As in `yield_lowered`, if there is much to read.
    fn poll_allowance_while_searching(&mut self, worker: &Worker) {
        let shared = worker.shared();
        if !shared.is_poll_long() {
            let _ = shared.poll_allowance(PollBudget::Searches);
            return;
        }
        self.end_search(worker);
        let _ = shared.poll_allowance(PollBudget::Hardly);
        shared.sleep().begin_search();
    }

    /// Looks what is allowed, if that is due. Says whether it has: then it may be another number.
    fn looks_before_it_sleeps(&mut self, worker: &Worker) -> bool {
        let shared = worker.shared();
        if !shared.is_poll_due() {
            return false;
        }
        self.end_search(worker);
        let has_looked = shared.poll_allowance(PollBudget::Full);
        shared.sleep().begin_search();
        has_looked
    }

    /// Gives the processor to `peer`, which does not run.
    fn hand_over(&mut self, worker: &Worker, peer: usize) {
        if bring_here(worker, peer) {
            self.insist(worker);
            worker.counters().hand_overs.increment();
            self.let_others_run(worker);
        }
    }

    fn let_others_run(&mut self, worker: &Worker) {
        self.account_for_switches(worker, 0);
        worker.counters().yields.increment();
        os::yield_now();
        let has_switched = worker.slot().switches().is_some_and(|now| now > self.switches);
        let is_alone = || {
            let here = worker.slot().processor();
            here.is_some_and(|here| !is_taken(here, worker))
        };
        self.account_for_switches(worker, u64::from(has_switched && is_alone()));
    }

    /// The context switches since this was last done brought a thief back, all but so many. It counts them itself, so that
    /// who has work pays nothing.
    fn account_for_switches(&mut self, worker: &Worker, but: u64) {
        if let Some(now) = worker.slot().switches() {
            worker.counters().to_thief.add(now - self.switches - but);
            self.switches = now;
        }
    }

    /// Sleeps, and then looks at everything, whatever the idle policy goes on to say: it cannot leave alone what there is. But a
    /// worker that is over the limit leaves to the others what they seem to be busy with.
    fn sleep_and_look(&mut self, worker: &Worker, done: &Flag) -> Option<Found> {
        let slept = self.sleep(worker, done);
        let shared = worker.shared();
        let was_wanted = !shared.sleep().is_over_limit();
        shared.postpone_poll();
        // A rest may be over. Files are read when it has seen that there is nothing to do.
        let _ = shared.poll_allowance(PollBudget::Searches);
        if done.is_set() {
            return None;
        }
        if !worker.shared().sleep().is_over_limit() {
            let found = self.sweep(worker, true);
            if found.is_none() && slept == Slept::No {
                // Else it would look at everything again and again, and have closed deques opened.
                self.near.waits();
            }
            // Not if it has just learnt that one more may be awake: that is this one.
            self.sleeps_on = found.is_none() && slept == Slept::TimedPark && was_wanted;
            return found;
        }
        let is_over = worker.shared().sleep().is_over_size();
        let received = worker.take_pinned().or_else(|| {
            let own = worker.receive_from(worker.slot().inbox());
            let near = own.or_else(|| if is_over { None } else { receive_near(worker) });
            near.or_else(|| {
                let leaves = worker.shared().sleep().leaves_the_inbox();
                if leaves { None } else { worker.take_sent() }
            })
        });
        if received.is_some() || !slept.is_as_sentinel() {
            return received;
        }
        self.take_untouched(worker, is_over)
    }

    /// One attempt, or two, at each deque that seems to have been left alone, and one at each such inbox.
    fn take_untouched(&mut self, worker: &Worker, is_over: bool) -> Option<Found> {
        let leaves_the_inbox = worker.shared().sleep().leaves_the_inbox();
        if self.untouched.is_what_was_sent_left_alone(worker.shared(), leaves_the_inbox) {
            let sent = worker.receive_from(worker.shared().inbox());
            if sent.is_some() {
                return sent;
            }
        }
        let places = worker.shared().place_states();
        let sent = places.iter().enumerate().find_map(|(place, place_state)| {
            if !self.untouched.is_place_left_alone(place, worker.shared(), is_over) {
                return None;
            }
            if place == worker.place() {
                return worker.receive_from(place_state.inbox());
            }
            let sent = take_from_place(worker, place);
            if sent.is_some() && !is_over && !place_state.inbox().looks_empty() {
                // Who is awake there may be stuck, and this one takes one a timed park.
                worker.shared().sleep().wake_one_of(&place_state.range());
            }
            sent
        });
        if sent.is_some() {
            return sent;
        }
        let slots = worker.shared().slots_taken();
        (0..slots).filter(|&victim| victim != worker.slot_index()).find_map(|victim| {
            if self.untouched.is_inbox_left_alone(victim, worker.shared(), is_over) {
                let sent = take_sent(worker, victim);
                if sent.is_some() {
                    if !is_over && !worker.shared().slot(victim).inbox().looks_empty() {
                        // Nobody was woken while as many were awake as are allowed, and this one takes one a timed park.
                        worker.shared().sleep().wake(victim);
                    }
                    return sent;
                }
            }
            if !self.untouched.is_left_alone(victim, worker.shared(), is_over) {
                return None;
            }
            self.steal(worker, victim).or_else(|| {
                // The owner may be one that goes on without being robbed, and cannot answer while this worker has its
                // processor.
                let has_asked = self.has_asked;
                self.insist(worker);
                has_asked.then(|| self.steal(worker, victim)).flatten()
            })
        })
    }

    fn sleep(&mut self, worker: &Worker, done: &Flag) -> Slept {
        let shared = worker.shared();
        let in_reserve = self.reserve > 0;
        let look_again = |rest| {
            if rest != Rest::Relieved {
                shared.open_deques(&mut self.closed);
            }
            match rest {
                Rest::AsSentinel => self.reserve = RESERVE,
                Rest::InReserve => self.reserve -= 1,
                Rest::Full | Rest::Relieved => {}
            }
            if matches!(rest, Rest::AsSentinel | Rest::InReserve) {
                self.untouched.note(shared);
            }
            let is_work_left = match rest {
                Rest::Full | Rest::InReserve => shared.is_work_left(),
                Rest::Relieved | Rest::AsSentinel => {
                    let is_near = |place_state: &PlaceState| !place_state.inbox().is_empty();
                    let is_sent = || !shared.inbox().is_empty();
                    !shared.sleep().leaves_what_is_sent()
                        && (is_sent() || worker.place_state().is_some_and(is_near))
                }
            };
            let is_addressed = worker.has_pinned() || !worker.slot().inbox().is_empty();
            let stay_awake = done.is_set() || is_addressed || is_work_left;
            worker.counters().sleeps.add(u64::from(!stay_awake));
            stay_awake
        };
        worker.slot().does(Activity::Sleeps);
        let (sleep, slot) = (shared.sleep(), worker.slot_index());
        let slept = if in_reserve {
            sleep.sleep_in_reserve(slot, look_again)
        } else {
            sleep.sleep(slot, look_again)
        };
        if slept == Slept::No {
            worker.slot().does_not_sleep();
        } else {
            worker.slot().does(Activity::Searches);
            self.account_for_switches(worker, 0);
            worker.counters().wakeups.increment();
            move_out_of_the_way(worker);
        }
        slept
    }

    fn context<'a>(&self, worker: &'a Worker, done: &Flag, failures: u64) -> IdleContext<'a> {
        let shared = worker.shared();
        let snapshot = shared.sleep().snapshot();
        IdleContext {
            failures,
            waits: !shared.is_end_of_service(worker.slot_index(), done),
            workers: shared.workers(),
            searching: snapshot.searching(),
            asleep: snapshot.asleep(),
            processors: shared.processors(),
            worker: worker.index(),
            victim: self.victim.filter(|&victim| victim < shared.workers()),
            slot: worker.slot_index(),
            peers: &**shared,
        }
    }
}

/// From the worker's own inbox, its place's, or those of the pool.
fn receive(worker: &Worker) -> Option<Found> {
    let own = worker.receive_from(worker.slot().inbox());
    let near = own.or_else(|| receive_near(worker));
    near.or_else(|| worker.take_sent())
}

fn receive_near(worker: &Worker) -> Option<Found> {
    worker.receive_from(worker.place_state()?.inbox())
}

/// A ready task that was sent to another worker.
fn take_sent(worker: &Worker, victim: usize) -> Option<Found> {
    let job = worker.shared().slot(victim).inbox().take()?;
    worker.record_steal_from(victim);
    Some(Found { job, from: victim })
}

/// What was sent to a place that is not this worker's.
fn take_from_place(worker: &Worker, place: usize) -> Option<Found> {
    let found = worker.receive_from(worker.shared().place_states()[place].inbox());
    worker.counters().out_of_place.add(u64::from(found.is_some()));
    found
}

/// Has satellites look at what they have noted here, and takes what that has made ready.
fn look_after_satellites(worker: &Worker) -> Option<Found> {
    hooks::idle().then(|| worker.take_own()).flatten()
}

impl fmt::Debug for Searcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Searcher").field("victims", &self.victims).finish_non_exhaustive()
    }
}
