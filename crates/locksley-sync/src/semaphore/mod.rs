//! The semaphore.

pub(crate) mod acquire;
pub(crate) mod error;
pub(crate) mod permit;
mod queue;
mod word;

use std::convert::Infallible;
use std::fmt;
use std::ptr::NonNull;

use crate::wait_queue::{Outcome, WaitQueue, WaiterRef};
use locksley_sys::primitive::{AtomicPtr, Ordering, const_unless_loom};
use word::Word;

use acquire::Acquire;
use error::{Closed, TryAcquireError};
pub(crate) use permit::Permit;
pub(crate) use queue::PermitQueue;

/// Counts permits, which tasks acquire and release.
///
/// Use it to limit how many tasks do something at a time, or as a signal: any thread may add
/// permits ([`add_permits`](Self::add_permits)), and a permit may be released on any thread. It
/// follows the semaphore of Hood, a non-blocking queue of threads (Blumofe and Papadopoulos, "Hood:
/// A User-Level Threads Library for Multiprogrammed Multiprocessors", 1998, section 2).
///
/// - **Fair.** Tasks get permits in the order of their first polls. No task takes a permit while
///   another waits, even if the first in the queue needs more than there are.
/// - **Lock-free.** A thread that the kernel suspends in an operation delays no other task, except
///   by the permits that it holds or is about to release.
/// - **Cancellable.** A dropped wait leaves the queue, and the permits that it was granted go to
///   the next.
///
/// It is one word in size. It allocates a queue, and keeps it, when a second task waits, or when a
/// task waits for several permits.
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
    /// A [`Word`]. All changes are read-modify-writes with release, so an acquire load synchronizes
    /// with all earlier changes, not only with the last one.
    word: AtomicPtr<()>,
}

impl Semaphore {
    /// The largest number of permits.
    pub const MAX_PERMITS: usize = Word::MAX_FREE;

    const_unless_loom! {
        /// Makes a semaphore with `permits` permits.
        ///
        /// # Panics
        /// If `permits` is larger than [`MAX_PERMITS`](Self::MAX_PERMITS).
        ///
        /// # Examples
        /// ```
        /// use locksley_sync::Semaphore;
        ///
        /// static DOWNLOADS: Semaphore = Semaphore::new(4);
        /// assert_eq!(DOWNLOADS.available_permits(), 4);
        /// ```
        #[must_use]
        #[track_caller]
        pub fn new(permits: usize) -> Self {
            assert!(permits <= Self::MAX_PERMITS, "more permits than `Semaphore::MAX_PERMITS`");
            Self { word: AtomicPtr::new(Word::Free { permits, is_closed: false }.to_raw()) }
        }
    }

    /// Waits for a permit. Tasks that come later wait behind this one.
    ///
    /// # Errors
    /// [`Closed`], if the semaphore is closed before the permit is granted.
    ///
    /// # Examples
    /// See [`Semaphore`].
    pub fn acquire(&self) -> Acquire<'_> {
        self.acquire_many(1)
    }

    /// Waits for `permits` permits, and takes them all at once. Tasks that come later wait behind
    /// this one, even if they need fewer.
    ///
    /// If there are never as many, this waits until the semaphore is closed.
    ///
    /// # Errors
    /// [`Closed`], if the semaphore is closed before the permits are granted.
    ///
    /// # Panics
    /// If `permits` is larger than [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// # Examples
    /// A thread waits for three signals:
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
    #[track_caller]
    pub fn acquire_many(&self, permits: usize) -> Acquire<'_> {
        assert!(permits <= Self::MAX_PERMITS, "{TOO_MANY}");
        Acquire::new(self, permits)
    }

    /// Takes a permit, if there is one and no task waits.
    ///
    /// # Errors
    /// [`TryAcquireError::NoPermits`] also if another task waits first, and
    /// [`TryAcquireError::Closed`].
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

    /// Takes `permits` permits, if there are as many and no task waits.
    ///
    /// # Errors
    /// [`TryAcquireError::NoPermits`] also if another task waits first, and
    /// [`TryAcquireError::Closed`].
    ///
    /// # Panics
    /// If `permits` is larger than [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// # Examples
    /// ```
    /// let semaphore = locksley_sync::Semaphore::new(5);
    /// let _three = semaphore.try_acquire_many(3)?;
    /// assert!(semaphore.try_acquire_many(3).is_err());
    /// # Ok::<(), locksley_sync::TryAcquireError>(())
    /// ```
    #[track_caller]
    pub fn try_acquire_many(&self, permits: usize) -> Result<Permit<'_>, TryAcquireError> {
        assert!(permits <= Self::MAX_PERMITS, "{TOO_MANY}");
        self.update(|word| match word {
            Word::Free { is_closed: true, .. } => Err(TryAcquireError::Closed),
            Word::Free { permits: free, .. } if permits <= free => {
                Ok(Word::Free { permits: free - permits, is_closed: false })
            }
            Word::Free { .. } | Word::Single(_) => Err(TryAcquireError::NoPermits),
            Word::Queue(queue) => self.queue_at(queue).try_acquire(permits).map(|()| word),
        })?;
        Ok(Permit { semaphore: self, permits })
    }

    /// Adds permits, which need not have been acquired before. Tasks that wait get them first.
    ///
    /// # Panics
    /// If there would be more than [`MAX_PERMITS`](Self::MAX_PERMITS). The destructor of a
    /// [`Permit`] panics in that case, too.
    ///
    /// # Examples
    /// ```
    /// let semaphore = locksley_sync::Semaphore::new(0);
    /// semaphore.add_permits(2);
    /// assert_eq!(semaphore.available_permits(), 2);
    /// ```
    #[track_caller]
    pub fn add_permits(&self, permits: usize) {
        assert!(permits <= Self::MAX_PERMITS, "{TOO_MANY}");
        if permits == 0 {
            return;
        }
        let updated = self.update(|word| match word {
            Word::Free { permits: free, is_closed } if permits <= Self::MAX_PERMITS - free => {
                Ok(Word::Free { permits: free + permits, is_closed })
            }
            // The task waits for exactly one permit.
            Word::Single(_) => Ok(Word::Free { permits: permits - 1, is_closed: false }),
            Word::Queue(queue) if self.queue_at(queue).release(permits) => Ok(word),
            Word::Free { .. } | Word::Queue(_) => Err(()),
        });
        // Not in the closure, so that the panic names the caller's line.
        let Ok(previous) = updated else { panic!("{TOO_MANY}") };
        if let Word::Single(waiter) = previous {
            // SAFETY: the word's reference, which the update took out of the word.
            let waiter = unsafe { WaiterRef::from_raw(waiter) };
            if !waiter.complete_and_wake(Outcome::Granted) {
                // The wait was cancelled, so its permit is for other tasks.
                self.add_permits(1);
            }
        }
    }

    /// The number of free permits at some moment during the call. They may be too few for the first
    /// task in the queue.
    ///
    /// # Examples
    /// See [`Semaphore`].
    pub fn available_permits(&self) -> usize {
        match self.word() {
            Word::Free { permits, .. } => permits,
            Word::Single(_) => 0,
            Word::Queue(queue) => self.queue_at(queue).available_permits(),
        }
    }

    /// Closes the semaphore: tasks that wait, now or later, get an error. Permits can still be
    /// released.
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
        let Ok(previous) = self.update::<Infallible>(|word| match word {
            Word::Free { permits, .. } => Ok(Word::Free { permits, is_closed: true }),
            Word::Single(_) => Ok(Word::Free { permits: 0, is_closed: true }),
            Word::Queue(queue) => {
                self.queue_at(queue).close();
                Ok(word)
            }
        });
        if let Word::Single(waiter) = previous {
            // SAFETY: the word's reference, which the update took out of the word.
            unsafe { WaiterRef::from_raw(waiter) }.complete_and_wake(Outcome::Dismissed);
        }
    }

    /// True if the semaphore is closed.
    ///
    /// # Examples
    /// See [`close`](Self::close).
    pub fn is_closed(&self) -> bool {
        match self.word() {
            Word::Free { is_closed, .. } => is_closed,
            Word::Single(_) => false,
            Word::Queue(queue) => self.queue_at(queue).is_closed(),
        }
    }

    fn load(&self) -> *mut () {
        // Acquire pairs with the releases of all earlier changes.
        self.word.load(Ordering::Acquire)
    }

    fn word(&self) -> Word {
        Word::from_raw(self.load())
    }

    fn compare_exchange(&self, current: *mut (), new: Word) -> Result<(), *mut ()> {
        // Release: what was done under a permit is visible to the next holder, and a new node or
        // queue to the threads that find it. Acquire pairs with that, in case of failure, too.
        let exchanged =
            self.word.compare_exchange(current, new.to_raw(), Ordering::AcqRel, Ordering::Acquire);
        exchanged.map(drop)
    }

    /// Changes the word to what `change` returns. If the word is a queue, or if `change` returns an
    /// error, the word stays. Returns the word before.
    fn update<E>(&self, change: impl Fn(Word) -> Result<Word, E>) -> Result<Word, E> {
        let mut current = self.load();
        loop {
            let word = Word::from_raw(current);
            let new = change(word)?;
            if matches!(word, Word::Queue(_)) {
                return Ok(word);
            }
            match self.compare_exchange(current, new) {
                Ok(()) => return Ok(word),
                Err(newer) => current = newer,
            }
        }
    }

    fn queue_at(&self, queue: NonNull<PermitQueue>) -> &PermitQueue {
        // SAFETY: found in the word, so it lives as long as the semaphore.
        unsafe { &*queue.as_ptr() }
    }

    /// Returns the queue, and makes it if there is none.
    #[cold]
    fn get_or_make_queue(&self) -> &PermitQueue {
        let mut current = self.load();
        loop {
            let queue = match Word::from_raw(current) {
                Word::Queue(queue) => return self.queue_at(queue),
                Word::Free { permits, is_closed } => {
                    PermitQueue::new(permits, is_closed, WaitQueue::new())
                }
                Word::Single(waiter) => {
                    // SAFETY: the word's reference goes to the queue if the exchange succeeds. If
                    // it fails, `drop_unpublished` forgets the reference, which still belongs to
                    // the word or to the thread that has taken it out. The exchange may also
                    // succeed after the node was freed, with the word's reference to a newer node
                    // at the same address: that is the node which waits then. Strict provenance
                    // objects to this, since the pointer is the older node's.
                    let waiters = unsafe { WaitQueue::with_first(waiter) };
                    PermitQueue::new(0, false, waiters)
                }
            };
            let queue = NonNull::from(Box::leak(Box::new(queue)));
            match self.compare_exchange(current, Word::Queue(queue)) {
                Ok(()) => return self.queue_at(queue),
                Err(newer) => {
                    // SAFETY: leaked above, and known to no other thread.
                    let queue = unsafe { Box::from_raw(queue.as_ptr()) };
                    queue.waiters.drop_unpublished();
                    current = newer;
                }
            }
        }
    }

    /// Number of queue nodes.
    ///
    /// # Safety
    /// No other thread uses the semaphore during the call.
    #[cfg(all(test, not(loom)))]
    pub(super) unsafe fn node_count(&self) -> usize {
        // SAFETY: as the caller promises.
        unsafe { self.get_or_make_queue().waiters.node_count() }
    }
}

const TOO_MANY: &str = "more permits than `Semaphore::MAX_PERMITS`";

impl Drop for Semaphore {
    fn drop(&mut self) {
        match self.word() {
            Word::Free { .. } => {}
            // SAFETY: the word's reference, which is not used again. The future that waits was
            // leaked, for example by `mem::forget`: its destructor would have cleared the word.
            Word::Single(waiter) => drop(unsafe { WaiterRef::from_raw(waiter) }),
            // SAFETY: leaked by `get_or_make_queue`, and not used again.
            Word::Queue(queue) => drop(unsafe { Box::from_raw(queue.as_ptr()) }),
        }
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("available_permits", &self.available_permits())
            .field("is_closed", &self.is_closed())
            .finish()
    }
}
