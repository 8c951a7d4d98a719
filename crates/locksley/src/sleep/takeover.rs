//! Takeover of a sleeping worker by an external thread, a thread outside of the pool. The external
//! thread acts as the worker while the worker's own thread stays parked.
//!
//! ```text
//!        begin_sleep         take            end_take          begin_return
//!     OWN -----------> ASLEEP ------> TAKING ----------> TAKEN --------------> RETURNING
//!      ^   end_sleep   |   ^ end_return  |                 | recall                |
//!      +---------------+   +-------------+-----------------|-----------------------+
//!      +------------------------------------ RECALLED <----+      end_return
//!           end_sleep
//! ```
//!
//! For the rest of the protocol, the worker wakes up in `TAKING`, finds the external thread's task,
//! and falls asleep in `RETURNING`. The external thread changes the counters and the set, executes
//! the fence and looks again in the worker's order, so the README's argument holds. Each state but
//! `RECALLED` names the only thread that may do this. An acquiring exchange hands this right to the
//! next thread.
//!
//! A waker may choose the worker just before `take`. The worker's thread then wakes up, but waits
//! until the external thread gives the worker back. So after `end_take` the external thread
//! executes a fence and looks. If a task was sent, it gives the worker back at once. If tasks were
//! pushed, their owners run them, or `end_search` wakes a thief.
//!
//! The external thread may wait for a task that is pinned to the worker later. So the pinned send
//! *recalls* the worker: its own thread acts again, and the external thread runs on without giving
//! it back. In `TAKING` and `RETURNING` there is no recall, since both threads would change the
//! counters and the set: the external thread looks for the task after its fence.
//!
//! The sentinel is never taken over: a worker that parks with a timeout does not enter `ASLEEP`.
//! None is missed, since a takeover requires `asleep > spare`: then another worker sleeps.
//!
//! A suspended external thread has the effect of a suspended worker. Models: `models/takeover.rs`;
//! stall harness: `../pool/stall.rs`.

use super::Sleep;
use crate::os::Futex;
use crate::primitive::{Ordering, fence};

/// Which thread acts as one worker.
#[derive(Debug, Default)]
pub(super) struct Takeover(Futex);

/// The worker's own thread acts: it is awake, or falls asleep. The default of a futex.
const OWN: u32 = 0;
/// The worker's own thread sleeps. An external thread may take over.
const ASLEEP: u32 = 1;
/// An external thread is taking over. Its number is in the upper bits.
const TAKING: u32 = 2;
/// The same external thread acts as the worker, which may be recalled.
const TAKEN: u32 = 3;
/// The same external thread is giving the worker back.
const RETURNING: u32 = 4;
/// The worker was recalled from its external thread. Its own thread is about to act again.
const RECALLED: u32 = 5;
/// A flag beside `TAKING`, `TAKEN` and `RETURNING`: the worker's own thread is awake, and blocks
/// here.
const WAITS: u32 = 8;

const STATE: u32 = 7;
const EXTERNAL_SHIFT: u32 = 4;

impl Takeover {
    /// Lets external threads take over. The worker's own thread calls this after it is counted as
    /// asleep.
    pub(super) fn begin_sleep(&self) {
        // Release pairs with the acquire in `take`: the external thread sees the counters changed.
        self.0.word.store(ASLEEP, Ordering::Release);
    }

    /// Makes the worker's own thread act again, once no external thread acts. Returns true if it
    /// was recalled: then the external thread has counted it as awake already.
    fn end_sleep(&self) -> bool {
        loop {
            // Acquire pairs with the external thread's release: this thread sees the counters
            // changed.
            let now = self.0.word.load(Ordering::Acquire);
            if matches!(now & STATE, TAKING | TAKEN | RETURNING) {
                let waits = now | WAITS;
                if now == waits || self.exchange(now, waits) {
                    self.0.wait(waits, None);
                }
            } else if self.exchange(now, OWN) {
                return now & STATE == RECALLED;
            }
        }
    }

    /// Makes `external` act as the worker, if the worker's own thread sleeps.
    fn take(&self, external: u32) -> bool {
        self.exchange(ASLEEP, external << EXTERNAL_SHIFT | TAKING)
    }

    /// The external thread has changed the counters and the set. From now on the worker may be
    /// recalled.
    fn end_take(&self) {
        // AcqRel as in `exchange`. In `TAKING`, other threads only add `WAITS`.
        self.0.word.fetch_add(TAKEN - TAKING, Ordering::AcqRel);
    }

    /// Begins to give the worker back. Returns false if it was recalled.
    fn begin_return(&self, external: u32) -> bool {
        let taken = external << EXTERNAL_SHIFT | TAKEN;
        let returning = external << EXTERNAL_SHIFT | RETURNING;
        self.exchange(taken, returning) || self.exchange(taken | WAITS, returning | WAITS)
    }

    /// Returns the worker to its own thread, which sleeps or is about to wake up.
    fn end_return(&self) {
        // AcqRel as in `exchange`. In `TAKING` and `RETURNING`, other threads only add `WAITS`.
        let before = self.0.word.swap(ASLEEP, Ordering::AcqRel);
        if before & WAITS != 0 {
            self.0.wake();
        }
    }

    /// Recalls the worker from an external thread. Returns true if there is one: the worker's own
    /// thread is then to be unparked.
    fn recall(&self) -> bool {
        let recall = |now| (now & STATE == TAKEN).then_some(RECALLED);
        // As in `exchange`.
        let (Ok(before) | Err(before)) =
            self.0.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, recall);
        let is_recalled = matches!(before & STATE, TAKEN | RECALLED);
        if is_recalled {
            // Also if another thread recalled it: that thread may be suspended here.
            self.0.wake();
        }
        is_recalled
    }

    fn exchange(&self, from: u32, to: u32) -> bool {
        // AcqRel: each thread that acts as the worker sees the writes of the previous one.
        self.0.word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl Sleep {
    /// Makes the calling thread, `external`, act as a sleeping worker, which then searches. `None`
    /// if the push limit is reached, or no worker can be taken over.
    pub(crate) fn take_over(&self, external: usize) -> Option<usize> {
        let spare = self.limits.spare();
        if self.snapshot().asleep() <= spare {
            return None;
        }
        // A notified worker is about to wake up for another task.
        let take = |&slot: &usize| {
            !self.parkers[slot].is_notified()
                && self.takeovers.get(slot).is_some_and(|it| it.take(external as u32))
        };
        let slot = self.sleepers.iter().find(take)?;
        let takeover = &self.takeovers[slot];
        if !self.counters.end_sleep_above(spare) {
            // Another external thread has reached the push limit meanwhile. The worker still counts
            // as asleep.
            takeover.end_return();
            return None;
        }
        self.sleepers.remove(slot);
        takeover.end_take();
        // Pairs with the fences after the publication of a task or an event. If the publisher saw
        // the worker asleep, the external thread sees what was published.
        fence(Ordering::SeqCst);
        Some(slot)
    }

    /// Gives back the worker in `slot`, which has no task. Its own thread sleeps on, or is woken if
    /// `look_again` returns true or the pool needs a sentinel. `look_again` gets true if the worker
    /// may leave pushed tasks to the sentinel. Returns false if the worker was recalled.
    pub(crate) fn give_back(
        &self,
        slot: usize,
        external: usize,
        look_again: impl FnOnce(bool) -> bool,
    ) -> bool {
        let takeover = &self.takeovers[slot];
        if !takeover.begin_return(external as u32) {
            return false;
        }
        // As in `sleep`, but not as the sentinel: the worker's own thread has no timeout.
        self.sleepers.insert(slot);
        self.counters.begin_search();
        let snapshot = self.counters.begin_sleep();
        // Pairs with the fences after the publication of a task or an event, as in `sleep`.
        fence(Ordering::SeqCst);
        let spare = self.limits.spare();
        let needs_sentinel = snapshot.asleep() <= spare && !snapshot.has_sentinel();
        let must_wake = needs_sentinel || look_again(snapshot.is_limit_reached(spare));
        takeover.end_return();
        if must_wake {
            self.unpark(slot);
        }
        true
    }

    /// Recalls the worker in `slot` if an external thread has taken it over, and wakes its own
    /// thread.
    pub(super) fn recall(&self, slot: usize) {
        if self.takeovers.get(slot).is_some_and(|takeover| takeover.recall()) {
            self.unpark(slot);
        }
    }

    /// Ends a worker's sleep after its park. It then searches. Returns true if it was recalled.
    pub(super) fn end_park(&self, slot: usize, is_sentinel: bool) -> bool {
        let is_recalled = self.takeovers.get(slot).is_some_and(|it| it.end_sleep());
        if is_recalled {
            self.counters.begin_search();
        } else {
            self.counters.end_sleep(is_sentinel);
            self.sleepers.remove(slot);
        }
        is_recalled
    }
}

#[cfg(all(test, not(loom)))]
impl Sleep {
    /// The number of workers that an external thread may take over.
    pub(crate) fn parked_for_external_threads(&self) -> usize {
        let is_asleep = |it: &&Takeover| it.0.word.load(Ordering::Acquire) == ASLEEP;
        self.takeovers.iter().map(|it| &**it).filter(is_asleep).count()
    }
}
