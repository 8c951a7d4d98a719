//! Waking sleepers.
//!
//! - A *pushed* task is in the deque of the worker that made it ready.
//! - A *sent* task is in the injector, or in the inbox of one worker or place. Any worker takes it.
//! - An *event* concerns one thread: a latch was set, a task was pinned. It unparks the thread.

use std::cell::Cell;
use std::ops::Range;

use super::{Sleep, Snapshot};
use crate::deque::ChaseLevOwner;
use crate::numbers::Slot;
use crate::primitive::{Ordering, fence};
use crate::trace::Event;

pub(super) const ANY: Range<usize> = 0..usize::MAX;

/// Limits a worker to one wake-up under way, and says which sleepers are near to it.
///
/// A wake-up takes some 50 µs on a virtual machine. Until any worker has woken up since the last
/// request, that request is under way, and another one would only cost a system call. The number of
/// wake-ups wraps after 2³¹: at worst one request is omitted, as during a search.
#[derive(Debug)]
pub(crate) struct WakeToken {
    /// The number of wake-ups when this worker last asked for one.
    wakeups_at_request: Cell<Option<u32>>,
    /// The slots of the sleepers that are woken first.
    near: Range<usize>,
}

impl WakeToken {
    /// The token of a worker that prefers to wake the workers in `near`.
    pub(crate) fn new(near: Range<usize>) -> Self {
        Self { wakeups_at_request: Cell::new(None), near }
    }

    /// Returns true if no wake-up is under way that this worker has begun. The caller then causes
    /// one.
    fn begin_wakeup(&self, snapshot: Snapshot) -> bool {
        let wakeups = Some(snapshot.wakeups());
        self.wakeups_at_request.replace(wakeups) != wakeups
    }
}

impl Sleep {
    /// True if a pushed task requires a wake-up. The caller has published the task before.
    ///
    /// The fence pairs with those in `sleep` and `end_search`. Either the worker there sees the
    /// task, or this load sees what the worker has published.
    #[inline]
    fn must_wake_for_push(&self) -> bool {
        fence(Ordering::SeqCst);
        self.needs_thief.load(Ordering::Relaxed)
    }

    /// Wakes a thief for a task that the calling worker has pushed, if no worker searches.
    ///
    /// This is all that a worker with work pays for sleepers, while its deque is open: a fence and
    /// a load, and one wake-up after the last thief has fallen asleep.
    #[inline]
    pub(crate) fn notify_pushed(&self, wake_token: &WakeToken) {
        if self.must_wake_for_push() {
            self.wake_thief(wake_token);
        }
    }

    /// Notifies a push to an open deque. Then closes the deque if it should be closed and pushes
    /// need no notification.
    ///
    /// While the deque is closed, its owner pushes without a fence and wakes no sleeper. So a
    /// worker that falls asleep, or is the last to stop searching, opens all deques, and then looks
    /// for work in them.
    pub(crate) fn notify_pushed_then_close<T>(
        &self,
        deque: &ChaseLevOwner<T>,
        wake_token: &WakeToken,
    ) {
        self.notify_pushed(wake_token);
        // As in `notify_pushed`, with the closed deque in place of the task.
        if deque.should_close() && deque.close() && self.must_wake_for_push() {
            deque.open();
        }
    }

    /// Wakes a worker for a task that was sent to all, and that the caller does not run itself.
    /// Does nothing at the limit if there is a monitor, which looks after such tasks.
    ///
    /// Wakes it even if another worker searches, because the thread of that worker may be
    /// suspended.
    pub(crate) fn notify_sent(&self) {
        // As in `must_wake_for_push`, with the counters in place of the flag.
        fence(Ordering::SeqCst);
        if self.snapshot().may_wake(self.spare()) {
            self.wake_one(&ANY);
        }
    }

    /// Wakes a worker for a task that was sent to the workers in the slots `workers`. Does nothing
    /// at the limit if there is a monitor. The worker that calls passes its token.
    ///
    /// - If one of `workers` sleeps and is not notified, wakes it.
    /// - If all sleepers of `workers` are notified, a caller with a token relies on them: it is a
    ///   worker of the pool, and looks for work again. Any other caller wakes one more sleeper,
    ///   because they may be suspended.
    /// - If none of `workers` sleeps, they may be blocked or suspended. A caller with a token
    ///   notifies as for a push, any other caller as for a task that was sent to all.
    pub(crate) fn notify_addressed(&self, workers: &Range<usize>, wake_token: Option<&WakeToken>) {
        // As in `notify_sent`.
        fence(Ordering::SeqCst);
        let snapshot = self.snapshot();
        if !snapshot.may_wake(self.spare()) {
            return;
        }
        let mut asleep =
            workers.clone().map(Slot::new).filter(|&slot| self.sleepers.contains(slot)).peekable();
        if asleep.peek().is_some() {
            let is_free = |slot: &Slot| !self.parker(*slot).is_notified();
            match asleep.find(is_free) {
                Some(slot) => _ = self.notify_sleeper(slot),
                None if wake_token.is_none() => self.wake_one(workers),
                None => {}
            }
            return;
        }
        match wake_token {
            None => self.wake_one(workers),
            Some(wake_token) => self.wake_thief_after(snapshot, wake_token),
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_thief(&self, wake_token: &WakeToken) {
        self.wake_thief_after(self.snapshot(), wake_token);
    }

    /// Wakes a thief, if `snapshot` says that one is needed.
    fn wake_thief_after(&self, snapshot: Snapshot, wake_token: &WakeToken) {
        if snapshot.needs_thief(self.spare()) {
            self.wake_unless_under_way(snapshot, wake_token);
        }
    }

    /// Wakes one sleeper, preferably a near one, unless the wake-up that this worker has begun
    /// before is still under way.
    pub(super) fn wake_unless_under_way(&self, snapshot: Snapshot, wake_token: &WakeToken) {
        if wake_token.begin_wakeup(snapshot) {
            self.wake_one(&wake_token.near);
        }
    }

    /// Wakes one sleeper, preferably one of `near`.
    ///
    /// If all sleepers are notified, or another thread was faster, goes through the sleepers until
    /// it has notified one. [`unpark`](super::Parker::unpark) repeats the system call for a sleeper
    /// that was notified: the thread that has notified it may be suspended before its own call.
    pub(super) fn wake_one(&self, near: &Range<usize>) {
        let is_free = |slot: &Slot| !self.parker(*slot).is_notified();
        let nearest = self.sleepers.iter().find(|slot| near.contains(&slot.get()) && is_free(slot));
        let sleeper = nearest.or_else(|| self.sleepers.iter().find(is_free));
        if sleeper.is_some_and(|slot| self.notify_sleeper(slot)) {
            return;
        }
        for slot in self.sleepers.iter() {
            if self.notify_sleeper(slot) {
                return;
            }
        }
    }

    /// Wakes the worker in `slot`, if it sleeps. Returns true if it slept.
    pub(crate) fn wake_sleeper(&self, slot: Slot) -> bool {
        self.sleepers.contains(slot) && {
            self.notify_sleeper(slot);
            true
        }
    }

    /// Returns true if no thread had notified it since it announced to sleep.
    fn notify_sleeper(&self, slot: Slot) -> bool {
        self.trace(|| Event::Wakes(slot.get()));
        self.parker(slot).unpark()
    }
}
