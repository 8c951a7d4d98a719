//! How workers sleep and are woken: announce, look again, park. No wake-up is lost.
//!
//! This module blocks and wakes threads; `idle` decides when. Terms:
//! - A **limit** is a number of workers that may be awake (`limits.rs`). Its **spare** is the
//!   number of workers minus the limit: that many may sleep while tasks wait.
//! - The **sentinel** is one sleeping worker that parks with a timeout. It then takes tasks that no
//!   worker has touched, since the awake workers may be blocked.
//!
//! The README beside this file has the states, the protocol and the argument. Nothing here takes a
//! lock. A thread that is suspended at any step leaves the others able to wake each other.

mod counters;
pub(crate) mod limit;
mod limits;
#[cfg(all(test, loom))]
mod models;
mod notify;
mod parker;
mod sleepers;
mod takeover;
#[cfg(all(test, debug_assertions, not(loom)))]
mod tests;
mod wake_affinity;
mod wake_token;

use std::sync::Arc;
use std::time::Duration;

use counters::Counters;
pub(crate) use counters::{MAX_WORKERS, Snapshot};
pub(crate) use limit::Limit;
use limits::Limits;
use parker::Parker;
use sleepers::Sleepers;
use takeover::Takeover;
use wake_affinity::WakeAffinity;
pub(crate) use wake_token::WakeToken;

use crate::primitive::{CachePadded, Ordering, fence};
pub(crate) use crate::trace::SleepRole;
use crate::trace::{Event, Tracer};
use crate::unwind::AbortOnUnwind;

/// The sleep protocol of one pool.
#[derive(Debug)]
pub(crate) struct Sleep {
    counters: Counters,
    sleepers: Sleepers,
    /// One for each slot.
    parkers: Box<[CachePadded<Parker>]>,
    /// One for each worker.
    takeovers: Box<[CachePadded<Takeover>]>,
    /// One for each slot, or none.
    wake_affinities: Box<[CachePadded<WakeAffinity>]>,
    /// The number of processors that workers with a wake-up affinity may run on.
    processors: usize,
    limits: Limits,
    pub(crate) tracer: Option<Arc<dyn Tracer>>,
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SleepOutcome {
    /// The worker did not park: there was a reason to stay awake.
    StayedAwake,
    /// The park without a timeout returned: the worker was notified, or spuriously.
    Woken,
    /// An external thread had taken over the sleeping worker, which was then recalled. That thread
    /// still runs its task, but no longer acts as the worker.
    Recalled,
    /// The sentinel's park returned, and the worker was notified.
    SentinelWoken,
    /// The sentinel's park returned without a notification: after its timeout, or spuriously.
    SentinelTimedOut,
}

impl SleepOutcome {
    pub(crate) fn is_sentinel(self) -> bool {
        matches!(self, Self::SentinelWoken | Self::SentinelTimedOut)
    }
}

impl Sleep {
    /// For a pool of `workers` workers, without replacements and external threads.
    #[cfg(test)]
    pub(crate) fn new(workers: usize, limit: Limit) -> Self {
        Self::with_slots(workers, workers, 0, limit, usize::MAX)
    }

    /// The protocol of a pool that has just started:
    /// - `workers`: the number of workers.
    /// - `slots`: the number of workers, replacements and external threads.
    /// - `borrowed_threads`: how many of the first workers run on threads of the program.
    /// - `limit`: what policy and allowance permit to be awake, borrowed threads included.
    /// - `allowed`: the number of workers that the process is allowed, without borrowed threads.
    pub(crate) fn with_slots(
        workers: usize,
        slots: usize,
        borrowed_threads: usize,
        limit: Limit,
        allowed: usize,
    ) -> Self {
        debug_assert!(workers <= slots && slots <= MAX_WORKERS);
        Self {
            counters: Counters::default(),
            sleepers: Sleepers::new(slots),
            parkers: (0..slots).map(|_| CachePadded::default()).collect(),
            takeovers: (0..workers).map(|_| CachePadded::default()).collect(),
            wake_affinities: Box::default(),
            processors: 0,
            limits: Limits::new(workers, borrowed_threads, limit, allowed),
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

    /// Enables wake-up affinity, for workers that may run on all of so many `processors`: a pusher
    /// that wakes a worker keeps it off its own processor if another one is idle.
    pub(crate) fn enable_wake_affinities(&mut self, processors: usize) {
        let new = |_| CachePadded::new(WakeAffinity::new());
        self.wake_affinities = self.parkers.iter().map(new).collect();
        self.processors = processors;
    }

    /// The counters a moment ago.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.counters.snapshot()
    }

    /// Counts the calling worker as searching.
    pub(crate) fn begin_search(&self) {
        self.counters.begin_search();
    }

    /// Ends the search of the calling worker, whether or not it found a task. While it searched,
    /// pushes woke no sleeper. So if it was the last that searched, it calls `is_work_left`, and
    /// wakes a sleeper if that returns true and the push limit permits.
    pub(crate) fn end_search(&self, wake_token: &WakeToken, is_work_left: impl FnOnce() -> bool) {
        let snapshot = self.counters.end_search();
        if self.needs_thief(snapshot) {
            // Pairs with the fence in `notify_pushed`. If the push read counters in which this
            // worker still searched, `is_work_left` sees its task.
            fence(Ordering::SeqCst);
            if is_work_left() {
                // With this snapshot, which counts a sleeper. With a later one that counts none,
                // the token would record a wake-up that does not happen.
                self.wake_unless_under_way(snapshot, wake_token, &wake_token.neighbours());
            }
        }
    }

    /// Has the calling worker, which searches, sleep until it is woken. If it is over the push
    /// limit and there is no sentinel, it becomes the sentinel. With `in_reserve`, it also does so
    /// within the limit: then there is one already when the push limit is reached again. The worker
    /// searches when this returns. That may be early, as a park may return spuriously.
    ///
    /// Before it parks, it calls `look_again` with its role, and stays awake if that returns true.
    /// `look_again` looks at everything that the role does not leave to others. It does so even
    /// while other workers search, since those may be suspended.
    pub(crate) fn sleep(
        &self,
        slot: usize,
        in_reserve: bool,
        look_again: impl FnOnce(SleepRole) -> bool,
    ) -> SleepOutcome {
        let parker = &self.parkers[slot];
        parker.reset();
        // Before the counters: a worker that is counted as asleep is in the set.
        self.sleepers.insert(slot);
        let role = self.begin_sleep(in_reserve);
        // Pairs with the fences that follow the publication of a task or an event (`notify_pushed`,
        // `notify_injected`, `notify_addressed`, `wake`).
        fence(Ordering::SeqCst);
        if look_again(role) {
            self.counters.end_sleep(role.is_sentinel());
            self.sleepers.remove(slot);
            return SleepOutcome::StayedAwake;
        }
        let timeout = role.is_sentinel().then(|| self.limits.timed_park());
        if timeout.is_none() {
            self.takeovers.get(slot).inspect(|takeover| takeover.begin_sleep());
        }
        let is_notified = self.park(slot, role, timeout);
        let outcome = match timeout {
            None => SleepOutcome::Woken,
            Some(_) if is_notified => SleepOutcome::SentinelWoken,
            Some(_) => SleepOutcome::SentinelTimedOut,
        };
        let is_recalled = self.end_park(slot, role.is_sentinel());
        // Not before: the thread sleeps on while another one acts as the worker.
        self.trace(|| Event::Unparks);
        if is_recalled { SleepOutcome::Recalled } else { outcome }
    }

    fn begin_sleep(&self, in_reserve: bool) -> SleepRole {
        let spare = self.limits.spare();
        if self.counters.begin_sleep_as_sentinel(spare) {
            return SleepRole::Sentinel;
        }
        if in_reserve && spare > 0 && self.counters.begin_sleep_as_sentinel(usize::MAX) {
            return SleepRole::ReserveSentinel;
        }
        let snapshot = self.counters.begin_sleep();
        // Read again, after the change of the counters: see `update_limits`.
        if snapshot.is_limit_reached(self.limits.spare()) {
            SleepRole::Spare
        } else {
            SleepRole::Ordinary
        }
    }

    fn park(&self, slot: usize, role: SleepRole, timeout: Option<Duration>) -> bool {
        self.trace(|| Event::Parks(role));
        // A borrowed thread has none: it may do something else before it comes here again.
        let wake_affinity = self.wake_affinities.get(slot);
        let wake_affinity = wake_affinity.filter(|_| slot >= self.limits.borrowed_threads);
        wake_affinity.inspect(|wake_affinity| wake_affinity.begin_sleep(self.processors));
        let is_notified = self.parkers[slot].park(timeout);
        wake_affinity.inspect(|wake_affinity| wake_affinity.end_sleep());
        is_notified
    }
}
