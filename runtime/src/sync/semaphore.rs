//! A semaphore whose queue nobody can block.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::line::{Line, Place, Taking, Verdict};
use crate::primitive::{AtomicUsize, Ordering, const_unless_loom, fence};

/// Permits that are taken and given back; who finds too few waits in line.
///
/// Hood's semaphore (Blumofe and Papadopoulos 1998, section 2: a non-blocking queue of threads), with permits that are
/// counted in any number, with cancellation, and with an end.
///
/// - **Fair.** Waiters are served in the order in which they were first polled. Nobody takes a permit while somebody waits,
///   not even one that is left over because the first in line needs more of them.
/// - **Non-blocking.** There is no lock in it: a thread that is suspended at any point keeps back no permits but those that
///   it holds, or was just given.
/// - **Cancellation.** A waiter that is dropped leaves the line. What it had been given already goes to the next.
///
/// Permits may be given back on another thread than the one that took them, and by others than those who took them
/// ([`add_permits`](Self::add_permits)): so it is also Hood's way to signal.
///
/// # Examples
/// At most two at a time:
/// ```
/// use locksley::sync::Semaphore;
///
/// let semaphore = Semaphore::new(2);
/// pollster::block_on(async {
///     let first = semaphore.acquire().await?;
///     let second = semaphore.acquire().await?;
///     assert!(semaphore.try_acquire().is_err());
///     drop(first);
///     let third = semaphore.acquire().await?;
///     drop((second, third));
///     assert_eq!(semaphore.available_permits(), 2);
///     Ok::<(), locksley::sync::Closed>(())
/// })?;
/// # Ok::<(), locksley::sync::Closed>(())
/// ```
#[derive(Debug)]
pub struct Semaphore {
    /// All permits that there ever were, times two; plus 1 when it is closed. It wraps: only differences count.
    supply: AtomicUsize,
    line: Line,
}

const CLOSED: usize = 1;
const PERMIT: usize = 2;

impl Semaphore {
    /// As many permits as there may be at a time.
    pub const MAX_PERMITS: usize = usize::MAX >> 3;

    const_unless_loom! {
        /// A semaphore with so many permits.
        ///
        /// # Panics
        /// If these are more than [`MAX_PERMITS`](Self::MAX_PERMITS).
        ///
        /// # Examples
        /// ```
        /// use locksley::sync::Semaphore;
        ///
        /// static DOWNLOADS: Semaphore = Semaphore::new(4);
        /// assert_eq!(DOWNLOADS.available_permits(), 4);
        /// ```
        #[must_use]
        pub fn new(permits: usize) -> Self {
            assert!(permits <= Self::MAX_PERMITS, "more permits than there may be");
            Self { supply: AtomicUsize::new(permits * PERMIT), line: Line::new() }
        }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// [`Closed`], if the semaphore is closed before this had its turn.
    ///
    /// # Examples
    /// See [`Semaphore`].
    pub fn acquire(&self) -> Acquire<'_> {
        self.acquire_many(1)
    }

    /// Waits for so many permits, and takes them all at once. Until there are as many, those who come later wait behind it.
    ///
    /// With more than there ever are, it waits until the semaphore is closed.
    ///
    /// # Errors
    /// [`Closed`], if the semaphore is closed before this had its turn.
    ///
    /// # Panics
    /// If these are more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// # Examples
    /// A thread that waits for three signals:
    /// ```
    /// use locksley::sync::Semaphore;
    ///
    /// let signals = Semaphore::new(0);
    /// std::thread::scope(|scope| {
    ///     for _ in 0..3 {
    ///         scope.spawn(|| signals.add_permits(1));
    ///     }
    ///     pollster::block_on(signals.acquire_many(3)).map(|all| all.forget())
    /// })?;
    /// # Ok::<(), locksley::sync::Closed>(())
    /// ```
    pub fn acquire_many(&self, permits: usize) -> Acquire<'_> {
        assert!(permits <= Self::MAX_PERMITS, "more permits than there may be");
        Acquire { semaphore: self, permits, stage: Stage::New }
    }

    /// Takes a permit, if there is one and nobody waits.
    ///
    /// # Errors
    /// [`TryAcquireError`] says why there was none.
    ///
    /// # Examples
    /// ```
    /// use locksley::sync::{Semaphore, TryAcquireError};
    ///
    /// let semaphore = Semaphore::new(1);
    /// let permit = semaphore.try_acquire()?;
    /// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    /// drop(permit);
    /// semaphore.close();
    /// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
    /// # Ok::<(), TryAcquireError>(())
    /// ```
    pub fn try_acquire(&self) -> Result<Permit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Takes so many permits, if there are as many and nobody waits.
    ///
    /// # Errors
    /// [`TryAcquireError`] says why there were not.
    ///
    /// # Panics
    /// If these are more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// # Examples
    /// ```
    /// let semaphore = locksley::sync::Semaphore::new(5);
    /// let three = semaphore.try_acquire_many(3)?;
    /// assert!(semaphore.try_acquire_many(3).is_err());
    /// assert_eq!(three.permits(), 3);
    /// # Ok::<(), locksley::sync::TryAcquireError>(())
    /// ```
    pub fn try_acquire_many(&self, permits: usize) -> Result<Permit<'_>, TryAcquireError> {
        assert!(permits <= Self::MAX_PERMITS, "more permits than there may be");
        self.try_take(permits)?;
        Ok(Permit { semaphore: self, permits })
    }

    /// Adds permits, which need not have been taken before.
    ///
    /// # Panics
    /// If there would be more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// # Examples
    /// ```
    /// let semaphore = locksley::sync::Semaphore::new(0);
    /// semaphore.add_permits(2);
    /// assert_eq!(semaphore.available_permits(), 2);
    /// ```
    pub fn add_permits(&self, permits: usize) {
        // One at a time, a count of 64 bits is not filled in a lifetime.
        if permits > 1 || usize::BITS < 64 {
            let fits = permits <= Self::MAX_PERMITS
                && self.available_permits() <= Self::MAX_PERMITS - permits;
            assert!(fits, "more permits than there may be");
        }
        self.give(permits);
    }

    /// How many permits could be taken at some moment during the call: those that are left over for the first in line count.
    ///
    /// # Examples
    /// See [`Semaphore`].
    pub fn available_permits(&self) -> usize {
        let mut hazards = self.line.hold();
        let taken = self.line.taken(&mut hazards);
        (self.supply.load(Ordering::Acquire) / PERMIT).wrapping_sub(taken) & (usize::MAX / PERMIT)
    }

    /// Ends it: who waits, and who comes, gets an error. Permits that were taken are still given back.
    ///
    /// # Examples
    /// ```
    /// let semaphore = locksley::sync::Semaphore::new(0);
    /// std::thread::scope(|scope| {
    ///     let waiter = scope.spawn(|| pollster::block_on(semaphore.acquire()).is_err());
    ///     semaphore.close();
    ///     assert!(waiter.join().unwrap());
    /// });
    /// assert!(semaphore.is_closed());
    /// ```
    pub fn close(&self) {
        // Release pairs with the acquire in `supply`: what the closer did is seen by who is sent away.
        self.supply.fetch_or(CLOSED, Ordering::AcqRel);
        self.serve_after_a_change();
    }

    /// Whether it was closed.
    ///
    /// # Examples
    /// See [`close`](Self::close).
    pub fn is_closed(&self) -> bool {
        self.supply.load(Ordering::Acquire) & CLOSED != 0
    }

    /// Gives permits back, or adds them.
    fn give(&self, permits: usize) {
        // Release pairs with the acquires of `supply`: what was done under these permits is seen by who takes them.
        self.supply.fetch_add(permits.wrapping_mul(PERMIT), Ordering::AcqRel);
        self.serve_after_a_change();
    }

    fn serve_after_a_change(&self) {
        // Pairs with the fences after joining and leaving: either they see the change, or we see them.
        fence(Ordering::SeqCst);
        if !self.line.is_empty() {
            self.serve();
        }
    }

    /// Gives the waiters what there is, in the order of the line, as far as it goes. Whoever does this does it for all: it
    /// is a matter of one compare-and-swap at a waiter's place, before and after which others may go on with it. `true` if
    /// somebody still waits.
    fn serve(&self) -> bool {
        let mut hazards = self.line.hold();
        while let Some(oldest) = self.line.oldest(&mut hazards) {
            let verdict = match self.allows(oldest.taken(), oldest.amount()) {
                Err(Closed) => Verdict::Dismissed,
                Ok(true) => Verdict::Granted,
                Ok(false) => return true,
            };
            // Where somebody else was faster, all is well too.
            oldest.decide(verdict);
        }
        false
    }

    /// Whether so many more may be taken, when so many were.
    fn allows(&self, taken: usize, permits: usize) -> Result<bool, Closed> {
        // Acquire pairs with the release in `give`. It is at least what allowed others to take what they took: who read
        // `taken` has seen that.
        let supply = self.supply.load(Ordering::Acquire);
        if supply & CLOSED != 0 {
            return Err(Closed);
        }
        let available = supply.wrapping_sub(taken.wrapping_mul(PERMIT)).cast_signed();
        Ok(available >= permits.wrapping_mul(PERMIT).cast_signed())
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

    fn try_take(&self, permits: usize) -> Result<(), TryAcquireError> {
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
                    self.serve();
                    let _ = place.leave();
                }
            }
        }
    }
}

/// So many permits of a semaphore, given back when this is dropped.
///
/// It may go to another thread. See [`Semaphore`] for an example.
#[derive(Debug)]
#[must_use = "the permits are given back when this is dropped"]
pub struct Permit<'s> {
    semaphore: &'s Semaphore,
    permits: usize,
}

impl Permit<'_> {
    /// How many they are.
    ///
    /// # Examples
    /// See [`Semaphore::try_acquire_many`].
    pub fn permits(&self) -> usize {
        self.permits
    }

    /// Keeps the semaphore from getting them back, other than by [`Semaphore::add_permits`].
    ///
    /// # Examples
    /// ```
    /// let semaphore = locksley::sync::Semaphore::new(3);
    /// semaphore.try_acquire()?.forget();
    /// assert_eq!(semaphore.available_permits(), 2);
    /// # Ok::<(), locksley::sync::TryAcquireError>(())
    /// ```
    pub fn forget(mut self) {
        self.permits = 0;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.permits > 0 {
            self.semaphore.give(self.permits);
        }
    }
}

/// Waits for permits: see [`Semaphore::acquire`]. It stands in line from when it is first polled until it is dropped.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are polled"]
pub struct Acquire<'s> {
    semaphore: &'s Semaphore,
    permits: usize,
    stage: Stage<'s>,
}

#[derive(Debug)]
enum Stage<'s> {
    New,
    InLine(Place<'s>),
    Done,
}

impl<'s> Future for Acquire<'s> {
    type Output = Result<Permit<'s>, Closed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let semaphore = this.semaphore;
        let verdict = match &mut this.stage {
            Stage::New => match semaphore.try_take(this.permits) {
                Ok(()) => Poll::Ready(Verdict::Granted),
                Err(TryAcquireError::Closed) => Poll::Ready(Verdict::Dismissed),
                Err(TryAcquireError::NoPermits) => {
                    let place = semaphore.line.join(this.permits, context.waker());
                    // Before others are served, whose wakers may panic: what we get meanwhile is to be passed on.
                    this.stage = Stage::InLine(place);
                    semaphore.serve();
                    match &this.stage {
                        Stage::InLine(place) => place.verdict(),
                        Stage::New | Stage::Done => unreachable!("it has just been put there"),
                    }
                }
            },
            Stage::InLine(place) => place.poll(context.waker()),
            Stage::Done => panic!("polled after it was ready"),
        };
        verdict.map(|verdict| {
            this.stage = Stage::Done;
            match verdict {
                Verdict::Granted => Ok(Permit { semaphore, permits: this.permits }),
                Verdict::Dismissed => Err(Closed),
            }
        })
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let Stage::InLine(place) = &mut self.stage else { return };
        match place.leave() {
            // Who comes next may need fewer.
            Ok(()) => drop(self.semaphore.serve()),
            Err(Verdict::Granted) => self.semaphore.give(self.permits),
            Err(Verdict::Dismissed) => {}
        }
    }
}

/// The semaphore is closed.
///
/// # Examples
/// ```
/// let semaphore = locksley::sync::Semaphore::new(1);
/// semaphore.close();
/// let error = pollster::block_on(semaphore.acquire()).unwrap_err();
/// assert_eq!(error.to_string(), "the semaphore is closed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the semaphore is closed")
    }
}

impl Error for Closed {}

/// Why permits could not be taken at once. See [`Semaphore::try_acquire`] for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are too few, or others wait for them.
    NoPermits,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => Closed.fmt(f),
            Self::NoPermits => f.write_str("the semaphore has too few permits"),
        }
    }
}

impl Error for TryAcquireError {}
