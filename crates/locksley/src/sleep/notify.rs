//! Waking sleepers: for pushed, sent and addressed tasks, and for events.

use std::ops::Range;

use super::{Sleep, Snapshot, WakeToken};
use crate::deque::ChaseLevOwner;
use crate::os;
use crate::primitive::{Ordering, fence};

impl Sleep {
    /// Wakes a thief for a task that the calling worker has pushed, if none searches.
    ///
    /// This is all that a worker with work pays for sleepers: a fence, a load and a comparison, and
    /// one wake-up after the last thief fell asleep.
    #[inline]
    pub(crate) fn notify_pushed(&self, wake_token: &WakeToken) {
        // Pairs with the fences in `sleep` and `end_search`: either that worker sees the task, or
        // the snapshot shows that it no longer searches.
        fence(Ordering::SeqCst);
        let snapshot = self.snapshot();
        if snapshot.needs_thief(self.limits.spare()) {
            self.wake_unless_under_way(snapshot, wake_token, &wake_token.neighbours());
        }
    }

    /// Does what follows a push to an open deque. If no task of the deque has been stolen for long,
    /// the owner may close it, and then pushes without a fence and without a look at the counters.
    /// A worker that falls asleep, or is the last to stop searching, opens all deques before it
    /// looks at them.
    pub(crate) fn notify_open_push<T>(&self, deque: &ChaseLevOwner<T>, wake_token: &WakeToken) {
        self.notify_pushed(wake_token);
        if deque.should_close() && deque.close() && self.must_notify_pushes() {
            deque.open();
        }
    }

    /// True if pushes must be notified, because no thief would find them otherwise. For a worker
    /// that has just published how it pushes from now on.
    fn must_notify_pushes(&self) -> bool {
        // Pairs with the fences in `sleep` and `end_search`: either that worker sees the change, or
        // the snapshot shows that it no longer searches.
        fence(Ordering::SeqCst);
        self.snapshot().needs_thief(self.limits.spare())
    }

    /// Wakes a worker for a task in the injector, or for one that any worker can take and the
    /// caller does not run itself.
    ///
    /// A search by another worker does not count: its thread may be suspended, and the caller will
    /// not run the task.
    pub(crate) fn notify_sent(&self) {
        // Pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        let snapshot = self.snapshot();
        if snapshot.asleep() > 0 && !snapshot.is_limit_reached(self.limits.over_send_limit()) {
            self.wake_one(&(0..usize::MAX));
        }
    }

    /// Wakes a worker for a task in the inbox of one worker, or of a place with these `workers`.
    /// Other workers can take the task, too.
    ///
    /// An addressed worker that sleeps is woken first. If all of them are awake or waking up, they
    /// may be blocked or suspended. Then this is [`notify_pushed`](Self::notify_pushed) if the
    /// caller is a worker of the pool (`wake_token` is given), and
    /// [`notify_sent`](Self::notify_sent) if it is another thread.
    pub(crate) fn notify_addressed(&self, workers: Range<usize>, wake_token: Option<&WakeToken>) {
        // Pairs with the fences in `sleep` and `end_search`: either that worker sees the task, or
        // the snapshot shows that it no longer searches.
        fence(Ordering::SeqCst);
        let snapshot = self.snapshot();
        if snapshot.asleep() == 0
            || snapshot.is_limit_reached(self.limits.over_send_limit())
            || self.wake_addressee(&workers, snapshot, wake_token)
        {
            return;
        }
        match wake_token {
            Some(wake_token) if snapshot.needs_thief(self.limits.spare()) => {
                self.wake_unless_under_way(snapshot, wake_token, &workers);
            }
            None => self.wake_one(&workers),
            Some(_) => {}
        }
    }

    /// As [`notify_addressed`](Self::notify_addressed), for workers that are bound to processors.
    ///
    /// A bound worker that was woken may have to wait for processors that other programs use, and
    /// nothing tells that. So if no worker searches, one of the unbound others is woken as well.
    pub(crate) fn notify_addressed_to_bound(
        &self,
        workers: Range<usize>,
        wake_token: Option<&WakeToken>,
    ) {
        // As in `notify_addressed`.
        fence(Ordering::SeqCst);
        let snapshot = self.snapshot();
        if snapshot.asleep() == 0 || snapshot.is_limit_reached(self.limits.over_send_limit()) {
            return;
        }
        // The token is asked before the addressee is woken: that wake-up does not stand for the
        // other one.
        let needs_other = snapshot.needs_thief(self.limits.spare())
            && wake_token.is_none_or(|wake_token| wake_token.request(snapshot));
        let has_woken_addressee = self.wake_addressee(&workers, snapshot, wake_token);
        let has_woken_other = needs_other && self.wake_first(|worker| !workers.contains(&worker));
        let has_woken = has_woken_addressee || has_woken_other;
        if !has_woken && (needs_other || wake_token.is_none()) {
            self.wake_one(&workers);
        }
    }

    /// Wakes one of the addressed `workers`, if one sleeps that is not waking up. Returns true if
    /// it did.
    ///
    /// A worker that sends leaves the task to an addressed worker that is waking up, or that is
    /// awake while the limit is reached. Another thread does not, since those may be suspended.
    fn wake_addressee(
        &self,
        workers: &Range<usize>,
        snapshot: Snapshot,
        wake_token: Option<&WakeToken>,
    ) -> bool {
        let (mut sleeper, mut is_one_notified, mut is_one_awake) = (None, false, false);
        for worker in workers.clone() {
            if !self.sleepers.contains(worker) {
                is_one_awake = true;
            } else if self.parkers[worker].is_notified() {
                is_one_notified = true;
            } else {
                sleeper = sleeper.or(Some(worker));
            }
        }
        let is_one_coming = is_one_notified
            || is_one_awake && snapshot.is_limit_reached(self.limits.spare() as usize);
        (wake_token.is_none() || !is_one_coming)
            && sleeper.is_some_and(|worker| self.parkers[worker].unpark())
    }

    /// Wakes `worker` if it sleeps. The caller has published the reason before: an event that the
    /// worker waits for, or a task that only this worker runs.
    pub(crate) fn wake(&self, worker: usize) {
        // Pairs with the fence in `sleep`: either the sleeper sees the reason, or it is seen here
        // in the set of sleepers.
        fence(Ordering::SeqCst);
        if self.sleepers.contains(worker) {
            self.parkers[worker].unpark();
        }
    }

    /// Wakes all sleepers, for a reason that concerns all of them and was published before.
    pub(crate) fn wake_all(&self) {
        // As in `wake`.
        fence(Ordering::SeqCst);
        for worker in self.sleepers.iter() {
            self.parkers[worker].unpark();
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn wake_unless_under_way(
        &self,
        snapshot: Snapshot,
        wake_token: &WakeToken,
        near: &Range<usize>,
    ) {
        if wake_token.request(snapshot) {
            self.wake_one_after(near, |worker| self.exclude_own_processor(snapshot, worker));
        }
    }

    /// Wakes one sleeper, of those in `near` if one sleeps there.
    pub(super) fn wake_one(&self, near: &Range<usize>) {
        self.wake_one_after(near, |_| ());
    }

    /// As [`wake_one`](Self::wake_one); calls `prepare` with that sleeper before.
    ///
    /// Prefers sleepers that are not notified. If there are none, it repeats the system call for
    /// the others: the threads that notified them may be suspended before theirs.
    fn wake_one_after(&self, near: &Range<usize>, prepare: impl FnOnce(usize)) {
        let sleeper = self.first_unnotified(|worker| near.contains(&worker));
        let sleeper = sleeper.or_else(|| self.first_unnotified(|_| true));
        if let Some(worker) = sleeper {
            prepare(worker);
            if self.parkers[worker].unpark() {
                return;
            }
        }
        for worker in self.sleepers.iter() {
            if self.parkers[worker].unpark() {
                return;
            }
        }
    }

    /// Wakes the first sleeper that is wanted and not notified. Returns true if there was one.
    pub(crate) fn wake_first(&self, is_wanted: impl Fn(usize) -> bool) -> bool {
        self.first_unnotified(is_wanted).is_some_and(|worker| self.parkers[worker].unpark())
    }

    fn first_unnotified(&self, is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
        self.sleepers
            .iter()
            .find(|&worker| is_wanted(worker) && !self.parkers[worker].is_notified())
    }
}

/// Where sleepers wake up: see the README, "Wake-up affinity".
impl Sleep {
    /// Has `worker` wake up on another processor than this one, if another one is idle. The calling
    /// worker has work and keeps its own.
    fn exclude_own_processor(&self, snapshot: Snapshot, worker: usize) {
        if let Some(wake_affinity) = self.wake_affinities.get(worker) {
            let others = self.processors.saturating_sub(1);
            wake_affinity.exclude_own_processor(|| self.is_processor_idle(snapshot, others));
        }
    }

    /// True if woken workers avoid the processors of other workers.
    pub(crate) fn has_wake_affinities(&self) -> bool {
        !self.wake_affinities.is_empty()
    }

    /// True if a processor is idle while two awake workers share one. Always false without wake-up
    /// affinities.
    pub(crate) fn is_another_processor_idle(&self) -> bool {
        self.has_wake_affinities() && self.is_processor_idle(self.snapshot(), self.processors)
    }

    /// True if the machine has no more runnable threads than this pool has awake workers by
    /// `snapshot`, and no more than `at_most`.
    fn is_processor_idle(&self, snapshot: Snapshot, at_most: usize) -> bool {
        let awake = self.limits.workers.saturating_sub(snapshot.asleep());
        os::runnable_threads().is_some_and(|all| all <= awake.min(at_most))
    }

    /// See [`WakeAffinity::unrestricted_epoch`](super::wake_affinity::WakeAffinity).
    pub(crate) fn unrestricted_epoch(&self, worker: usize) -> Option<u32> {
        let wake_affinity = self.wake_affinities.get(worker);
        wake_affinity.map_or(Some(0), |wake_affinity| wake_affinity.unrestricted_epoch())
    }

    /// Ends what other threads do to the affinity of the calling thread. The thread calls this when
    /// it begins to be the worker in this slot, and before it ends.
    pub(crate) fn settle_wake_affinity(&self, worker: usize) {
        if let Some(wake_affinity) = self.wake_affinities.get(worker) {
            wake_affinity.settle();
        }
    }
}
