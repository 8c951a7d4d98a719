//! The deques with a lock: each operation is surrounded by a pair of lock and unlock.
//!
//! Source: "The Performance of Work Stealing in Multiprogrammed Environments", 1998, section 4: a
//! *spinning* lock, test-and-test-and-set, and a *blocking* lock, the system's mutex. A worker that
//! is preempted while it holds the lock stops all callers: that is what the study shows.
//!
//! The study's `mutex_lock` enters the kernel whenever the lock is taken. The mutex of the standard
//! library first tries about a hundred times, and enters no kernel if the lock is free.
//!
//! Nornir's run queues ("A simple improvement of the work-stealing scheduling algorithm", 2010,
//! section 3) and the deques of LASSI's places are of this kind, too: any worker may use both ends.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use locksley_sys::primitive::{
    AtomicBool, AtomicU64, Instant, Mutex, Ordering, UnsafeCell, spin_loop,
};

use super::Deque;

/// A lock, which one thread holds at a time.
pub trait Lock: Default + Send + Sync {
    /// Evidence that the caller holds the lock. Releases the lock when it is dropped.
    type Held<'a>
    where
        Self: 'a;

    /// Takes the lock if it is free.
    fn try_acquire(&self) -> Option<Self::Held<'_>>;

    /// Waits for the lock.
    fn acquire(&self) -> Self::Held<'_>;
}

/// A ring in a lock.
#[derive(Default)]
pub struct Locked<T, L> {
    lock: L,
    /// Used only while the lock is held.
    ring: UnsafeCell<VecDeque<NonNull<T>>>,
    /// The total time of the waits that have ended, in nanoseconds.
    waited: AtomicU64,
}

// SAFETY: items are opaque words here. The code that makes a deque answers for items that may
// change threads.
unsafe impl<T, L: Send> Send for Locked<T, L> {}
// SAFETY: as above. One thread at a time reaches the ring: the one that holds the lock.
unsafe impl<T, L: Sync> Sync for Locked<T, L> {}

impl<T, L: Lock> Locked<T, L> {
    /// Makes an empty deque.
    pub fn new() -> Self {
        Self {
            lock: L::default(),
            ring: UnsafeCell::new(VecDeque::new()),
            waited: AtomicU64::new(0),
        }
    }

    pub(super) fn with<R>(&self, operation: impl FnOnce(&mut VecDeque<NonNull<T>>) -> R) -> R {
        let held = self.lock.try_acquire().unwrap_or_else(|| self.wait());
        let result = self.ring.with_mut(|ring| {
            // SAFETY: the lock is held, so no other reference exists, and this one ends before
            // `held` does.
            operation(unsafe { &mut *ring })
        });
        drop(held);
        result
    }

    fn wait(&self) -> L::Held<'_> {
        let begun = Instant::now();
        let held = self.lock.acquire();
        let waited = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.waited.fetch_add(waited, Ordering::Relaxed);
        held
    }
}

impl<T, L: Lock> Deque<T> for Locked<T, L> {
    fn push_bottom(&self, item: NonNull<T>) -> Result<(), NonNull<T>> {
        self.with(|ring| ring.push_back(item));
        Ok(())
    }

    fn pop_bottom(&self) -> Option<NonNull<T>> {
        self.with(VecDeque::pop_back)
    }

    fn pop_top(&self) -> Option<NonNull<T>> {
        self.with(VecDeque::pop_front)
    }

    fn push_top(&self, item: NonNull<T>) -> Result<(), NonNull<T>> {
        self.with(|ring| ring.push_front(item));
        Ok(())
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn lock_wait(&self) -> Duration {
        Duration::from_nanos(self.waited.load(Ordering::Relaxed))
    }
}

/// A lock with callers that spin: test-and-test-and-set.
#[derive(Default)]
pub struct SpinningLock(AtomicBool);

/// A thread holds a [`SpinningLock`].
pub struct HeldSpinning<'a>(&'a AtomicBool);

impl Lock for SpinningLock {
    type Held<'a> = HeldSpinning<'a>;

    fn try_acquire(&self) -> Option<HeldSpinning<'_>> {
        // Acquire pairs with the release in `drop`: this thread sees what the holder before it did.
        (!self.0.swap(true, Ordering::Acquire)).then(|| HeldSpinning(&self.0))
    }

    fn acquire(&self) -> HeldSpinning<'_> {
        loop {
            // Relaxed: only a hint. A read keeps the cache line shared, a swap would not.
            while self.0.load(Ordering::Relaxed) {
                spin_loop();
            }
            if let Some(held) = self.try_acquire() {
                return held;
            }
        }
    }
}

impl Drop for HeldSpinning<'_> {
    fn drop(&mut self) {
        // Release pairs with the acquire in `try_acquire`.
        self.0.store(false, Ordering::Release);
    }
}

/// A lock with callers that block: the system's mutex.
#[derive(Default)]
pub struct BlockingLock(Mutex<()>);

impl Lock for BlockingLock {
    type Held<'a> = MutexGuard<'a, ()>;

    fn try_acquire(&self) -> Option<MutexGuard<'_, ()>> {
        self.0.try_lock().ok()
    }

    fn acquire(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
