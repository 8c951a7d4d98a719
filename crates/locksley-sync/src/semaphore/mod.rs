//! A semaphore whose queue nobody can block.

mod acquire;
mod error;
mod permit;

use std::fmt;
use std::ptr::NonNull;

use super::crowd::Crowd;
use super::line::Waiter;
use super::word::Word;
use locksley_sys::primitive::{AtomicPtr, Ordering, const_unless_loom};

pub use acquire::Acquire;
pub use error::{Closed, TryAcquireError};
pub use permit::Permit;

/// Permits that are taken and given back; who finds too few waits in line.
///
/// Hood's semaphore (Blumofe and Papadopoulos 1998, section 2: a non-blocking queue of threads),
/// with permits that are counted in any number, with cancellation, and with an end.
///
/// It is one word. When a second task begins to wait while another does, it gets a line in memory
/// of its own, and keeps that.
///
/// - **Fair.** Waiters are served in the order in which they were first polled. Nobody takes a
///   permit while somebody waits, not even one that is left over because the first in line needs
///   more of them.
/// - **Non-blocking.** There is no lock in it: a thread that is suspended at any point keeps back
///   no permits but those that it holds, or was just given.
/// - **Cancellation.** A waiter that is dropped leaves the line. What it had been given already
///   goes to the next.
///
/// A permit panics when it is dropped if there would be more than
/// [`MAX_PERMITS`](Self::MAX_PERMITS) then: only who adds permits that were never taken comes to
/// that.
///
/// Permits may be given back on another thread than the one that took them, and by others than
/// those who took them ([`add_permits`](Self::add_permits)): so it is also Hood's way to signal.
///
/// # Examples
/// At most two at a time:
/// ```
/// use locksley_sync::Semaphore;
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
///     Ok::<(), locksley_sync::Closed>(())
/// })?;
/// # Ok::<(), locksley_sync::Closed>(())
/// ```
pub struct Semaphore {
    /// A [`Word`]. Only ever changed by read-modify-writes: who reads it sees what all did before
    /// who changed it before.
    word: AtomicPtr<()>,
}

impl Semaphore {
    /// As many permits as there may be at a time.
    pub const MAX_PERMITS: usize = Word::MOST_FREE;

    const_unless_loom! {
        /// A semaphore with so many permits.
        ///
        /// # Panics
        /// If these are more than [`MAX_PERMITS`](Self::MAX_PERMITS).
        ///
        /// # Examples
        /// ```
        /// use locksley_sync::Semaphore;
        ///
        /// static DOWNLOADS: Semaphore = Semaphore::new(4);
        /// assert_eq!(DOWNLOADS.available_permits(), 4);
        /// ```
        #[must_use]
        pub fn new(permits: usize) -> Self {
            assert!(permits <= Self::MAX_PERMITS, "more permits than there may be");
            Self { word: AtomicPtr::new(Word::free(permits, false)) }
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

    /// Waits for so many permits, and takes them all at once. Until there are as many, those who
    /// come later wait behind it.
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
    /// use locksley_sync::Semaphore;
    ///
    /// let signals = Semaphore::new(0);
    /// std::thread::scope(|scope| {
    ///     for _ in 0..3 {
    ///         scope.spawn(|| signals.add_permits(1));
    ///     }
    ///     pollster::block_on(signals.acquire_many(3)).map(|all| all.forget())
    /// })?;
    /// # Ok::<(), locksley_sync::Closed>(())
    /// ```
    pub fn acquire_many(&self, permits: usize) -> Acquire<'_> {
        assert!(permits <= Self::MAX_PERMITS, "{TOO_MANY}");
        Acquire::new(self, permits)
    }

    /// Takes a permit, if there is one and nobody waits.
    ///
    /// # Errors
    /// [`TryAcquireError`] says why there was none.
    ///
    /// # Examples
    /// ```
    /// use locksley_sync::{Semaphore, TryAcquireError};
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
    /// let semaphore = locksley_sync::Semaphore::new(5);
    /// let three = semaphore.try_acquire_many(3)?;
    /// assert!(semaphore.try_acquire_many(3).is_err());
    /// assert_eq!(three.permits(), 3);
    /// # Ok::<(), locksley_sync::TryAcquireError>(())
    /// ```
    pub fn try_acquire_many(&self, permits: usize) -> Result<Permit<'_>, TryAcquireError> {
        assert!(permits <= Self::MAX_PERMITS, "{TOO_MANY}");
        self.try_take(permits)?;
        Ok(Permit::new(self, permits))
    }

    /// Adds permits, which need not have been taken before.
    ///
    /// # Panics
    /// If there would be more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// # Examples
    /// ```
    /// let semaphore = locksley_sync::Semaphore::new(0);
    /// semaphore.add_permits(2);
    /// assert_eq!(semaphore.available_permits(), 2);
    /// ```
    pub fn add_permits(&self, permits: usize) {
        assert!(permits <= Self::MAX_PERMITS, "{TOO_MANY}");
        self.give(permits);
    }

    /// How many permits could be taken at some moment during the call: those that are left over for
    /// the first in line count.
    ///
    /// # Examples
    /// See [`Semaphore`].
    pub fn available_permits(&self) -> usize {
        match self.word() {
            Word::Free { permits, .. } => permits,
            Word::Alone { has_some: false, .. } => 0,
            // How many these are is known where all is.
            Word::Alone { .. } => self.crowd().available_permits(),
            Word::Crowd(crowd) => self.there(crowd).available_permits(),
        }
    }

    /// Ends it: who waits, and who comes, gets an error. Permits that were taken are still given
    /// back.
    ///
    /// # Examples
    /// ```
    /// let semaphore = locksley_sync::Semaphore::new(0);
    /// std::thread::scope(|scope| {
    ///     let waiter = scope.spawn(|| pollster::block_on(semaphore.acquire()).is_err());
    ///     semaphore.close();
    ///     assert!(waiter.join().unwrap());
    /// });
    /// assert!(semaphore.is_closed());
    /// ```
    pub fn close(&self) {
        let mut now = self.load();
        loop {
            let permits = match Word::of(now) {
                Word::Free { is_closed: true, .. } => return,
                Word::Free { permits, .. } => permits,
                Word::Alone { .. } | Word::Crowd(_) => return self.crowd().close(),
            };
            match self.change(now, Word::Free { permits, is_closed: true }) {
                Ok(()) => return,
                Err(newer) => now = newer,
            }
        }
    }

    /// Whether it was closed.
    ///
    /// # Examples
    /// See [`close`](Self::close).
    pub fn is_closed(&self) -> bool {
        match self.word() {
            Word::Free { is_closed, .. } => is_closed,
            Word::Alone { .. } => false,
            Word::Crowd(crowd) => self.there(crowd).is_closed(),
        }
    }

    /// Gives permits back, or adds them.
    fn give(&self, permits: usize) {
        let mut now = self.load();
        loop {
            let (then, served) = match Word::of(now) {
                Word::Free { permits: there, is_closed } => {
                    assert!(permits <= Self::MAX_PERMITS - there, "{TOO_MANY}");
                    (Word::Free { permits: there + permits, is_closed }, None)
                }
                Word::Alone { waiter, missing, .. } if permits < missing => {
                    (Word::Alone { waiter, missing: missing - permits, has_some: true }, None)
                }
                // It has them with this change. Its share in the waiter comes to us, and nobody
                // else wakes it.
                Word::Alone { waiter, missing, .. } => {
                    (Word::Free { permits: permits - missing, is_closed: false }, Some(waiter))
                }
                Word::Crowd(crowd) => {
                    assert!(self.there(crowd).give(permits), "{TOO_MANY}");
                    return;
                }
            };
            match self.change(now, then) {
                Ok(()) => {
                    if let Some(waiter) = served {
                        // SAFETY: the word's share in it, which is ours since we have taken it out.
                        unsafe { Waiter::call(waiter) };
                    }
                    return;
                }
                Err(newer) => now = newer,
            }
        }
    }

    fn try_take(&self, permits: usize) -> Result<(), TryAcquireError> {
        let mut now = self.load();
        loop {
            let left = match Word::of(now) {
                Word::Free { is_closed: true, .. } => return Err(TryAcquireError::Closed),
                Word::Free { permits: there, .. } if permits <= there => there - permits,
                Word::Free { .. } | Word::Alone { .. } => return Err(TryAcquireError::NoPermits),
                Word::Crowd(crowd) => return self.there(crowd).try_take(permits),
            };
            match self.change(now, Word::Free { permits: left, is_closed: false }) {
                Ok(()) => return Ok(()),
                Err(newer) => now = newer,
            }
        }
    }

    fn load(&self) -> *mut () {
        // Acquire pairs with the releases of all who have changed it.
        self.word.load(Ordering::Acquire)
    }

    fn word(&self) -> Word {
        Word::of(self.load())
    }

    fn change(&self, now: *mut (), then: Word) -> Result<(), *mut ()> {
        // Release: what was done under permits that are given is seen by who takes them; what a new
        // waiter is made of, by who serves it. Acquire pairs with that; if it fails, for what the
        // caller looks at then.
        let changed =
            self.word.compare_exchange(now, then.word(), Ordering::AcqRel, Ordering::Acquire);
        changed.map(drop)
    }

    fn there(&self, crowd: NonNull<Crowd>) -> &Crowd {
        // SAFETY: found in the word, so it is there as long as the semaphore.
        unsafe { &*crowd.as_ptr() }
    }

    /// Makes it one where several may wait, if it is not.
    #[cold]
    fn crowd(&self) -> &Crowd {
        let mut now = self.load();
        loop {
            let crowd = match Word::of(now) {
                Word::Crowd(crowd) => return self.there(crowd),
                Word::Free { permits, is_closed } => Crowd::of_nobody(permits, is_closed),
                // SAFETY: the word's share in it goes to the crowd if the change succeeds; if not,
                // it is called back. If another waiter has been made at the same address meanwhile,
                // that is the one that waits here now.
                Word::Alone { waiter, missing, .. } => unsafe { Crowd::around(waiter, missing) },
            };
            let crowd = NonNull::from(Box::leak(Box::new(crowd)));
            match self.change(now, Word::Crowd(crowd)) {
                Ok(()) => return self.there(crowd),
                Err(newer) => {
                    // SAFETY: leaked above, and shown to nobody.
                    let crowd = unsafe { Box::from_raw(crowd.as_ptr()) };
                    crowd.disband();
                    now = newer;
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
        unsafe { self.crowd().places() }
    }
}

const TOO_MANY: &str = "more permits than there may be";

impl Drop for Semaphore {
    fn drop(&mut self) {
        match self.word() {
            Word::Free { .. } => {}
            // SAFETY: a wait was forgotten. The word's share in it, which nobody uses any more.
            Word::Alone { waiter, .. } => unsafe { Waiter::let_go(waiter) },
            // SAFETY: leaked by `crowd`, and not used any more.
            Word::Crowd(crowd) => drop(unsafe { Box::from_raw(crowd.as_ptr()) }),
        }
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Semaphore");
        match self.word() {
            Word::Free { permits, is_closed } => {
                shown.field("permits", &permits).field("is_closed", &is_closed)
            }
            Word::Alone { missing, .. } => shown.field("missing", &missing),
            Word::Crowd(crowd) => shown.field("crowd", self.there(crowd)),
        };
        shown.finish()
    }
}
