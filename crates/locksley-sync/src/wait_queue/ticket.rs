//! The future's handle of its queue node.

use std::fmt;
use std::ptr::NonNull;
use std::task::{Poll, Waker};

use super::waiter::{Outcome, Status, Waiter, WaiterRef};

/// A future's reference to its node. The future cancels the wait before it drops this.
pub(crate) struct Ticket(WaiterRef);

impl Ticket {
    /// Makes a node that is in no queue. `waker` is woken when the wait is completed.
    pub(crate) fn new(amount: usize, waker: &Waker) -> Self {
        Self(WaiterRef::new(amount, waker.clone()))
    }

    /// Makes the reference of the queue, or of a semaphore's word. Called before the node is in
    /// one.
    pub(crate) fn share(&self) -> WaiterRef {
        self.0.share()
    }

    pub(crate) fn as_ptr(&self) -> NonNull<Waiter> {
        self.0.as_ptr()
    }

    /// Returns the outcome, and leaves the waker as it is.
    pub(crate) fn outcome(&self) -> Poll<Outcome> {
        match self.0.status() {
            Status::Completed(outcome) => Poll::Ready(outcome),
            _ => Poll::Pending,
        }
    }

    /// Returns the outcome. If there is none, `waker` is woken when there is.
    pub(crate) fn poll(&mut self, waker: &Waker) -> Poll<Outcome> {
        self.0.poll(waker)
    }

    /// Cancels the wait. The next waiter may be servable now, so the caller serves the queue.
    ///
    /// # Errors
    /// The outcome, if the wait is already completed. The caller passes it on.
    pub(crate) fn cancel(&self) -> Result<(), Outcome> {
        self.0.cancel()
    }

    /// Completes the wait as dismissed, if it still waits.
    pub(super) fn dismiss(&self) {
        self.0.complete(Outcome::Dismissed);
    }

    /// True if the wait was cancelled, and the head has not moved over the node.
    pub(super) fn is_cancelled_in_queue(&self) -> bool {
        matches!(self.0.status(), Status::Cancelled | Status::Swept)
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

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ticket").field(&*self.0).finish()
    }
}
