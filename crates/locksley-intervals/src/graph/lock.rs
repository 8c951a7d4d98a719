//! Locks that intervals hold from start to end.

use std::cell;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic;
use std::task::{self, Poll, Wake, Waker};

use locksley::Worker;
use locksley_sync::{Acquire, Semaphore, TryAcquireError};
use locksley_sys::primitive::{AtomicU32, Ordering, UnsafeCell};

use crate::graph::context::Context;
use crate::graph::interval::Header;
use crate::graph::occurrence;

/// A lock around data, which an interval holds from its start to its end.
///
/// Use it for intervals that exclude each other in no particular order. An interval names its locks
/// in its [builder](crate::Builder::lock), which returns a [`Key`] for each. It takes them after
/// its start has occurred and before its body begins, in a fixed order, first come, first served.
/// It holds them until its end, so while its children run too. An interval that waits for a lock
/// occupies no worker.
///
/// Graphs with locks always end, because a holder waits for nothing outside: an interval inside of
/// a holder names no locks, and an edge from outside leads to the holder's start. Others are
/// [refused](crate::Refusal).
///
/// This holds inside of one root. A body of a holder may wait in other ways, for example by
/// [`join`](locksley::join), a scope, or a root of its own. A root that runs inside must not name a
/// lock that is named outside too while holders of it wait like that: it would never end.
///
/// # Examples
/// ```
/// use locksley_intervals::{self as intervals, IntervalLock};
///
/// let sum = IntervalLock::new(0);
/// intervals::run("sum", |root| {
///     for n in 1..=10 {
///         let mut add = root.interval("add");
///         let mut key = add.lock(&sum);
///         add.spawn(move |cx| *key.get_mut(cx) += n);
///     }
/// })?;
/// assert_eq!(sum.into_inner(), 55);
/// # Ok::<(), intervals::IntervalCancelled>(())
/// ```
pub struct IntervalLock<T: ?Sized> {
    semaphore: Semaphore,
    data: cell::UnsafeCell<T>,
}

// SAFETY: one interval at a time accesses the data, through the mutable borrow of its only key.
unsafe impl<T: ?Sized + Send> Sync for IntervalLock<T> {}

impl<T> IntervalLock<T> {
    /// Creates a lock that no interval holds.
    ///
    /// # Examples
    /// See [`IntervalLock`].
    #[must_use]
    pub fn new(data: T) -> Self {
        Self { semaphore: Semaphore::new(1), data: cell::UnsafeCell::new(data) }
    }

    /// Returns the data.
    ///
    /// # Examples
    /// See [`IntervalLock`].
    #[must_use]
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> fmt::Debug for IntervalLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_held = self.semaphore.available_permits() == 0;
        f.debug_struct("IntervalLock").field("is_held", &is_held).finish_non_exhaustive()
    }
}

/// The access to an [`IntervalLock`] for the interval that has named it.
///
/// The key works in the body of that interval only. It does not work in its children, although the
/// lock is held while they run: nothing orders them. The body may divide the data and process the
/// parts in parallel, by [`join`](locksley::join) for example.
///
/// # Examples
/// ```should_panic
/// use locksley_intervals::{self as intervals, IntervalLock};
///
/// let lock = IntervalLock::new(0);
/// intervals::run("root", |root| {
///     let mut one = root.interval("one");
///     let mut key = one.lock(&lock);
///     one.spawn(|_| ());
///     root.interval("other").spawn(move |cx| *key.get_mut(cx)); // panics
/// })?;
/// # Ok::<(), intervals::IntervalCancelled>(())
/// ```
pub struct Key<'g, T: ?Sized> {
    lock: &'g IntervalLock<T>,
    serial: u64,
    data: PhantomData<&'g mut T>,
}

impl<'g, T: ?Sized> Key<'g, T> {
    /// Returns the data.
    ///
    /// # Panics
    /// If the calling interval is not the one that has named the lock.
    ///
    /// # Examples
    /// See [`IntervalLock`].
    pub fn get_mut<'k>(&'k mut self, cx: &'k Context<'g, '_>) -> &'k mut T {
        let is_holder = cx.header().own_locks().is_some_and(|own| own.serial == self.serial);
        assert!(is_holder, "`{}` has no right to this key's lock", cx.header().name());
        // SAFETY: the interval holds the lock, and its body runs while `cx` is borrowed. This is
        // the only key, and it is borrowed mutably.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> fmt::Debug for Key<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("lock", &self.lock).finish_non_exhaustive()
    }
}

/// Returns a number that no other lock set and no other root has.
pub(crate) fn new_serial() -> u64 {
    static NEXT: atomic::AtomicU64 = atomic::AtomicU64::new(1);
    NEXT.fetch_add(1, atomic::Ordering::Relaxed)
}

/// The locks of one interval.
#[derive(Debug)]
pub(crate) struct LockSet {
    /// Identifies the interval to its keys.
    serial: u64,
    /// In the order in which all intervals take them: by address.
    locks: Vec<NonNull<Semaphore>>,
    /// Belongs to the thread that may take the next lock: first the one that starts the interval,
    /// then the one that has its job.
    progress: UnsafeCell<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    taken: usize,
    request: Option<(Acquire<'static>, Arc<LockRequest>)>,
}

impl LockSet {
    pub(crate) fn new() -> Self {
        let progress = UnsafeCell::new(Progress::default());
        Self { serial: new_serial(), locks: Vec::new(), progress }
    }

    pub(crate) fn add<'g, T: ?Sized>(&mut self, lock: &'g IntervalLock<T>) -> Key<'g, T> {
        self.locks.push(NonNull::from(&lock.semaphore));
        Key { lock, serial: self.serial, data: PhantomData }
    }

    /// Sorts the locks. Returns true if all of them are distinct.
    pub(crate) fn sort_distinct(&mut self) -> bool {
        self.locks.sort_unstable();
        self.locks.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// Returns true if `other` names all of these locks.
    pub(crate) fn is_subset_of(&self, other: &Self) -> bool {
        self.locks.iter().all(|lock| other.locks.binary_search(lock).is_ok())
    }

    /// Returns true if both name the same lock.
    pub(crate) fn is_overlapping(&self, other: &Self) -> bool {
        self.locks.iter().any(|lock| other.locks.binary_search(lock).is_ok())
    }

    /// Takes the missing locks of an interval, if it names any. Returns false if it waits for one.
    /// Then its job is scheduled when the lock is granted, and continues from there. The interval
    /// may have ended when this returns.
    ///
    /// # Safety
    /// The interval is alive, and the caller has the right to take its next lock.
    pub(crate) unsafe fn take(interval: NonNull<Header>) -> bool {
        loop {
            // SAFETY: alive until the request is parked, as the caller promises.
            let Some(set) = unsafe { interval.as_ref() }.own_locks() else { return true };
            // SAFETY: the progress belongs to the caller until the request is parked.
            match set.progress.with_mut(|own| unsafe { &mut *own }.advance(&set.locks, interval)) {
                None => return true,
                Some(request) if request.park() => return false,
                Some(_) => {}
            }
        }
    }

    /// Releases the locks that were taken: none, if the start has failed. Called once, at the end.
    pub(crate) fn release(&self) {
        // SAFETY: the end has occurred, so no thread takes locks any more.
        let taken = self.progress.with(|own| unsafe { (*own).taken });
        for lock in &self.locks[..taken] {
            // SAFETY: locks outlive the root.
            unsafe { lock.as_ref() }.add_permits(1);
        }
    }
}

impl Progress {
    /// Takes locks until one is not free, and returns the request for that one.
    fn advance(
        &mut self,
        locks: &[NonNull<Semaphore>],
        interval: NonNull<Header>,
    ) -> Option<Arc<LockRequest>> {
        while let Some(lock) = locks.get(self.taken) {
            // SAFETY: locks outlive the root, and the end of the interval, before which this
            // reference is dropped.
            let lock: &'static Semaphore = unsafe { lock.as_ref() };
            if self.request.is_none() {
                match lock.try_acquire() {
                    Ok(permit) => {
                        permit.forget();
                        self.taken += 1;
                        continue;
                    }
                    Err(TryAcquireError::NoPermits) => {}
                    Err(TryAcquireError::Closed) => unreachable!("no lock is closed"),
                }
            }
            let (acquire, request) =
                self.request.get_or_insert_with(|| (lock.acquire(), LockRequest::new(interval)));
            request.begin_poll();
            let waker = Waker::from(Arc::clone(request));
            match Pin::new(acquire).poll(&mut task::Context::from_waker(&waker)) {
                Poll::Pending => return Some(Arc::clone(request)),
                Poll::Ready(permit) => {
                    permit.expect("no lock is closed").forget();
                    self.request = None;
                    self.taken += 1;
                }
            }
        }
        None
    }
}

/// The request of an interval for a lock, as a waker.
///
/// The semaphore may call it late and more than once. So it is allocated separately: the interval
/// may be freed by then.
#[derive(Debug)]
pub(crate) struct LockRequest {
    state: AtomicU32,
    interval: NonNull<Header>,
}

// SAFETY: only the thread that finds the request parked accesses the interval, which is alive then.
unsafe impl Send for LockRequest {}
// SAFETY: as above.
unsafe impl Sync for LockRequest {}

/// A thread is about to poll the semaphore.
const POLLING: u32 = 0;
/// The lock may have been granted, and the polling thread will see that.
const GRANTED: u32 = 1;
/// No thread polls: the thread that grants the lock schedules the job.
const PARKED: u32 = 2;

impl LockRequest {
    pub(crate) fn new(interval: NonNull<Header>) -> Arc<Self> {
        Arc::new(Self { state: AtomicU32::new(POLLING), interval })
    }

    pub(crate) fn begin_poll(&self) {
        // Acquire pairs with the release in `grant`: the next poll sees what was granted.
        self.state.swap(POLLING, Ordering::Acquire);
    }

    /// Parks the request after a poll. Returns false if the lock was granted meanwhile. If true,
    /// the progress of the interval belongs to the thread that calls [`grant`](Self::grant).
    pub(crate) fn park(&self) -> bool {
        // Release pairs with the acquire in `grant`: the progress is visible there. Acquire, as in
        // `begin_poll`.
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        self.state.compare_exchange(POLLING, PARKED, success, failure).is_ok()
    }

    /// Marks the request as granted. Returns true if the progress now belongs to the caller.
    pub(crate) fn grant(&self) -> bool {
        // AcqRel: see `begin_poll` and `park`.
        self.state.swap(GRANTED, Ordering::AcqRel) == PARKED
    }
}

impl Wake for LockRequest {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.grant() {
            // SAFETY: it waits for its locks, so it is alive, and its start has succeeded. One
            // thread finds it parked. The job takes the other locks before the body begins.
            Worker::with_current(|worker| unsafe { occurrence::schedule(self.interval, worker) });
        }
    }
}
