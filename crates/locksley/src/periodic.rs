//! What the workers of a pool do now and then, one at a time.

use std::sync::TryLockError;
use std::time::Duration;

use crate::primitive::plain::{Mutex, MutexGuard};
use crate::primitive::{AtomicU64, Instant, Ordering};

/// State that a worker renews when it is due. No worker waits for another one that does so.
#[derive(Debug)]
pub(crate) struct Periodic<T> {
    began: Instant,
    /// When it is due, in nanoseconds after `began`; [`NEVER`].
    due: AtomicU64,
    state: Mutex<T>,
}

const NEVER: u64 = u64::MAX;

// Relaxed, in all accesses: a worker that sees an old time comes too early, and finds old state.
impl<T> Periodic<T> {
    /// Due after this time; `None` for never.
    pub(crate) fn new(first: Option<Duration>, state: T) -> Self {
        let due = AtomicU64::new(first.map_or(NEVER, nanos));
        Self { began: Instant::now(), due, state: Mutex::new(state) }
    }

    /// The state, if it is due and no other worker has it. It is due again after `interval`.
    pub(crate) fn take(&self, now: Instant, interval: Duration) -> Option<MutexGuard<'_, T>> {
        if self.since(now) < self.due.load(Ordering::Relaxed) {
            return None;
        }
        let state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.postpone(now + interval);
        Some(state)
    }

    /// It is not due before that time.
    pub(crate) fn postpone(&self, until: Instant) {
        self.due.fetch_max(self.since(until), Ordering::Relaxed);
    }

    /// True if it is not due before that time.
    pub(crate) fn is_postponed(&self, until: Instant) -> bool {
        self.due.load(Ordering::Relaxed) >= self.since(until)
    }

    /// It is not due any more.
    pub(crate) fn end(&self) {
        self.due.store(NEVER, Ordering::Relaxed);
    }

    /// True if it will not be due.
    pub(crate) fn has_ended(&self) -> bool {
        self.due.load(Ordering::Relaxed) == NEVER
    }

    fn since(&self, now: Instant) -> u64 {
        nanos(now.saturating_duration_since(self.began))
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(NEVER)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(1);

    #[test]
    fn one_worker_takes_the_state_when_it_is_due() {
        let periodic = Periodic::new(Some(INTERVAL), ());
        let at = |time| periodic.began + time;
        let take = |time| periodic.take(at(time), INTERVAL).is_some();
        let just_before = INTERVAL - Duration::from_nanos(1);
        assert!(!take(just_before) && take(INTERVAL));
        assert!(!take(INTERVAL + just_before));
        let held = periodic.state.lock().unwrap();
        assert!(!take(2 * INTERVAL), "another worker has it");
        drop(held);
        assert!(take(2 * INTERVAL));
    }

    #[test]
    fn it_is_postponed_and_ends() {
        let periodic = Periodic::new(Some(INTERVAL), ());
        let at = |time| periodic.began + time;
        periodic.postpone(at(9 * INTERVAL));
        periodic.postpone(at(2 * INTERVAL));
        assert!(
            periodic.is_postponed(at(9 * INTERVAL)) && !periodic.is_postponed(at(10 * INTERVAL))
        );
        assert!(periodic.take(at(8 * INTERVAL), INTERVAL).is_none());
        assert!(periodic.take(at(9 * INTERVAL), INTERVAL).is_some());
        assert!(!periodic.has_ended());
        periodic.end();
        assert!(periodic.has_ended() && periodic.take(at(99 * INTERVAL), INTERVAL).is_none());
        assert!(Periodic::new(None, ()).has_ended());
    }
}
