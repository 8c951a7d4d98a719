//! How many workers may be awake.
//!
//! | limit      | the least of                                | holds for                        |
//! |------------|---------------------------------------------|----------------------------------|
//! | size       | `Pool::resize`                              | all workers but borrowed threads |
//! | push limit | the size, the idle policy, the allowance    | workers that pushes wake         |
//! | send limit | the size, the allowance (at times one more) | workers that sends wake          |
//!
//! Decisions use a limit's *spare*: the number of workers minus the limit. A worker is *over* a
//! limit if fewer others sleep.

use std::time::Duration;

use super::counters::MAX_WORKERS;
use super::notify::ANY_WORKER;
use super::{Limit, Sleep};
use crate::primitive::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use crate::trace::Event;

/// The limits of one pool. Accesses are relaxed: see `Sleep::update_limits`.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) workers: usize,
    /// The first so many workers run on borrowed threads. They always count as awake, and not
    /// towards the size.
    pub(super) borrowed_threads: usize,
    /// The push limit's spare (bits 0–31), `permitted` (32–47) and the size (48–63). A push needs
    /// only the first, and loads it with all.
    ///
    /// `permitted` is the number of workers, borrowed threads included, that policy and allowance
    /// permit to be awake ([`Limit::awake`]). It is [`NO_LIMIT`] if they set no limit.
    packed: AtomicU64,
    /// The allowance's part of the send limit.
    allowed: AtomicUsize,
    /// Adds one to `allowed`.
    is_one_more_allowed: AtomicBool,
    /// The timeout of a sentinel's park, in nanoseconds.
    timed_park: AtomicU64,
}

/// More than any number of workers.
const NO_LIMIT: usize = 0xFFFF;
const _: () = assert!(MAX_WORKERS < NO_LIMIT);

/// The timeout of a sentinel's park if the policy sets no limit. A sentinel then exists only below
/// the size.
const DEFAULT_TIMED_PARK: Duration = Duration::from_millis(10);

fn timed_park_nanos(limit: Limit) -> u64 {
    let is_set = limit.timed_park != Limit::NONE.timed_park;
    let timed_park = if is_set { limit.timed_park } else { DEFAULT_TIMED_PARK };
    u64::try_from(timed_park.as_nanos()).unwrap_or(u64::MAX)
}

impl Limits {
    pub(super) fn new(
        workers: usize,
        borrowed_threads: usize,
        limit: Limit,
        allowed: usize,
    ) -> Self {
        let limits = Self {
            workers,
            borrowed_threads,
            packed: AtomicU64::new(0),
            allowed: AtomicUsize::new(allowed),
            is_one_more_allowed: AtomicBool::new(false),
            timed_park: AtomicU64::new(timed_park_nanos(limit)),
        };
        limits.packed.store(limits.pack(limit.awake, workers), Ordering::Relaxed);
        limits
    }

    fn pack(&self, permitted: usize, size: usize) -> u64 {
        let push_limit = permitted.min(size.saturating_add(self.borrowed_threads)).max(1);
        let spare = self.workers.saturating_sub(push_limit) as u64;
        let (permitted, size) = (permitted.min(NO_LIMIT) as u64, size.min(self.workers) as u64);
        spare | permitted << 32 | size << 48
    }

    /// The push limit's spare. A decision reads it after a snapshot of the counters, or after a
    /// fence.
    #[inline]
    pub(super) fn spare(&self) -> usize {
        self.packed.load(Ordering::Relaxed) as u32 as usize
    }

    fn size(&self) -> usize {
        (self.packed.load(Ordering::Relaxed) >> 48) as usize
    }

    /// The spare of a `limit` towards which borrowed threads do not count.
    fn spare_of(&self, limit: usize) -> usize {
        self.workers.saturating_sub(limit.saturating_add(self.borrowed_threads).max(1))
    }

    pub(super) fn spare_for_sends(&self) -> usize {
        let one_more = usize::from(self.is_one_more_allowed.load(Ordering::Relaxed));
        let allowed = self.allowed.load(Ordering::Relaxed).saturating_add(one_more);
        self.spare_of(self.size().min(allowed))
    }

    pub(super) fn timed_park(&self) -> Duration {
        Duration::from_nanos(self.timed_park.load(Ordering::Relaxed))
    }

    /// Replaces `permitted` and the size, given both. Returns `permitted` as it was before.
    fn update(&self, change: impl Fn(usize, usize) -> (usize, usize)) -> usize {
        let unpack = |packed: u64| ((packed >> 32) as u16 as usize, (packed >> 48) as usize);
        let update = |packed| {
            let (permitted, size) = unpack(packed);
            let (permitted, size) = change(permitted, size);
            Some(self.pack(permitted, size))
        };
        let (Ok(before) | Err(before)) =
            self.packed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
        unpack(before).0
    }
}

/// Changing and asking the limits.
impl Sleep {
    /// Sets the size: the number of workers that may be awake beside the borrowed threads. What
    /// policy and allowance permit still holds. Workers over the size go to sleep when they have
    /// nothing to do.
    pub(crate) fn resize(&self, size: usize) {
        self.update_limits(|permitted, _| (permitted, size));
        // Sleepers that were over the old size may have left tasks that are theirs now.
        self.wake_all();
    }

    /// Sets what policy and allowance permit, borrowed threads included, and the number of
    /// `allowed` workers, without them.
    pub(crate) fn set_limit(&self, limit: Limit, allowed: usize) {
        self.limits.timed_park.store(timed_park_nanos(limit), Ordering::Relaxed);
        let allowed_before = self.limits.allowed.swap(allowed, Ordering::Relaxed);
        let permitted_before = self.update_limits(|_, size| (limit.awake, size));
        if allowed > allowed_before {
            // As in `resize`.
            self.wake_all();
        } else if limit.awake > permitted_before {
            self.wake_missing();
        }
    }

    fn update_limits(&self, change: impl Fn(usize, usize) -> (usize, usize)) -> usize {
        let permitted_before = self.limits.update(change);
        // Release pairs with the acquire in each change of the counters. A decision by a newer
        // snapshot sees the new numbers. A sleeper that decided by an older one is seen by the
        // caller, which wakes it (see the README).
        self.counters.synchronize();
        self.trace(|| Event::Allows(self.limits.workers - self.limits.spare()));
        permitted_before
    }

    /// Wakes as many sleepers as a raised push limit lacks: `asleep - spare`. Each looks at
    /// everything. If it lacks none, tasks that were left to the sentinel may stay with it.
    fn wake_missing(&self) {
        // Pairs with the fence in `notify_pushed`: either the push decides by the new limit, or the
        // sleepers that are woken here see the task.
        fence(Ordering::SeqCst);
        let asleep = self.snapshot().asleep();
        for _ in 0..asleep.saturating_sub(self.limits.spare()) {
            self.wake_one(&ANY_WORKER);
        }
    }

    /// Raises the send limit by one, or takes that back. Raising it makes senders wake more workers
    /// and sleepers leave less to others, so no order with other changes is needed.
    pub(crate) fn set_one_more_allowed(&self, is_allowed: bool) {
        self.limits.is_one_more_allowed.store(is_allowed, Ordering::Relaxed);
    }

    pub(crate) fn is_one_more_allowed(&self) -> bool {
        self.limits.is_one_more_allowed.load(Ordering::Relaxed)
    }

    /// The number of workers that may be awake beside the borrowed threads: all, until `resize`.
    pub(crate) fn size(&self) -> usize {
        self.limits.size()
    }

    /// The number of workers that the process is allowed, plus the one that rests.
    pub(crate) fn allowed(&self) -> usize {
        self.limits.allowed.load(Ordering::Relaxed)
    }

    /// True if the size is less than the number of workers.
    pub(crate) fn has_reduced_size(&self) -> bool {
        self.limits.spare_of(self.size()) > 0
    }

    /// True if the send limit is less than the number of workers.
    pub(crate) fn has_send_limit(&self) -> bool {
        self.limits.spare_for_sends() > 0
    }

    /// True if as many *other* workers are awake as the push limit allows. For a worker that
    /// searches.
    pub(crate) fn is_over_push_limit(&self) -> bool {
        self.snapshot().asleep() < self.limits.spare()
    }

    /// The same for the size.
    pub(crate) fn is_over_size(&self) -> bool {
        self.snapshot().asleep() < self.limits.spare_of(self.size())
    }

    /// The same for the send limit.
    pub(crate) fn is_over_send_limit(&self) -> bool {
        self.snapshot().asleep() < self.limits.spare_for_sends()
    }

    /// True if a worker that falls asleep, and is already counted, may leave what was sent to all
    /// or to its place to the awake workers and the sentinel.
    pub(crate) fn is_send_limit_reached(&self) -> bool {
        self.snapshot().is_limit_reached(self.limits.spare_for_sends())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn limit(awake: usize) -> Limit {
        Limit { awake, timed_park: Duration::from_micros(1) }
    }

    /// The size, and the spares of the push limit, the size and the send limit.
    fn bounds(limits: &Limits) -> (usize, [usize; 3]) {
        let over = [limits.spare(), limits.spare_of(limits.size()), limits.spare_for_sends()];
        (limits.size(), over)
    }

    #[test]
    fn borrowed_threads_count_towards_the_limit_only() {
        let limits = Limits::new(6, 1, limit(3), 4);
        assert_eq!(bounds(&limits), (6, [3, 0, 1]));
        limits.is_one_more_allowed.store(true, Ordering::Relaxed);
        assert_eq!(bounds(&limits), (6, [3, 0, 0]));
        assert_eq!(limits.update(|limit, _| (limit, 1)), 3);
        assert_eq!(bounds(&limits), (1, [4, 4, 4]));
        assert_eq!(limits.update(|_, size| (usize::MAX, size + 2)), 3);
        assert_eq!(bounds(&limits), (3, [2, 2, 2]));
        assert_eq!(limits.update(|_, _| (0, 0)), NO_LIMIT);
        assert_eq!(bounds(&limits), (0, [5, 5, 5]));
        // One worker is always within the bounds.
        assert_eq!(bounds(&Limits::new(2, 0, limit(0), 0)), (2, [1, 0, 1]));
    }

    #[test]
    fn without_a_limit_a_sentinel_has_a_timed_park_too() {
        let timed_park = |limit| Limits::new(1, 0, limit, 1).timed_park();
        assert_eq!(timed_park(Limit::NONE), DEFAULT_TIMED_PARK);
        assert_eq!(timed_park(limit(1)), Duration::from_micros(1));
    }
}
