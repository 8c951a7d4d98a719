//! Locks of intervals. An interval is a task with a start and an end point; it ends after its body
//! and its children. It takes its locks after its start, and holds them until its end.

use std::cell;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic;
use std::task::{self, Poll, Wake, Waker};

use locksley::Worker;
use locksley_sync::{Acquire, Permit, Semaphore, TryAcquireError};
use locksley_sys::primitive::{AtomicU32, Ordering, UnsafeCell};

use crate::graph::context::Context;
use crate::graph::interval::Header;
use crate::graph::occurrence;

/// A lock around data. An interval takes it after its start, and holds it until its end.
///
/// Use it for intervals that exclude each other in no particular order. An interval names its locks
/// in its [builder](crate::Builder::lock), which returns a [`Key`] for each. It takes them after
/// its start has occurred and before its body begins, in a fixed order, first come, first served.
/// It also holds them while its children run. An interval that waits for a lock occupies no worker.
///
/// Within one root, locks cause no deadlock. All intervals take them in the same order, and an
/// interval that has all of its locks waits for nothing outside of it. So a child of such an
/// interval that names a lock is [refused](crate::Refusal), and so is an edge from outside to a
/// point other than its start.
///
/// A deadlock is possible if a body runs another root and waits for it, also below a
/// [`join`](locksley::join) or a scope. No interval of the inner root may name a lock that the
/// interval of the waiting body holds, or that another body which waits for a root may hold.
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

/// The right to access the data of an [`IntervalLock`], for the interval that names the lock.
///
/// The key works only in the body of that interval. It does not work in its children, although the
/// lock is held while they run, because children may run at the same time. The body may divide the
/// data, and process the parts in parallel, by [`join`](locksley::join) for example.
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
    /// The [`LockSet`] of the interval that names the lock.
    id: u64,
    /// Makes the key `Send` and `Sync` exactly if `&mut T` is.
    data: PhantomData<&'g mut T>,
}

impl<'g, T: ?Sized> Key<'g, T> {
    /// Returns the data.
    ///
    /// # Panics
    /// If `cx` is not of the interval that names the lock.
    ///
    /// # Examples
    /// See [`IntervalLock`].
    pub fn get_mut<'k>(&'k mut self, cx: &'k Context<'g, '_>) -> &'k mut T {
        let is_holder = cx.header().own_locks().is_some_and(|own| own.id == self.id);
        assert!(is_holder, "`{}` does not name the lock of this key", cx.header().name());
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
pub(crate) fn new_id() -> u64 {
    static NEXT: atomic::AtomicU64 = atomic::AtomicU64::new(1);
    NEXT.fetch_add(1, atomic::Ordering::Relaxed)
}

/// The locks of one interval.
#[derive(Debug)]
pub(crate) struct LockSet {
    /// The keys of the interval have the same.
    id: u64,
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
        Self { id: new_id(), locks: Vec::new(), progress }
    }

    pub(crate) fn add<'g, T: ?Sized>(&mut self, lock: &'g IntervalLock<T>) -> Key<'g, T> {
        self.locks.push(NonNull::from(&lock.semaphore));
        Key { lock, id: self.id, data: PhantomData }
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
    pub(crate) fn intersects(&self, other: &Self) -> bool {
        self.locks.iter().any(|lock| other.locks.binary_search(lock).is_ok())
    }

    /// Takes the locks that an interval names and does not have yet. Returns true if it has all.
    ///
    /// If this returns false, the interval waits for a lock. The thread that grants the lock
    /// schedules the job of the interval, which calls this again. That may have happened already,
    /// so the caller must not access the interval any more.
    ///
    /// # Safety
    /// The interval is alive, and its progress belongs to the caller.
    pub(crate) unsafe fn take(interval: NonNull<Header>) -> bool {
        loop {
            // SAFETY: alive until the request is parked, as the caller promises.
            let Some(set) = unsafe { interval.as_ref() }.own_locks() else { return true };
            // SAFETY: the progress belongs to the caller until the request is parked.
            match set.progress.with_mut(|own| unsafe { &mut *own }.advance(&set.locks, interval)) {
                None => return true,
                Some(request) if request.park() => return false,
                Some(_granted_meanwhile) => {}
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
    /// Takes locks. If one is not free, returns the request for that lock.
    fn advance(
        &mut self,
        locks: &[NonNull<Semaphore>],
        interval: NonNull<Header>,
    ) -> Option<Arc<LockRequest>> {
        while let Some(lock) = locks.get(self.taken) {
            // SAFETY: not `'static`, but the lock outlives the root, and so the interval. Only
            // `request` keeps the reference, and there is no request after the last lock is taken.
            let lock: &'static Semaphore = unsafe { lock.as_ref() };
            if self.request.is_none() {
                match lock.try_acquire() {
                    Ok(permit) => {
                        self.keep(permit);
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
                    self.keep(permit.expect("no lock is closed"));
                    self.request = None;
                }
            }
        }
        None
    }

    /// Keeps the permit of the next lock until [`LockSet::release`].
    fn keep(&mut self, permit: Permit<'_>) {
        permit.forget();
        self.taken += 1;
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

/// The thread to which the progress belongs polls, or is about to. No grant since the poll began.
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
