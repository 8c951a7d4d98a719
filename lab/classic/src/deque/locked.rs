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
use std::time::Duration;

use locksley_sys::primitive::{
    AtomicBool, AtomicU64, Instant, Mutex, Ordering, UnsafeCell, spin_loop,
};

use super::Deque;

/// A lock, which one thread holds at a time.
pub trait Lock: Default + Send + Sync {
    /// Holds the lock during `operation`, which does not panic. Adds the nanoseconds of a wait for
    /// the lock to `waited`.
    fn hold<R>(&self, waited: &AtomicU64, operation: impl FnOnce() -> R) -> R;
}

/// A ring in a lock.
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
        let ring = UnsafeCell::new(VecDeque::new());
        Self { lock: L::default(), ring, waited: AtomicU64::new(0) }
    }

    pub(super) fn with<R>(&self, operation: impl FnOnce(&mut VecDeque<NonNull<T>>) -> R) -> R {
        self.lock.hold(&self.waited, || {
            self.ring.with_mut(|ring| {
                // SAFETY: the lock is held, so no other reference exists.
                operation(unsafe { &mut *ring })
            })
        })
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

/// Waits, and adds the time.
fn timed<R>(waited: &AtomicU64, wait: impl FnOnce() -> R) -> R {
    let begun = Instant::now();
    let result = wait();
    waited.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
    result
}

/// A lock with callers that spin: test-and-test-and-set.
#[derive(Default)]
pub struct SpinningLock(AtomicBool);

impl Lock for SpinningLock {
    fn hold<R>(&self, waited: &AtomicU64, operation: impl FnOnce() -> R) -> R {
        // Acquire, here and below, pairs with the release: this thread sees what the holder before
        // it did.
        if self.0.swap(true, Ordering::Acquire) {
            // Relaxed: only a hint. A read keeps the cache line shared, a swap would not.
            let is_taken =
                || self.0.load(Ordering::Relaxed) || self.0.swap(true, Ordering::Acquire);
            timed(waited, || {
                while is_taken() {
                    spin_loop();
                }
            });
        }
        let result = operation();
        // Release pairs with the acquires above.
        self.0.store(false, Ordering::Release);
        result
    }
}

/// A lock with callers that block: the system's mutex.
#[derive(Default)]
pub struct BlockingLock(Mutex<()>);

impl Lock for BlockingLock {
    fn hold<R>(&self, waited: &AtomicU64, operation: impl FnOnce() -> R) -> R {
        let _held = match self.0.try_lock() {
            Ok(held) => Ok(held),
            Err(_) => timed(waited, || self.0.lock()),
        };
        operation()
    }
}
