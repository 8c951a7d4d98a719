//! A deque that is a plain ring with a lock around it: each operation, of the owner too, takes the lock.
//!
//! Hood's study has two, which differ in what a caller does that finds the lock taken: spin or block. Both break law 2: a
//! thread that is suspended while it holds the lock keeps all items, and all callers, until it runs again.

use std::cell::Cell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::deque::contract::{Owner, Steal, Thief};

/// A lock around a value.
pub(crate) trait Lock<V>: Send + Sync {
    fn around(value: V) -> Self;

    /// Runs `operation` while nobody else does. Where the lock was taken, `meter` learns how long the caller waited.
    fn with<R>(&self, meter: &LockMeter, operation: impl FnOnce(&mut V) -> R) -> R;
}

/// How often and for how long callers waited for a lock. Nobody who finds it free pays for this.
///
/// It is not part of any protocol, so it is the standard library's atomics under the model checker too.
#[derive(Debug, Default)]
pub(crate) struct LockMeter {
    waits: AtomicU64,
    nanoseconds: AtomicU64,
}

impl LockMeter {
    /// Counts `wait`, which returns when the lock is the caller's.
    pub(super) fn time<R>(&self, wait: impl FnOnce() -> R) -> R {
        self.waits.fetch_add(1, Ordering::Relaxed);
        let begun = Instant::now();
        let result = wait();
        let waited = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(waited, Ordering::Relaxed);
        result
    }

    /// How many callers found the lock taken, those that still wait among them.
    #[cfg_attr(not(test), allow(dead_code, reason = "the stall harness looks at it"))]
    pub(crate) fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    /// How long they waited, together; those that still wait are not in it.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}

/// An item in a ring.
#[derive(Debug)]
pub(crate) struct Item<T>(NonNull<T>);

// SAFETY: an opaque word here. Whoever makes a deque answers for its items being fit to change threads (jobs are: see
// `job.rs`).
unsafe impl<T> Send for Item<T> {}

pub(crate) type Ring<T> = VecDeque<Item<T>>;

#[derive(Debug)]
struct Shared<L> {
    ring: L,
    meter: LockMeter,
}

/// The owner's handle. It may be sent to the thread that is to own the deque, but not shared.
#[derive(Debug)]
pub(crate) struct LockedOwner<T, L> {
    shared: Arc<Shared<L>>,
    not_sync: PhantomData<Cell<Item<T>>>,
}

/// A thief's handle.
#[derive(Debug)]
pub(crate) struct LockedThief<T, L> {
    shared: Arc<Shared<L>>,
    items: PhantomData<fn() -> Item<T>>,
}

impl<T, L> Clone for LockedThief<T, L> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), items: PhantomData }
    }
}

/// An empty deque.
pub(crate) fn locked<T, L: Lock<Ring<T>>>() -> (LockedOwner<T, L>, LockedThief<T, L>) {
    let shared = Arc::new(Shared { ring: L::around(Ring::new()), meter: LockMeter::default() });
    let thief = LockedThief { shared: Arc::clone(&shared), items: PhantomData };
    (LockedOwner { shared, not_sync: PhantomData }, thief)
}

impl<T, L: Lock<Ring<T>>> Owner<T> for LockedOwner<T, L> {
    fn push_new(&self, item: NonNull<T>) {
        let Shared { ring, meter } = &*self.shared;
        ring.with(meter, |ring| ring.push_back(Item(item)));
    }

    fn pop_newest(&self) -> Option<NonNull<T>> {
        let Shared { ring, meter } = &*self.shared;
        ring.with(meter, |ring| ring.pop_back()).map(|Item(item)| item)
    }
}

impl<T, L> LockedThief<T, L> {
    /// What callers, the owner included, waited for this deque's lock.
    pub(crate) fn meter(&self) -> &LockMeter {
        &self.shared.meter
    }
}

impl<T, L: Lock<Ring<T>>> Thief<T> for LockedThief<T, L> {
    fn steal_oldest(&self) -> Steal<T> {
        let Shared { ring, meter } = &*self.shared;
        match ring.with(meter, |ring| ring.pop_front()) {
            Some(Item(item)) => Steal::Taken(item),
            None => Steal::Empty,
        }
    }

    fn is_empty(&self) -> bool {
        let Shared { ring, meter } = &*self.shared;
        ring.with(meter, |ring| ring.is_empty())
    }
}
