//! What a shutdown waits for, up to a deadline.

use std::sync::PoisonError;
use std::time::Duration;

use crate::primitive::plain::{Condvar, Mutex, MutexGuard};

/// The event that a pool is closed.
#[derive(Default)]
pub(crate) struct ClosedEvent {
    has_happened: Mutex<bool>,
    happens: Condvar,
}

impl ClosedEvent {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.has_happened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self) {
        *self.lock() = true;
        self.happens.notify_all();
    }

    /// Waits until the pool is closed, for `timeout` at most. Returns true if it is closed.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let waited = self.happens.wait_timeout_while(self.lock(), timeout, |it| !*it);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
