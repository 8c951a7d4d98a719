//! As [`std::sync::Condvar`], with std's protocol on Linux: a counter of notifications.

use std::sync::LockResult;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::mutex::MutexGuard;
use crate::atomic::AtomicU32;
use crate::os::{futex_wait, futex_wake};
use crate::time::Instant;

/// As [`std::sync::Condvar`].
#[derive(Debug, Default)]
pub struct Condvar(AtomicU32);

/// Whether a wait ended because its time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time was over.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// A condition variable for which no thread waits.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Waits for a notification. It may return without one.
    ///
    /// # Errors
    /// If the lock is poisoned; the error has the guard.
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_for(guard, None).0
    }

    /// Waits until `condition` returns false.
    ///
    /// # Errors
    /// If the lock is poisoned; the error has the guard.
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits for a notification, and not longer than `time`.
    ///
    /// # Errors
    /// If the lock is poisoned; the error has the guard.
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        match self.wait_for(guard, Some(time)) {
            (Ok(guard), result) => Ok((guard, result)),
            (Err(error), result) => Err(std::sync::PoisonError::new((error.into_inner(), result))),
        }
    }

    /// Waits until `condition` returns false, and not longer than `time`.
    ///
    /// # Errors
    /// If the lock is poisoned; the error has the guard.
    pub fn wait_timeout_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        time: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let start = Instant::now();
        loop {
            if !condition(&mut guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let Some(rest) = time.checked_sub(start.elapsed()) else {
                return Ok((guard, WaitTimeoutResult(true)));
            };
            guard = self.wait_timeout(guard, rest)?.0;
        }
    }

    fn wait_for<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Option<Duration>,
    ) -> (LockResult<MutexGuard<'a, T>>, WaitTimeoutResult) {
        let mutex = guard.mutex;
        // Under the lock: a notification from now on changes it.
        let notifications = self.0.load(Relaxed);
        drop(guard);
        let in_time = futex_wait(&self.0, notifications, time);
        (mutex.lock(), WaitTimeoutResult(!in_time))
    }

    /// Wakes one thread that waits, if there is any.
    pub fn notify_one(&self) {
        self.0.fetch_add(1, Relaxed);
        futex_wake(&self.0, 1);
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        self.0.fetch_add(1, Relaxed);
        futex_wake(&self.0, usize::MAX);
    }
}
