//! A future's side of a place in line.

use std::fmt;
use std::ptr::NonNull;
use std::task::{Poll, Waker};

use super::Waiters;
use super::waiter::{Phase, Verdict, Waiter};
use locksley_sys::primitive::{Ordering, fence};

/// A place in line, held by the future that waits there. Dropped, it is left.
pub(crate) struct Place<'l> {
    line: &'l Waiters,
    /// This is one of its owners.
    waiter: NonNull<Waiter>,
}

// SAFETY: a waiter may be shared and sent, and so may a line.
unsafe impl Send for Place<'_> {}
// SAFETY: as above.
unsafe impl Sync for Place<'_> {}

impl Waiters {
    /// A new place behind all others. `waker` is woken when it has been decided.
    ///
    /// Whoever gives something after this sees the place, or the caller, who now must look at the
    /// oldest, sees what was given.
    pub(crate) fn join(&self, amount: usize, waker: &Waker) -> Place<'_> {
        let waiter = Waiter::new(amount, waker.clone());
        self.link(waiter);
        // Pairs with the fence between giving and looking at the line.
        fence(Ordering::SeqCst);
        Place { line: self, waiter }
    }
}

impl<'l> Place<'l> {
    /// The place of one who was alone, and has become the first in a line.
    ///
    /// # Safety
    /// The caller is one of its owners, and hands that over. It is, or was, in that line.
    pub(crate) unsafe fn of_first(line: &'l Waiters, waiter: NonNull<Waiter>) -> Self {
        Self { line, waiter }
    }

    /// What was decided, if anything.
    pub(crate) fn verdict(&self) -> Poll<Verdict> {
        match self.waiter().phase() {
            Phase::Decided(verdict) => Poll::Ready(verdict),
            _ => Poll::Pending,
        }
    }

    /// What was decided; if nothing, `waker` will be woken when something is.
    pub(crate) fn poll(&mut self, waker: &Waker) -> Poll<Verdict> {
        self.waiter().poll(waker)
    }

    /// Does not wait any longer, unless it was decided before: then that is the caller's to pass
    /// on.
    ///
    /// Others may be the oldest now, so the caller must look ([`Waiters::oldest`]).
    pub(crate) fn leave(&mut self) -> Result<(), Verdict> {
        self.waiter().leave()
    }

    fn waiter(&self) -> &Waiter {
        // SAFETY: this is an owner.
        unsafe { self.waiter.as_ref() }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let waiter = self.waiter();
        // Whoever uses a line leaves it before this, to pass on what it was given.
        debug_assert!(waiter.phase() != Phase::Waiting);
        let _ = waiter.leave();
        let waker = waiter.take_last_waker();
        let left = matches!(waiter.phase(), Phase::Left | Phase::Swept);
        // SAFETY: this was an owner, and is gone.
        unsafe { Waiter::let_go(self.waiter) };
        if left {
            self.line.note_left();
        }
        drop(waker);
    }
}

impl fmt::Debug for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("verdict", &self.verdict()).finish_non_exhaustive()
    }
}
