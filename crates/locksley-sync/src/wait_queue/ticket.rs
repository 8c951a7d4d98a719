//! The future's handle of its queue node.

use std::ops::Deref;
use std::task::{Poll, Waker};

use super::waiter::{Outcome, Status, WaiterRef};

/// A future's reference to its node. It can also poll and cancel the wait.
///
/// A wait that is in a queue, or in a semaphore's word, is cancelled before this is dropped.
pub(crate) struct Ticket(WaiterRef);

impl Ticket {
    /// Makes a node that is in no queue. `key` is the number of permits, or the generation.
    /// `waker` is woken when the wait is completed.
    pub(crate) fn new(key: usize, waker: &Waker) -> Self {
        Self(WaiterRef::new(key, waker.clone()))
    }

    /// Returns the outcome, or registers `waker` to be woken when the wait is completed.
    pub(crate) fn poll(&mut self, waker: &Waker) -> Poll<Outcome> {
        self.0.poll(waker)
    }

    /// Cancels the wait. The caller must then serve the queue, because the next waiter may need
    /// less.
    ///
    /// # Errors
    /// The outcome, if the wait is already completed. The caller passes a grant on.
    pub(crate) fn cancel(&self) -> Result<(), Outcome> {
        self.0.cancel()
    }
}

impl Deref for Ticket {
    type Target = WaiterRef;

    fn deref(&self) -> &WaiterRef {
        &self.0
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        debug_assert!(
            self.0.status() != Status::Waiting || !self.0.is_shared(),
            "the wait is neither completed nor cancelled"
        );
        // If the destructor of the waker panics, the reference is still dropped.
        drop(self.0.take_last_waker());
    }
}
