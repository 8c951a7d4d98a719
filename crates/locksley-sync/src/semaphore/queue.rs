//! The state of a semaphore for which several tasks wait, or have waited.

use std::task::Waker;

use super::word::Word;
use super::{Closed, TryAcquireError};
use crate::wait_queue::{Hazards, Oldest, Outcome, Ticket, TryTake, WaitQueue};
use locksley_sys::primitive::{AtomicUsize, Ordering, fence};
use locksley_sys::unwind;

/// Permits, and the queue of the tasks that wait for them. `../README.md` has the protocol.
pub(crate) struct PermitQueue {
    /// All permits that were ever supplied, times two; plus 1 when closed. It wraps.
    supply: AtomicUsize,
    /// While the supply is at most this, no more than `MAX_FREE` permits are free. It may be too
    /// low, since the number of taken permits grows, and is never too high.
    supply_limit: AtomicUsize,
    pub(super) waiters: WaitQueue,
}

const CLOSED: usize = 1;
const PERMIT: usize = 2;

impl PermitQueue {
    pub(super) fn new(permits: usize, is_closed: bool, waiters: WaitQueue) -> Self {
        let supply = permits * PERMIT;
        Self {
            supply: AtomicUsize::new(supply | if is_closed { CLOSED } else { 0 }),
            supply_limit: AtomicUsize::new(supply),
            waiters,
        }
    }

    /// Adds permits. Returns `false` if they would be too many.
    #[must_use]
    pub(super) fn release(&self, permits: usize) -> bool {
        let mut before = self.supply.load(Ordering::Relaxed);
        // Kept until the end: a panic of a waker resumes after the permits are added.
        let mut hazards = None;
        loop {
            let after = before.wrapping_add(permits * PERMIT);
            if !self.is_within_limit(after, &mut hazards) {
                return false;
            }
            // Release pairs with the acquire in `allows`: what was done under a permit is visible
            // to the next holder.
            let changed =
                self.supply.compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed);
            match changed {
                Ok(_) => break,
                Err(now) => before = now,
            }
        }
        self.serve_after_change();
        true
    }

    fn is_within_limit<'q>(&'q self, supply: usize, hazards: &mut Option<Hazards<'q>>) -> bool {
        let is_within = |limit: usize| limit.wrapping_sub(supply & !CLOSED) as isize >= 0;
        // Relaxed: an old limit is too low, if anything.
        if is_within(self.supply_limit.load(Ordering::Relaxed)) {
            return true;
        }
        let taken = self.waiters.taken(hazards.get_or_insert_with(|| self.waiters.hazards()));
        let limit = taken.wrapping_add(Word::MAX_FREE).wrapping_mul(PERMIT);
        self.supply_limit.store(limit, Ordering::Relaxed);
        is_within(limit)
    }

    pub(super) fn available_permits(&self) -> usize {
        let mut hazards = self.waiters.hazards();
        // Acquire pairs with the release in `release`, and keeps the loads in order.
        let supply = || self.supply.load(Ordering::Acquire) / PERMIT;
        let mut before = supply();
        loop {
            let taken = self.waiters.taken(&mut hazards);
            let now = supply();
            // Otherwise permits may have been released and taken in between, any number of times.
            if now == before {
                return now.wrapping_sub(taken) & (usize::MAX / PERMIT);
            }
            before = now;
        }
    }

    pub(super) fn close(&self) {
        // Release pairs with the acquire in `allows`: what was done before closing is visible to
        // the tasks that get the error.
        self.supply.fetch_or(CLOSED, Ordering::AcqRel);
        self.serve_after_change();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.supply.load(Ordering::Acquire) & CLOSED != 0
    }

    fn serve_after_change(&self) {
        // Pairs with the fence in `enqueue`: of this thread and one that enqueues, one sees what
        // the other did.
        fence(Ordering::SeqCst);
        if !self.waiters.is_empty() {
            self.serve();
        }
    }

    /// Grants permits in the order of the queue, as far as they go. Returns `true` if there is a
    /// waiter left.
    pub(super) fn serve(&self) -> bool {
        self.waiters.serve(|oldest| self.decide(oldest))
    }

    /// Serves the tasks behind a cancelled wait, which may need fewer permits.
    pub(super) fn serve_after_cancel(&self, ticket: &Ticket) {
        self.waiters.serve_after_cancel(ticket, |oldest| self.decide(oldest));
    }

    fn decide(&self, oldest: &Oldest<'_>) -> Option<Outcome> {
        match self.allows(oldest.taken, oldest.key()) {
            Err(Closed) => Some(Outcome::Dismissed),
            Ok(is_enough) => is_enough.then_some(Outcome::Granted),
        }
    }

    /// True if `permits` may be taken after `taken` permits.
    fn allows(&self, taken: usize, permits: usize) -> Result<bool, Closed> {
        // Acquire pairs with the release in `release`. The thread that read `taken` has seen the
        // supply that allowed it, so the difference is not negative.
        let supply = self.supply.load(Ordering::Acquire);
        if supply & CLOSED != 0 {
            return Err(Closed);
        }
        let available = supply.wrapping_sub(taken.wrapping_mul(PERMIT)) as isize;
        Ok(available >= permits.wrapping_mul(PERMIT) as isize)
    }

    pub(super) fn try_acquire(&self, permits: usize) -> Result<(), TryAcquireError> {
        loop {
            if self.is_closed() {
                return Err(TryAcquireError::Closed);
            }
            let allows = |taken| self.allows(taken, permits).unwrap_or(false);
            match self.waiters.try_take(permits, allows) {
                TryTake::Taken => return Ok(()),
                TryTake::Insufficient => return Err(TryAcquireError::NoPermits),
                TryTake::NotEmpty if self.serve() => return Err(TryAcquireError::NoPermits),
                TryTake::NotEmpty => {}
                TryTake::CounterFull => self.add_head(),
            }
        }
    }

    /// Makes a new head, by a wait for no permits. Its counter is 0.
    fn add_head(&self) {
        let ticket = Ticket::new(0, Waker::noop());
        self.waiters.enqueue(&ticket);
        let served = unwind::catch(|| self.serve());
        // It holds no permits, whatever the outcome is.
        let _ = ticket.cancel();
        drop(ticket);
        if let Err(payload) = served {
            unwind::resume(payload);
        }
    }
}
