//! A deque that is a ring in a lock. Each operation takes the lock, including those of the owner.
//!
//! Hood's study has two: a caller that finds the lock taken spins in one, and blocks in the other.
//! Both break law 2: a thread that is suspended while it holds the lock stops all callers.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::deque::contract::{Alternative, Steal};
use crate::primitive::{AtomicBool, Ordering, spin_loop};

/// A lock, which one thread holds at a time.
pub(crate) trait Lock: Default + Send + Sync {
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
///
/// The meter is part of no protocol, so it has std's atomics under the model checker, too.
pub(crate) struct Locked<T, L> {
    lock: L,
    /// Used only while the lock is held.
    ring: UnsafeCell<VecDeque<NonNull<T>>>,
    /// The number of callers that found the lock taken, including those that still wait.
    pub(in crate::deque) waits: AtomicU64,
    /// The total time of the waits that have ended, in nanoseconds.
    waited: AtomicU64,
}

// SAFETY: items are opaque words here. The code that makes a deque answers for items that may
// change threads (jobs may: see `header.rs`).
unsafe impl<T, L: Send> Send for Locked<T, L> {}
// SAFETY: as above. One thread at a time reaches the ring: the one that holds the lock.
unsafe impl<T, L: Sync> Sync for Locked<T, L> {}

impl<T, L: Lock> Locked<T, L> {
    pub(crate) fn new() -> Self {
        let (lock, ring, waits, waited) = Default::default();
        Self { lock, ring, waits, waited }
    }

    fn with<R>(&self, operation: impl FnOnce(&mut VecDeque<NonNull<T>>) -> R) -> R {
        let held = self.lock.try_acquire().unwrap_or_else(|| self.wait());
        // SAFETY: the lock is held, so no other reference exists, and this one ends before `held`
        // does.
        let result = operation(unsafe { &mut *self.ring.get() });
        drop(held);
        result
    }

    fn wait(&self) -> L::Held<'_> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        let begun = Instant::now();
        let held = self.lock.acquire();
        let waited = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.waited.fetch_add(waited, Ordering::Relaxed);
        held
    }
}

impl<T, L: Lock> Alternative<T> for Locked<T, L> {
    fn try_push_new(&self, item: NonNull<T>) -> Result<(), NonNull<T>> {
        self.with(|ring| ring.push_back(item));
        Ok(())
    }

    fn push_from_any(&self, item: NonNull<T>) -> Result<(), NonNull<T>> {
        self.try_push_new(item)
    }

    fn pop_newest(&self) -> Option<NonNull<T>> {
        self.with(VecDeque::pop_back)
    }

    fn steal_oldest(&self) -> Steal<T> {
        self.with(VecDeque::pop_front).map_or(Steal::Empty, Steal::Taken)
    }

    fn is_empty(&self) -> bool {
        self.with(|ring| ring.is_empty())
    }

    fn lock_wait(&self) -> Duration {
        Duration::from_nanos(self.waited.load(Ordering::Relaxed))
    }
}

/// A lock with callers that spin: test-and-test-and-set.
#[derive(Default)]
pub(crate) struct SpinningLock(AtomicBool);

/// A thread holds a [`SpinningLock`].
pub(crate) struct HeldSpinning<'a>(&'a AtomicBool);

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
///
/// The mutex of the standard library makes no system call if it is free. If it is taken, a caller
/// tries about a hundred times before it blocks.
pub(crate) type BlockingLock = Mutex<()>;

impl Lock for BlockingLock {
    type Held<'a> = MutexGuard<'a, ()>;

    fn try_acquire(&self) -> Option<MutexGuard<'_, ()>> {
        step();
        let held = self.try_lock().ok();
        step();
        held
    }

    fn acquire(&self) -> MutexGuard<'_, ()> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the stall harness hold a thread here: it does not see the atomics of std's mutex.
fn step() {
    #[cfg(all(test, debug_assertions, not(loom)))]
    crate::primitive::stepped::step();
}
