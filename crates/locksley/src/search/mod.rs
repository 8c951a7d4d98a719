//! How a worker without work searches for some: it asks the pool's idle policy, and does what that
//! says.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the loop: the policy decides; the worker makes an attempt, yields or sleeps |
//! | `attempt.rs` | one attempt to find work, and a sweep over the whole pool |
//! | `victims.rs` | which victim an attempt chooses |
//! | `monitor.rs` | when the limit of active workers changes |

mod attempt;
mod monitor;
mod victims;

use crate::deque::OpenRequest;
use crate::header::Found;
use crate::hooks;
use crate::idle::{Activity, IdleContext, Move, Thief};
use crate::numbers::{Index, Slot};
use crate::os::{self, RunState};
use crate::primitive::{Instant, spin_loop};
use crate::shared::Shared;
use crate::shared::index_lock::Idle;
use crate::sleep::{SleepOutcome, WakeToken};
use crate::trace::{Event, SleepRole};
use crate::tuning::CHECK_MACHINE_EVERY;
use crate::unwind::AbortOnUnwind;
use monitor::{Monitor, OwnWaits};
use victims::Victims;

/// What a search needs of its thread.
#[derive(Clone, Copy)]
pub(crate) struct Seeker<'s> {
    pub(crate) shared: &'s Shared,
    pub(crate) slot: Slot,
    pub(crate) index: Index,
    pub(crate) wake_token: &'s WakeToken,
    /// `Some` if other threads may take the index between two attempts. The caller then ensures
    /// that it has the index before it runs a task. `None` if no other thread may.
    pub(crate) idle: Option<Idle>,
}

/// The search of one worker, and what it keeps from one search to the next.
pub(crate) struct Search {
    /// The idle policy's part for this worker.
    thief: Box<dyn Thief>,
    victims: Victims,
    /// Empty between calls of [`Shared::open_deques`]; kept for its memory.
    open_requests: Vec<(Slot, OpenRequest)>,
    /// The last victim that has not opened its closed deque at the request of this thief.
    /// `None` since the last `steal_by_force`.
    unanswered: Option<Slot>,
    /// Failed attempts since the search began, or since the worker last slept.
    failures: u64,
    /// The victim of the last attempt.
    victim: Option<Slot>,
    /// True if the next attempt, if it fails, opens closed deques by force.
    forces: bool,
    /// True if the next attempt looks everywhere: after a sleep, and from time to time.
    sweeps: bool,
    own_waits: OwnWaits,
    monitor: Monitor,
}

impl Search {
    pub(crate) fn new(seeker: Seeker<'_>) -> Self {
        let Seeker { shared, slot, index, .. } = seeker;
        Self {
            thief: shared.config.idle_policy.thief(index.get(), shared.workers),
            victims: Victims::new(slot),
            open_requests: Vec::new(),
            unanswered: None,
            failures: 0,
            victim: None,
            forces: false,
            sweeps: false,
            own_waits: OwnWaits::new(),
            monitor: Monitor::default(),
        }
    }

    /// Searches until there is work, or `is_over` returns true. Also returns, without a task, when
    /// there may be one that no search looks for: a pinned one, or one in the worker's own deque.
    pub(crate) fn run(&mut self, seeker: Seeker<'_>, is_over: &dyn Fn() -> bool) -> Option<Found> {
        let abort = AbortOnUnwind("an idle policy or a hook panicked");
        self.begin(seeker);
        let mut found = None;
        // Each attempt holds the index. In between, another thread may take it. If one has claimed
        // it already, there is no attempt.
        let is_released = seeker.begin_idle();
        while is_released && !is_over() && !self.back_off(seeker, is_over) && seeker.end_idle() {
            if seeker.may_have_local_task() {
                break;
            }
            found = self.attempt(seeker);
            if found.is_some() || !seeker.begin_idle() {
                break;
            }
        }
        if found.is_none() {
            // No effect if this worker holds the index already, or has lost it.
            seeker.end_idle();
        }
        self.end(seeker, found);
        abort.disarm();
        found
    }

    /// Does what the policy says before an attempt. Returns true if the search ends.
    fn back_off(&mut self, seeker: Seeker<'_>, is_over: &dyn Fn() -> bool) -> bool {
        let next = self.next_move(seeker);
        if self.unanswered.is_some() && matches!(next, Move::Yield | Move::HandOver(_)) {
            // The owner may wait for this processor, or be suspended.
            self.forces = true;
            return false;
        }
        match next {
            Move::Search => spin_loop(),
            Move::Yield => seeker.yield_to_others(),
            Move::HandOver(peer) => seeker.hand_over(Slot::new(peer)),
            Move::Wake(sleeper) => _ = seeker.shared.sleep.wake_sleeper(Slot::new(sleeper)),
            // A flush that has made tasks ready has put them into this worker's deque.
            Move::Sleep => return hooks::flush() || self.sleep(seeker, is_over),
        }
        false
    }

    /// Asks the policy, unless the worker is over the limit.
    fn next_move(&mut self, seeker: Seeker<'_>) -> Move {
        let shared = seeker.shared;
        if shared.sleep.is_over_limit() {
            return Move::Sleep;
        }
        if self.failures % u64::from(CHECK_MACHINE_EVERY) == 0 {
            shared.machine.sample(Instant::now(), || shared.sleep.active());
        }
        let context = self.context(seeker);
        self.thief.next(&context)
    }

    fn begin(&mut self, seeker: Seeker<'_>) {
        let shared = seeker.shared;
        // In a forked child all work that could come belongs to the parent.
        shared.abort_if_in_forked_child();
        self.follow_limit(seeker);
        shared.sleep.begin_search();
        shared.slot(seeker.slot).set_activity(Activity::Searches);
        shared.trace(|| Event::SearchBegins);
        (self.failures, self.victim) = (0, None);
    }

    /// Follows what the system grants, and the share. Lowers the limit if this worker has waited for
    /// long.
    fn follow_limit(&mut self, seeker: Seeker<'_>) {
        let (shared, now) = (seeker.shared, Instant::now());
        shared.follow_grant(now);
        if seeker.slot.get() >= shared.config.borrowed_threads() {
            self.own_waits.lower_limit_if_long(shared, seeker.slot, now);
        }
    }

    fn end(&mut self, seeker: Seeker<'_>, found: Option<Found>) {
        if let Some(found) = found.filter(|found| found.from != seeker.slot) {
            self.victims.remember(found.from);
            let context = self.context(seeker);
            self.thief.stole(&context);
        }
        let shared = seeker.shared;
        shared.slot(seeker.slot).set_activity(Activity::Works);
        shared.trace(|| Event::SearchEnds);
        shared.sleep.end_search(seeker.wake_token, || {
            shared.open_deques(&mut self.open_requests);
            shared.is_work_left()
        });
    }

    fn context<'a>(&self, seeker: Seeker<'a>) -> IdleContext<'a> {
        let shared = seeker.shared;
        let is_visible = |victim: &usize| {
            let is_active = || shared.slot(Slot::new(*victim)).activity() != Activity::Sleeps;
            *victim < shared.workers || (*victim < shared.first_replacement() && is_active())
        };
        IdleContext {
            failures: self.failures,
            workers: shared.workers,
            processors: shared.processors(),
            worker: seeker.index.get(),
            victim: self.victim.map(Slot::get).filter(is_visible),
            slot: seeker.slot.get(),
            peers: shared,
        }
    }

    /// Sleeps until there may be work. Returns true if the search ends.
    fn sleep(&mut self, seeker: Seeker<'_>, is_over: &dyn Fn() -> bool) -> bool {
        let (shared, slot) = (seeker.shared, seeker.shared.slot(seeker.slot));
        slot.set_activity(Activity::Sleeps);
        self.monitor.begin();
        let scratch = std::cell::RefCell::new(&mut self.open_requests);
        let is_counted = std::cell::Cell::new(false);
        let look_again = |role: SleepRole| {
            let is_work_left = role == SleepRole::Ordinary && {
                shared.open_deques(&mut scratch.borrow_mut());
                shared.is_work_left()
            };
            let stays_awake = is_over() || seeker.must_stay_awake() || is_work_left;
            // A monitor that retires looks twice.
            if !stays_awake && !is_counted.replace(true) {
                slot.counters.sleeps.increment();
            }
            stays_awake
        };
        let watch = || self.monitor.watch(shared);
        let outcome = shared.sleep.sleep(seeker.slot, look_again, watch);
        if outcome == SleepOutcome::StayedAwake {
            slot.cancel_sleep();
        } else {
            slot.set_activity(Activity::Searches);
            slot.counters.wakeups.increment();
            if shared.share.is_asked_for() {
                self.follow_limit(seeker);
            }
        }
        // The attempt after a sleep looks everywhere. So a worker finds the task that it was woken
        // for, even if its policy always sleeps.
        (self.failures, self.victim, self.sweeps) = (0, None, true);
        is_over()
    }
}

impl Seeker<'_> {
    /// Gives the processor to the thread in slot `peer`, if that waits for just this processor.
    fn hand_over(self, peer: Slot) {
        let here = self.shared.slot(self.slot).processor();
        if self.shared.slot(peer).run_state(here) == RunState::WaitsHere {
            self.counters().hand_overs.increment();
            self.shared.trace(|| Event::HandsOver(peer.get()));
            self.yield_to_others();
        }
    }

    /// Yields the processor.
    fn yield_to_others(self) {
        self.counters().yields.increment();
        os::yield_now();
    }

    /// The worker is about to take a task. Returns false if it has lost the index.
    fn end_idle(self) -> bool {
        self.idle.is_none() || self.shared.index_lock(self.index).end_idle(self.slot)
    }

    /// The worker has no task. Returns false if another thread waits for the index.
    fn begin_idle(self) -> bool {
        let lock = self.shared.index_lock(self.index);
        self.idle.is_none_or(|idle| lock.begin_idle(self.slot, idle))
    }

    /// True if there may be a pinned task, or one in the worker's own deque.
    fn may_have_local_task(self) -> bool {
        let slot = self.shared.slot(self.slot);
        !slot.pinned_tasks.is_empty() || !slot.has_empty_deque() && !slot.deque.is_empty()
    }

    /// True if the worker has a reason to stay awake that is its own.
    fn must_stay_awake(self) -> bool {
        let is_lost = || {
            let lock = self.shared.index_lock(self.index);
            self.idle.is_some() && !lock.is_held_by(self.slot)
        };
        let inbox = &self.shared.slot(self.index.slot()).inbox;
        self.may_have_local_task() || !inbox.is_empty() || is_lost()
    }
}
