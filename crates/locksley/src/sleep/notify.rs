//! Waking sleepers.
//!
//! - A *pushed* task is in the deque of the worker that made it ready.
//! - A *sent* task is injected or addressed.
//! - An *injected* task is in the injector; any worker takes it.
//! - An *addressed* task is in the inbox of one worker or place; other workers may take it, too.
//! - An *event* concerns one worker or all: a latch was set, a task was pinned, the pool closes.
//!
//! A sleeper is *notified* from [`unpark`](super::Parker::unpark) until its next sleep.

use std::ops::Range;

use super::{Sleep, Snapshot, WakeToken};
use crate::deque::ChaseLevOwner;
use crate::os;
use crate::primitive::{Ordering, fence};
use crate::trace::Event;

pub(super) const ANY_WORKER: Range<usize> = 0..usize::MAX;

impl Sleep {
    /// Loads the counters after a fence. The caller has published a task before.
    ///
    /// The fence pairs with those in `sleep` and `end_search`. Either the worker there sees the
    /// task, or this snapshot counts it as asleep, or no longer as searching.
    #[inline]
    fn fenced_snapshot(&self) -> Snapshot {
        fence(Ordering::SeqCst);
        self.snapshot()
    }

    /// True if a pushed task requires a wake-up: see [`Snapshot::needs_thief`].
    #[inline]
    pub(super) fn needs_thief(&self, snapshot: Snapshot) -> bool {
        snapshot.needs_thief(self.limits.spare())
    }

    /// True if a sent task may wake a sleeper: there is one, and fewer workers are awake than the
    /// send limit allows, or there is no sentinel.
    fn may_wake_for_send(&self, snapshot: Snapshot) -> bool {
        snapshot.asleep() > 0 && !snapshot.is_limit_reached(self.limits.spare_for_sends())
    }

    /// Wakes a thief for a task that the calling worker has pushed, if no worker searches.
    ///
    /// This is all that a worker with work pays for sleepers, while its deque is open: a fence, a
    /// load and a comparison, and one wake-up after the last thief has fallen asleep.
    #[inline]
    pub(crate) fn notify_pushed(&self, wake_token: &WakeToken) {
        let snapshot = self.fenced_snapshot();
        if self.needs_thief(snapshot) {
            self.wake_unless_under_way(snapshot, wake_token, &wake_token.neighbours());
        }
    }

    /// Notifies a push to an open deque. Then closes the deque if it should be closed and pushes
    /// need no notification.
    ///
    /// While the deque is closed, its owner pushes without a fence and does not load the counters.
    /// So a worker that falls asleep, or is the last to stop searching, opens all deques, and then
    /// looks for work in them.
    pub(crate) fn notify_pushed_or_close<T>(
        &self,
        deque: &ChaseLevOwner<T>,
        wake_token: &WakeToken,
    ) {
        self.notify_pushed(wake_token);
        if !deque.should_close() {
            return;
        }
        // As in `notify_pushed`, with the closed deque in place of the task.
        if deque.close() && self.needs_thief(self.fenced_snapshot()) {
            deque.open();
        }
    }

    /// Wakes a worker for an injected task, or for a pushed task that the caller does not run
    /// itself. Does nothing at the send limit.
    ///
    /// Wakes it even if another worker searches, because the thread of that worker may be
    /// suspended, and the caller will not run the task.
    pub(crate) fn notify_injected(&self) {
        if self.may_wake_for_send(self.fenced_snapshot()) {
            self.wake_one(&ANY_WORKER);
        }
    }

    /// Wakes a worker for a task that is addressed to one of `workers`. `wake_token` is that of the
    /// calling worker, or `None` if the calling thread is not a worker of the pool. Does nothing at
    /// the send limit.
    ///
    /// First tries to wake one of `workers`. If it wakes none, all of them may be blocked or
    /// suspended. Then a worker notifies as for a pushed task, and any other thread as for an
    /// injected task.
    ///
    /// If they `are_bound` to processors, a woken one may have to wait for its processor if another
    /// program uses it, and no other worker can detect that. So if no worker searches, one outside
    /// of `workers` is woken as well.
    pub(crate) fn notify_addressed(
        &self,
        workers: Range<usize>,
        are_bound: bool,
        wake_token: Option<&WakeToken>,
    ) {
        let snapshot = self.fenced_snapshot();
        if !self.may_wake_for_send(snapshot) {
            return;
        }
        let needs_thief = self.needs_thief(snapshot);
        // Before the addressee is woken: the wake-up of the addressee must not count as the other
        // one.
        let claim = || wake_token.is_none_or(|wake_token| wake_token.claim_wakeup(snapshot));
        let needs_other = are_bound && needs_thief && claim();
        let mut has_woken = self.wake_addressee(&workers, snapshot, wake_token);
        if needs_other {
            has_woken |= self.wake_first(|slot| !workers.contains(&slot));
        }
        match wake_token {
            _ if has_woken => {}
            Some(wake_token) if needs_thief && !are_bound => {
                self.wake_unless_under_way(snapshot, wake_token, &workers);
            }
            Some(_) if !needs_other => {}
            _ => self.wake_one(&workers),
        }
    }

    /// Wakes one of the addressed `workers` that sleeps and is not notified. Returns true if it has
    /// woken one.
    ///
    /// If the caller is a worker, it wakes no addressee while another addressee is notified, or is
    /// awake and the push limit is reached.
    fn wake_addressee(
        &self,
        workers: &Range<usize>,
        snapshot: Snapshot,
        wake_token: Option<&WakeToken>,
    ) -> bool {
        let (mut sleeper, mut is_one_notified, mut is_one_awake) = (None, false, false);
        for slot in workers.clone() {
            if !self.sleepers.contains(slot) {
                is_one_awake = true;
            } else if self.parkers[slot].is_notified() {
                is_one_notified = true;
            } else {
                sleeper = sleeper.or(Some(slot));
            }
        }
        let is_limit_reached = snapshot.is_limit_reached(self.limits.spare());
        let is_one_coming = is_one_notified || (is_one_awake && is_limit_reached);
        if wake_token.is_some() && is_one_coming {
            return false;
        }
        sleeper.is_some_and(|slot| self.unpark(slot))
    }

    /// Wakes the worker in `slot` if it sleeps. The caller has published the reason before.
    pub(crate) fn wake(&self, slot: usize) {
        // Pairs with the fence in `sleep`: either the sleeper sees the reason, or this thread sees
        // the sleeper in the set.
        fence(Ordering::SeqCst);
        if self.sleepers.contains(slot) {
            self.unpark(slot);
        }
    }

    /// As [`wake`](Self::wake), for a task that only this worker's own thread runs: recalls the
    /// worker from an external thread.
    pub(crate) fn wake_own_thread(&self, slot: usize) {
        self.wake(slot);
        self.recall(slot);
    }

    /// Wakes all sleepers, for an event that was published before.
    pub(crate) fn wake_all(&self) {
        // As in `wake`.
        fence(Ordering::SeqCst);
        for slot in self.sleepers.iter() {
            self.unpark(slot);
        }
    }

    /// Wakes one sleeper, preferably one of `near`, unless the wake-up that this worker has claimed
    /// before is still under way. The sleeper wakes up on another processor if one is idle.
    #[cold]
    #[inline(never)]
    pub(super) fn wake_unless_under_way(
        &self,
        snapshot: Snapshot,
        wake_token: &WakeToken,
        near: &Range<usize>,
    ) {
        if wake_token.claim_wakeup(snapshot) {
            self.wake_one_after(near, |slot| self.exclude_own_processor(snapshot, slot));
        }
    }

    /// Wakes one sleeper, preferably one of `near`.
    pub(super) fn wake_one(&self, near: &Range<usize>) {
        self.wake_one_after(near, |_| ());
    }

    /// As [`wake_one`](Self::wake_one). Calls `prepare` before it notifies the sleeper that it has
    /// chosen.
    ///
    /// If all sleepers are notified, or another thread was faster, goes through the sleepers until
    /// it has notified one. [`unpark`](super::Parker::unpark) repeats the system call for a sleeper
    /// that was notified: the thread that has notified it may be suspended before its own call.
    fn wake_one_after(&self, near: &Range<usize>, prepare: impl FnOnce(usize)) {
        let sleeper = self.first_unnotified(|slot| near.contains(&slot));
        let sleeper = sleeper.or_else(|| self.first_unnotified(|_| true));
        if let Some(slot) = sleeper {
            prepare(slot);
            if self.unpark(slot) {
                return;
            }
        }
        for slot in self.sleepers.iter() {
            if self.unpark(slot) {
                return;
            }
        }
    }

    /// Wakes the first sleeper that `is_wanted` and is not notified. Returns true if there was one.
    pub(crate) fn wake_first(&self, is_wanted: impl Fn(usize) -> bool) -> bool {
        self.first_unnotified(is_wanted).is_some_and(|slot| self.unpark(slot))
    }

    pub(super) fn unpark(&self, slot: usize) -> bool {
        self.trace(|| Event::Wakes(slot));
        self.parkers[slot].unpark()
    }

    fn first_unnotified(&self, is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
        self.sleepers.iter().find(|&slot| is_wanted(slot) && !self.parkers[slot].is_notified())
    }
}

/// The processors on which sleepers wake up: see the README, "Wake-up affinity".
impl Sleep {
    /// Makes the worker in `slot` wake up on another processor than the caller's, if one is
    /// probably idle. The calling worker has work, and so keeps its processor.
    fn exclude_own_processor(&self, snapshot: Snapshot, slot: usize) {
        if let Some(wake_affinity) = self.wake_affinities.get(slot) {
            let others = self.processors.saturating_sub(1);
            wake_affinity
                .exclude_own_processor(|| self.is_processor_probably_idle(snapshot, others));
        }
    }

    /// True if a processor is probably idle while two awake workers share one. Always false without
    /// wake-up affinities.
    pub(crate) fn is_another_processor_idle(&self) -> bool {
        !self.wake_affinities.is_empty()
            && self.is_processor_probably_idle(self.snapshot(), self.processors)
    }

    /// A heuristic: true if the machine has at most `at_most` runnable threads, and no more of them
    /// than this pool has awake workers.
    fn is_processor_probably_idle(&self, snapshot: Snapshot, at_most: usize) -> bool {
        let awake = self.limits.workers.saturating_sub(snapshot.asleep());
        os::runnable_threads().is_some_and(|runnable| runnable <= awake.min(at_most))
    }

    /// The number of the interval in which the worker is awake and no waker has narrowed its
    /// affinity. `None` outside of such intervals.
    pub(crate) fn unrestricted_epoch(&self, slot: usize) -> Option<u32> {
        let wake_affinity = self.wake_affinities.get(slot);
        wake_affinity.map_or(Some(0), |wake_affinity| wake_affinity.unrestricted_epoch())
    }

    /// Waits until no other thread changes the affinity of the calling thread. The thread calls
    /// this when it takes the slot, and before it ends.
    pub(crate) fn settle_wake_affinity(&self, slot: usize) {
        if let Some(wake_affinity) = self.wake_affinities.get(slot) {
            wake_affinity.settle();
        }
    }
}
