//! How workers sleep and how they are woken: announce, look again, block; and no wake-up is lost.
//!
//! This module blocks and wakes; it does not decide when (that is `hunt/`). The README beside this file has the
//! protocol and the argument. Nothing in it takes a lock, and a thread that is suspended at any step leaves the
//! others able to wake each other.

mod counters;
#[cfg(all(test, loom))]
mod models;
mod parker;
mod sleepers;
#[cfg(all(test, not(loom)))]
mod tests;

use std::cell::Cell;

use counters::Counters;
pub(crate) use counters::{Census, MAX_WORKERS};
use parker::Parker;
use sleepers::Sleepers;

use crate::primitive::{CachePadded, Ordering, fence};

/// The sleeping side of one pool.
#[derive(Debug)]
pub(crate) struct Sleep {
    counters: Counters,
    sleepers: Sleepers,
    parkers: Box<[CachePadded<Parker>]>,
}

/// A worker's own memory of the last wake-up that it asked for.
///
/// Until somebody has got up since, that wake-up is still under way and asking again would only cost.
#[derive(Debug, Default)]
pub(crate) struct Summons {
    made_at: Cell<Option<u32>>,
}

impl Sleep {
    pub(crate) fn new(workers: usize) -> Self {
        debug_assert!(workers <= MAX_WORKERS);
        Self {
            counters: Counters::new(),
            sleepers: Sleepers::new(workers),
            parkers: (0..workers).map(|_| CachePadded::new(Parker::new())).collect(),
        }
    }

    /// How many workers do what, a moment ago.
    pub(crate) fn census(&self) -> Census {
        self.counters.census()
    }

    pub(crate) fn begins_to_hunt(&self) {
        self.counters.begins_to_hunt();
    }

    /// A worker stops hunting, whatever it found. If it was the last one and others sleep, and `is_work_left` says so,
    /// one of them is woken to hunt in its place: pushes did not wake anybody while this one hunted.
    pub(crate) fn stops_hunting(&self, summons: &Summons, is_work_left: impl FnOnce() -> bool) {
        let census = self.counters.stops_hunting();
        if census.nobody_hunts_though_some_sleep() {
            // Pairs with the fence in `work_was_pushed`: a push that still saw this hunter is seen here.
            fence(Ordering::SeqCst);
            if is_work_left() {
                // By this census, in which somebody sleeps. By a later one nobody may, and then remembering its number
                // would mean to wait for who is not coming.
                self.summon_unless_under_way(census, summons);
            }
        }
    }

    /// A worker has pushed a task that others may take. All that it pays for those who idle: a fence, a load and a
    /// comparison, and one wake-up after the last hunter fell asleep.
    #[inline]
    pub(crate) fn work_was_pushed(&self, summons: &Summons) {
        // Pairs with the fences in `sleep` and `stops_hunting`: either they see the task, or we see that they are gone.
        fence(Ordering::SeqCst);
        let census = self.census();
        if census.nobody_hunts_though_some_sleep() {
            self.summon_unless_under_way(census, summons);
        }
    }

    /// Whether a worker that pushes has to care about those who sleep. The caller has just changed something that says
    /// how it will push from now on.
    pub(crate) fn relies_on_pushes(&self) -> bool {
        // Pairs with the fences in `sleep` and `stops_hunting`: either they see the change, or we that they are gone.
        fence(Ordering::SeqCst);
        self.census().nobody_hunts_though_some_sleep()
    }

    /// Somebody who is no worker of this pool has sent it work. Wakes a sleeper if there is one, even when others
    /// hunt: one of those may be suspended, and the sender will not do the work itself.
    pub(crate) fn work_was_sent(&self) {
        // Pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        if self.census().asleep() > 0 {
            self.summon();
        }
    }

    #[cold]
    #[inline(never)]
    fn summon_unless_under_way(&self, census: Census, summons: &Summons) {
        if summons.made_at.replace(Some(census.got_up())) != Some(census.got_up()) {
            self.summon();
        }
    }

    /// Wakes one sleeper that nobody has rung for yet; where there is none, rings again for all that are rung for:
    /// whoever rang may have been suspended before the system call.
    fn summon(&self) {
        let silent = self.sleepers.iter().find(|&worker| !self.parkers[worker].is_rung());
        if silent.is_some_and(|worker| self.parkers[worker].ring()) {
            return;
        }
        for worker in self.sleepers.iter() {
            if self.parkers[worker].ring() {
                return;
            }
        }
    }

    /// Wakes `worker` if it sleeps, because what it waits for has happened. The caller has published that before.
    pub(crate) fn wake(&self, worker: usize) {
        // Pairs with the fence in `sleep`: either the sleeper sees what happened, or we see that it sleeps.
        fence(Ordering::SeqCst);
        if self.sleepers.contains(worker) {
            self.parkers[worker].ring();
        }
    }

    /// Wakes all that sleep, because something has happened that all of them look for.
    pub(crate) fn wake_all(&self) {
        fence(Ordering::SeqCst);
        for worker in self.sleepers.iter() {
            self.parkers[worker].ring();
        }
    }

    /// `worker`, which hunts, sleeps until it is woken, or not at all if `look_again` finds a reason to stay awake.
    /// Says whether it did block. Hunts again when this returns.
    ///
    /// It looks even when others still hunt, who would find what there is: one of them may be suspended.
    pub(crate) fn sleep(&self, worker: usize, look_again: impl FnOnce() -> bool) -> bool {
        self.parkers[worker].forget();
        // In this order: whoever sees it counted finds it in the set.
        self.sleepers.enter(worker);
        let _ = self.counters.falls_asleep();
        // Pairs with the fences of those who publish work or an event (`work_was_pushed`, `work_was_sent`, `wake`).
        fence(Ordering::SeqCst);
        let block = !look_again();
        if block {
            self.parkers[worker].park();
        }
        let _ = self.counters.gets_up();
        self.sleepers.leave(worker);
        block
    }
}
