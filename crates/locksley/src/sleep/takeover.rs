//! A caller, a thread outside of the pool, takes over a sleeping worker: it acts as that worker,
//! while the worker's own thread goes on sleeping.
//!
//! ```text
//!          begin_sleep              take              begin_return
//!     OWN -------------> ASLEEP -------------> TAKEN ---------------> RETURNING
//!      ^    end_sleep    |   ^                   | recall                |
//!      +-----------------+   +-------------------|-----------------------+
//!      +-------------------------- RECALLED <----+        end_return
//!            end_sleep
//! ```
//!
//! To the rest of the protocol, the worker has woken up in `take`, has found the caller's task, and
//! falls asleep between `begin_return` and `end_return`. So the argument of the README holds: the
//! caller changes the counters and the set, executes the fence and looks again, in the same order
//! as the worker would. Each state but `RECALLED` names the one thread that may do this, and an
//! acquiring exchange passes it on.
//!
//! A wake-up may choose the worker just before it is taken. The worker's thread then waits for the
//! caller. So the caller executes a fence after `take`, and gives the worker back at once if
//! anything was sent; a pushed task it leaves to its owner, or wakes a thief (`end_search`). A
//! pinned task that comes later may be what the caller waits for, so it *recalls* the worker: its
//! own thread acts again, beside the caller, which gives nothing back. If the caller is
//! `RETURNING`, it looks for the task after its fence.
//!
//! No caller takes over the sentinel: if a worker may wake up beside it, that one sleeps, too.
//!
//! A suspended caller is like a suspended worker. Models: `models/takeover.rs`; stall harness:
//! `../pool/stall.rs`.

use super::Sleep;
use crate::os::Futex;
use crate::primitive::{Ordering, fence};

/// Which thread acts as one worker.
#[derive(Debug)]
pub(super) struct Takeover(Futex);

/// The worker's own thread, which is awake, or falls asleep.
const OWN: u32 = 0;
/// Its own thread, which sleeps. A caller may take over.
const ASLEEP: u32 = 1;
/// The caller with the number in the upper bits.
const TAKEN: u32 = 2;
/// The same caller, which gives the worker back.
const RETURNING: u32 = 3;
/// A caller had the worker, which was recalled. The worker's own thread is about to act again.
const RECALLED: u32 = 4;
/// A flag beside `TAKEN` and `RETURNING`: the worker's own thread is awake, and blocks here.
const WAITS: u32 = 8;

const STATE: u32 = 7;
const CALLER_SHIFT: u32 = 4;

impl Takeover {
    pub(super) fn new() -> Self {
        Self(Futex::new(OWN))
    }

    /// Lets callers take over. Called by the worker that counts as asleep.
    pub(super) fn begin_sleep(&self) {
        // Release pairs with the acquire in `take`: the worker's change of the counters is seen.
        self.0.word.store(ASLEEP, Ordering::Release);
    }

    /// The worker's thread acts again, after its caller if there is one. Returns true if it was
    /// recalled: then the caller has counted the worker as awake.
    fn end_sleep(&self) -> bool {
        loop {
            // Acquire pairs with the release of the caller: its change of the counters is seen.
            let now = self.0.word.load(Ordering::Acquire);
            if matches!(now & STATE, TAKEN | RETURNING) {
                let waits = now | WAITS;
                if now == waits || self.exchange(now, waits) {
                    self.0.wait(waits, None);
                }
            } else if self.exchange(now, OWN) {
                return now & STATE == RECALLED;
            }
        }
    }

    /// Takes over for `caller` if the worker sleeps.
    fn take(&self, caller: u32) -> bool {
        self.exchange(ASLEEP, caller << CALLER_SHIFT | TAKEN)
    }

    /// Begins to give the worker back. `false` if it was recalled.
    fn begin_return(&self, caller: u32) -> bool {
        let taken = caller << CALLER_SHIFT | TAKEN;
        let returning = caller << CALLER_SHIFT | RETURNING;
        self.exchange(taken, returning) || self.exchange(taken | WAITS, returning | WAITS)
    }

    /// The worker's own thread acts from now on. It sleeps.
    fn end_return(&self) {
        // AcqRel as in `exchange`. No other thread changes the state of a worker that is given
        // back.
        let before = self.0.word.swap(ASLEEP, Ordering::AcqRel);
        if before & WAITS != 0 {
            self.0.wake();
        }
    }

    /// Has the worker's own thread act again, although a caller has taken over. Returns true if one
    /// had. The caller of this then wakes the worker.
    fn recall(&self) -> bool {
        let mut now = self.0.word.load(Ordering::Acquire);
        while now & STATE == TAKEN && !self.exchange(now, RECALLED) {
            now = self.0.word.load(Ordering::Acquire);
        }
        let is_recalled = matches!(now & STATE, TAKEN | RECALLED);
        if is_recalled {
            // Also if another thread has recalled it: that one may be suspended here.
            self.0.wake();
        }
        is_recalled
    }

    fn exchange(&self, from: u32, to: u32) -> bool {
        // Acquire and release: each thread that acts as the worker sees what the last one did.
        self.0.word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl Sleep {
    /// Has the calling thread, the caller with this number, act as a worker that sleeps, unless the
    /// limit is reached. The worker then counts as searching.
    pub(crate) fn take_over(&self, caller: usize) -> Option<usize> {
        let spare = self.limits.spare_workers();
        if self.snapshot().asleep() <= spare {
            return None;
        }
        // One that was notified wakes up for another task.
        let take = |&worker: &usize| {
            let takeover = self.takeovers.get(worker);
            let takeover = takeover.filter(|_| !self.parkers[worker].is_notified());
            takeover.is_some_and(|takeover| takeover.take(caller as u32))
        };
        let worker = self.sleepers.iter().find(take)?;
        if !self.counters.end_sleep_above(spare) {
            // Another caller has reached the limit meanwhile. The worker still counts as asleep.
            let takeover = &self.takeovers[worker];
            if takeover.begin_return(caller as u32) {
                takeover.end_return();
                return None;
            }
            // It was recalled: its own thread relies on what follows.
            let _ = self.counters.end_sleep(false);
        }
        self.sleepers.remove(worker);
        // Pairs with the fences that follow the publication of a task or an event: the caller sees
        // what was published by a thread that has seen the worker asleep.
        fence(Ordering::SeqCst);
        Some(worker)
    }

    /// Gives back `worker`, which has no task. Its own thread sleeps on, or is woken if
    /// `look_again` returns true. The argument of that is true if the worker leaves pushed tasks to
    /// others. Returns false if the worker was recalled.
    pub(crate) fn give_back(
        &self,
        worker: usize,
        caller: usize,
        look_again: impl FnOnce(bool) -> bool,
    ) -> bool {
        let takeover = &self.takeovers[worker];
        if !takeover.begin_return(caller as u32) {
            return false;
        }
        // As in `sleep`, but not as the sentinel: the worker's thread has no timeout.
        self.sleepers.insert(worker);
        self.counters.begin_search();
        let snapshot = self.counters.begin_sleep();
        // Pairs with the fences that follow the publication of a task or an event, as in `sleep`.
        fence(Ordering::SeqCst);
        let spare = self.limits.spare_workers();
        let needs_sentinel = snapshot.asleep() <= spare && !snapshot.has_sentinel();
        let must_wake = needs_sentinel || look_again(snapshot.is_bound_reached(spare));
        takeover.end_return();
        if must_wake {
            self.parkers[worker].unpark();
        }
        true
    }

    /// Has the own thread of `worker` act again if a caller has taken over.
    pub(super) fn recall(&self, worker: usize) {
        if self.takeovers.get(worker).is_some_and(|takeover| takeover.recall()) {
            self.parkers[worker].unpark();
        }
    }

    /// Ends the park of a worker: it searches afterwards. Returns true if it was recalled.
    pub(super) fn end_park(&self, worker: usize, is_sentinel: bool) -> bool {
        let is_recalled = self.takeovers.get(worker).is_some_and(|it| it.end_sleep());
        if is_recalled {
            self.counters.begin_search();
        } else {
            let _ = self.counters.end_sleep(is_sentinel);
            self.sleepers.remove(worker);
        }
        is_recalled
    }
}
