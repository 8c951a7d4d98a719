//! A semaphore where several wait, or have waited: a supply, and a line.

use std::ptr::NonNull;
use std::task::Waker;

use super::line::{Hold, Oldest, Place, Taking, Verdict, Waiter, Waiters};
use super::semaphore::{Closed, TryAcquireError};
use super::word::Word;
use locksley_sys::primitive::{AtomicUsize, Ordering, fence};
use locksley_sys::unwind;

/// The README beside this file has the argument.
#[derive(Debug)]
pub(super) struct Crowd {
    /// All permits that there ever were, times two; plus 1 when it is closed. It wraps: only
    /// differences count.
    supply: AtomicUsize,
    /// How far the supply may grow before somebody looks again how much has been taken.
    ceiling: AtomicUsize,
    line: Waiters,
    /// The address of who was alone when the others came; 0 for nobody.
    first: usize,
}

const CLOSED: usize = 1;
const PERMIT: usize = 2;

impl Crowd {
    /// Of a semaphore where nobody waits.
    pub(super) fn of_nobody(permits: usize, is_closed: bool) -> Self {
        let supply = (permits * PERMIT) | if is_closed { CLOSED } else { 0 };
        Self::new(supply, Waiters::new(), 0)
    }

    /// Of a semaphore where one waits for whom so many are missing.
    ///
    /// # Safety
    /// That of [`Waiters::with_first`]; the waiter was made by [`Waiter::alone`].
    pub(super) unsafe fn around(waiter: NonNull<Waiter>, missing: usize) -> Self {
        // Such a waiter counts as if what it takes had been given back before, so that 0 is what
        // has been taken after it.
        let supply = 0_usize.wrapping_sub(missing * PERMIT);
        // SAFETY: as the caller promises.
        let line = unsafe { Waiters::with_first(waiter) };
        Self::new(supply, line, waiter.addr().get())
    }

    fn new(supply: usize, line: Waiters, first: usize) -> Self {
        let (ceiling, supply) = (AtomicUsize::new(supply & !CLOSED), AtomicUsize::new(supply));
        Self { supply, ceiling, line, first }
    }

    /// Ends one that nobody else has come to know. Who was alone still is.
    pub(super) fn disband(self) {
        if self.first != 0 {
            self.line.without_first();
        }
    }

    /// Whether this waiter was alone when the others came.
    pub(super) fn was_first(&self, waiter: NonNull<Waiter>) -> bool {
        self.first == waiter.addr().get()
    }

    /// The place of who was.
    ///
    /// # Safety
    /// The caller is one of its owners, and hands that over.
    pub(super) unsafe fn place_of_first(&self, waiter: NonNull<Waiter>) -> Place<'_> {
        debug_assert!(self.was_first(waiter));
        // SAFETY: as the caller promises, and it was the first in this line.
        unsafe { Place::of_first(&self.line, waiter) }
    }

    /// A place behind all others. The caller then calls [`serve`](Self::serve).
    pub(super) fn join(&self, permits: usize, waker: &Waker) -> Place<'_> {
        self.line.join(permits, waker)
    }

    /// Gives permits back, or adds them. `false` if they would be too many.
    #[must_use]
    pub(super) fn give(&self, permits: usize) -> bool {
        let mut before = self.supply.load(Ordering::Relaxed);
        // Kept until the end: wakers that panicked while somebody looked go on when the permits are
        // there.
        let mut hazards = None;
        loop {
            let after = before.wrapping_add(permits * PERMIT);
            if !self.is_below_the_ceiling(after, &mut hazards) {
                return false;
            }
            // Release pairs with the acquires of `supply`: what was done under these permits is
            // seen by who takes them.
            let given =
                self.supply.compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed);
            match given {
                Ok(_) => break,
                Err(now) => before = now,
            }
        }
        self.serve_after_a_change();
        true
    }

    /// Whether the supply may grow to that: then there are at most `MAX_PERMITS` that nobody has.
    fn is_below_the_ceiling<'l>(&'l self, supply: usize, hazards: &mut Option<Hold<'l>>) -> bool {
        let is_below = |ceiling: usize| ceiling.wrapping_sub(supply & !CLOSED).cast_signed() >= 0;
        // Relaxed: what has been taken only grows, so an old ceiling is too low if anything.
        if is_below(self.ceiling.load(Ordering::Relaxed)) {
            return true;
        }
        let taken = self.line.taken(hazards.get_or_insert_with(|| self.line.hold()));
        let ceiling = taken.wrapping_add(Word::MOST_FREE).wrapping_mul(PERMIT);
        self.ceiling.store(ceiling, Ordering::Relaxed);
        is_below(ceiling)
    }

    pub(super) fn available_permits(&self) -> usize {
        let taken = self.line.taken(&mut self.line.hold());
        (self.supply.load(Ordering::Acquire) / PERMIT).wrapping_sub(taken) & (usize::MAX / PERMIT)
    }

    pub(super) fn close(&self) {
        // Release pairs with the acquire in `supply`: what the closer did is seen by who is sent
        // away.
        self.supply.fetch_or(CLOSED, Ordering::AcqRel);
        self.serve_after_a_change();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.supply.load(Ordering::Acquire) & CLOSED != 0
    }

    fn serve_after_a_change(&self) {
        // Pairs with the fences after joining and leaving: either they see the change, or we see
        // them.
        fence(Ordering::SeqCst);
        if !self.line.is_empty() {
            self.serve();
        }
    }

    /// Gives the waiters what there is, in the order of the line, as far as it goes. `true` if
    /// somebody still waits.
    pub(super) fn serve(&self) -> bool {
        self.line.serve(|oldest| self.verdict(oldest))
    }

    fn verdict(&self, oldest: &Oldest<'_>) -> Option<Verdict> {
        match self.allows(oldest.taken(), oldest.amount()) {
            Err(Closed) => Some(Verdict::Dismissed),
            Ok(is_enough) => is_enough.then_some(Verdict::Granted),
        }
    }

    /// Whether so many more may be taken, when so many were.
    fn allows(&self, taken: usize, permits: usize) -> Result<bool, Closed> {
        // Acquire pairs with the release in `give`. It is at least what allowed others to take what
        // they took: who read `taken` has seen that.
        let supply = self.supply.load(Ordering::Acquire);
        if supply & CLOSED != 0 {
            return Err(Closed);
        }
        let available = supply.wrapping_sub(taken.wrapping_mul(PERMIT)).cast_signed();
        Ok(available >= permits.wrapping_mul(PERMIT).cast_signed())
    }

    pub(super) fn try_take(&self, permits: usize) -> Result<(), TryAcquireError> {
        loop {
            if self.is_closed() {
                return Err(TryAcquireError::Closed);
            }
            let allows = |taken| self.allows(taken, permits).unwrap_or(false);
            match self.line.take(permits, allows) {
                Taking::Taken => return Ok(()),
                Taking::Refused => return Err(TryAcquireError::NoPermits),
                // Those who have been served may still be in the way.
                Taking::Occupied if self.serve() => return Err(TryAcquireError::NoPermits),
                Taking::Occupied => {}
                Taking::Full => {
                    // One who asks for nothing stands in line, and is served, to make a new place.
                    let mut place = self.line.join(0, Waker::noop());
                    let served = unwind::halt(|| self.serve());
                    let _ = place.leave();
                    drop(place);
                    if let Err(payload) = served {
                        unwind::resume(payload);
                    }
                }
            }
        }
    }

    /// How many places its line has.
    ///
    /// # Safety
    /// No other thread uses the semaphore meanwhile.
    #[cfg(all(test, not(loom)))]
    pub(super) unsafe fn places(&self) -> usize {
        // SAFETY: as the caller promises.
        unsafe { self.line.places() }
    }
}
