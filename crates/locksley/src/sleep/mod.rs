//! How workers sleep and are woken: announce, look again, park. No wake-up is lost.
//!
//! This module blocks and wakes threads; `idle` decides when. The README beside this file has the
//! states, the protocol and the argument. Nothing here takes a lock. A thread that is suspended at
//! any step leaves the others able to wake each other within the limit.

mod counters;
#[cfg(all(test, loom))]
mod models;
mod notify;
mod parker;
#[cfg(all(test, debug_assertions, not(loom)))]
mod tests;

use std::sync::Arc;

pub(crate) use counters::{MAX_WORKERS, Snapshot};
pub(crate) use notify::WakeToken;
pub(crate) use parker::Parker;

use crate::numbers::Slot;
use crate::primitive::{AtomicBool, AtomicUsize, CachePadded, Ordering, fence};
use crate::trace::{Event, SleepRole, Tracer};
use crate::tuning;
use crate::unwind::AbortOnUnwind;
use counters::{Counters, Sleepers};

/// The sleep protocol of one pool.
#[derive(Debug)]
pub(crate) struct Sleep {
    counters: Counters,
    /// True if a push may have to wake a sleeper: then it reads the counters. It may be true too
    /// long, but is never false too long (see the README). It rarely changes: mostly with the first
    /// and the last searching worker.
    needs_thief: CachePadded<AtomicBool>,
    sleepers: Sleepers,
    /// One for each slot.
    parkers: Box<[CachePadded<Parker>]>,
    /// The workers that may be active at most, and sleep: all but borrowed threads.
    workers: usize,
    /// How many of them may be active.
    limit: CachePadded<AtomicUsize>,
    pub(crate) tracer: Option<Arc<dyn Tracer>>,
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SleepOutcome {
    /// The worker did not park: there was a reason to stay awake.
    StayedAwake,
    /// The worker was notified, or woke up as the [monitor](Watch::Wake), or its park returned
    /// spuriously.
    Woken,
}

/// What the monitor does after it has looked at the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// It goes on sleeping, and looks again later.
    Continue,
    /// No worker is active: it sleeps on as any other worker.
    Retire,
    /// It wakes up instead of raising the limit: tasks wait, the active workers block or make no
    /// progress, and fewer are active than may be.
    Wake,
}

impl Sleep {
    /// The protocol of a pool of `workers` workers, without borrowed threads, of which `limit` may
    /// be active, and with `slots` slots.
    pub(crate) fn new(workers: usize, slots: usize, limit: usize) -> Self {
        debug_assert!(workers <= slots && slots <= MAX_WORKERS);
        Self {
            counters: Counters::default(),
            needs_thief: CachePadded::new(AtomicBool::new(false)),
            sleepers: Sleepers::new(slots),
            parkers: (0..slots).map(|_| CachePadded::default()).collect(),
            workers,
            limit: CachePadded::new(AtomicUsize::new(limit)),
            tracer: None,
        }
    }

    /// Records an event, if the pool is traced. For slow paths: otherwise it costs a load and a
    /// branch.
    pub(crate) fn trace(&self, event: impl FnOnce() -> Event) {
        if let Some(tracer) = &self.tracer {
            // A frame below may hold a task that the pool has a pointer to.
            let abort = AbortOnUnwind("a tracer panicked");
            tracer.record(event());
            abort.disarm();
        }
    }

    /// The parker of the thread in `slot`.
    pub(crate) fn parker(&self, slot: Slot) -> &Parker {
        &self.parkers[slot.get()]
    }

    /// The counters a moment ago.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.counters.snapshot()
    }

    /// How many workers may be active.
    pub(crate) fn limit(&self) -> usize {
        // Relaxed: see `set_limit`.
        self.limit.load(Ordering::Relaxed)
    }

    /// How many workers may sleep while tasks wait.
    fn spare(&self) -> usize {
        self.workers.saturating_sub(self.limit())
    }

    /// How many workers are active: they work, search, or are about to.
    pub(crate) fn active(&self) -> usize {
        self.workers.saturating_sub(self.snapshot().asleep())
    }

    /// True if a worker searches.
    pub(crate) fn has_searching_worker(&self) -> bool {
        self.snapshot().searching() > 0
    }

    /// True if as many *other* workers are active as the limit allows. For a worker that searches.
    pub(crate) fn is_over_limit(&self) -> bool {
        // The limit first: where all workers may be active, no word is read that they write.
        let spare = self.spare();
        spare > 0 && self.snapshot().asleep() < spare
    }

    /// Counts the calling worker as searching.
    pub(crate) fn begin_search(&self) {
        self.clear_needs_thief(self.counters.begin_search());
    }

    /// Called after a worker has begun to search, with the counters after that. While it searches,
    /// pushes wake no sleeper.
    fn clear_needs_thief(&self, now: Snapshot) {
        // Only the first one that searches clears it, while it still searches. So each clearing
        // comes before the setting by the last one. Read first, because all that push share the
        // line.
        if now.searching() == 1 && self.needs_thief.load(Ordering::Relaxed) {
            self.needs_thief.store(false, Ordering::Relaxed);
        }
    }

    /// Called after a worker has stopped searching, with the counters after that. If it was the
    /// last, pushes may have to wake a sleeper from now on. Returns true if so. The caller makes a
    /// fence before it looks for work.
    fn set_needs_thief(&self, now: Snapshot) -> bool {
        // It is never cleared here: this thread may be suspended before that, and clear it too
        // late.
        let needs_thief = now.needs_thief(self.spare());
        if needs_thief && !self.needs_thief.load(Ordering::Relaxed) {
            self.needs_thief.store(true, Ordering::Relaxed);
        }
        needs_thief
    }

    /// Ends the search of the calling worker, whether or not it found a task. While it searched,
    /// pushes woke no sleeper. So if it was the last that searched, it calls `is_work_left`, and
    /// wakes a sleeper if that returns true and the limit permits.
    pub(crate) fn end_search(&self, wake_token: &WakeToken, is_work_left: impl FnOnce() -> bool) {
        let now = self.counters.end_search();
        if self.set_needs_thief(now) {
            // Pairs with the fence in `notify_pushed`. If the push read that a worker searches,
            // `is_work_left` sees its task.
            fence(Ordering::SeqCst);
            if is_work_left() {
                self.wake_unless_under_way(now, wake_token);
            }
        }
    }

    /// Has the calling worker, which searches, sleep until it is woken. It searches when this
    /// returns. That may be early, as a park may return spuriously.
    ///
    /// Before it parks, it calls `look_again` with its role, and stays awake if that returns true.
    /// `look_again` looks at everything that the role does not leave to others. It does so even
    /// while other workers search, since those may be suspended.
    ///
    /// If the limit is reached and there is no monitor, the worker becomes the monitor: it calls
    /// `watch` from time to time.
    pub(crate) fn sleep(
        &self,
        slot: Slot,
        look_again: impl Fn(SleepRole) -> bool,
        mut watch: impl FnMut() -> Watch,
    ) -> SleepOutcome {
        let parker = self.parker(slot);
        parker.prepare();
        // Before the counters: a worker that is counted as asleep is in the set.
        self.sleepers.insert(slot);
        let mut role = self.begin_sleep();
        // Pairs with the fences that follow the publication of a task or an event (`notify_pushed`,
        // `notify_sent`, `Parker::unpark`).
        fence(Ordering::SeqCst);
        if look_again(role) {
            self.end_sleep(slot, role);
            return SleepOutcome::StayedAwake;
        }
        self.trace(|| Event::Parks(role));
        let mut is_called = false;
        while role == SleepRole::Monitor && !parker.block(Some(tuning::LOOK_INTERVAL)) {
            match watch() {
                Watch::Continue => {}
                Watch::Retire => {
                    role = self.retire();
                    is_called = look_again(role);
                }
                Watch::Wake => break,
            }
        }
        if role != SleepRole::Monitor && !is_called {
            parker.block(None);
        }
        self.end_sleep(slot, role);
        self.trace(|| Event::Unparks);
        SleepOutcome::Woken
    }

    fn begin_sleep(&self) -> SleepRole {
        if let Some(now) = self.counters.begin_sleep_as_monitor(self.spare()) {
            self.set_needs_thief(now);
            // The limit may have been raised before the counters changed. Then no monitor is
            // needed.
            if now.may_wake(self.spare()) {
                return self.role_of_sleeper(self.counters.retire_monitor());
            }
            return SleepRole::Monitor;
        }
        self.role_of_sleeper(self.counters.begin_sleep())
    }

    /// The calling worker sleeps on, and is not the monitor any more.
    fn retire(&self) -> SleepRole {
        let role = self.role_of_sleeper(self.counters.retire_monitor());
        // As in `sleep`.
        fence(Ordering::SeqCst);
        role
    }

    fn role_of_sleeper(&self, now: Snapshot) -> SleepRole {
        self.set_needs_thief(now);
        // The limit is read after the change of the counters: see `set_limit`.
        if now.may_wake(self.spare()) { SleepRole::Ordinary } else { SleepRole::OverLimit }
    }

    fn end_sleep(&self, slot: Slot, role: SleepRole) {
        self.clear_needs_thief(self.counters.end_sleep(role == SleepRole::Monitor));
        self.sleepers.remove(slot);
        self.parker(slot).finish();
    }

    /// Sets how many workers may be active. If it is raised, as many sleepers are woken as may be
    /// active in addition; each of them looks at everything.
    pub(crate) fn set_limit(&self, limit: usize) {
        // AcqRel: whoever replaces a limit sees what led to it (`Shared::set_limit`).
        let before = self.limit.swap(limit, Ordering::AcqRel);
        if before == limit {
            return;
        }
        // Release pairs with the acquire in each change of the counters. A decision by newer
        // counters sees the new limit. A sleeper that decided by older ones is seen below, and
        // woken.
        let now = self.counters.synchronize();
        self.trace(|| Event::Allows(limit));
        if limit > before {
            self.set_needs_thief(now);
            // Pairs with the fence in `notify_pushed`: either the push decides by the new limit, or
            // the sleepers that are woken here see the task.
            fence(Ordering::SeqCst);
            for _ in self.spare()..self.snapshot().asleep() {
                self.wake_one(&notify::ANY);
            }
        }
    }
}
