//! Locks of intervals. An interval is a task with a start and an end point; it ends after its body
//! and its children. It takes its locks after its start, and holds them until its end.

use std::cell;
use std::fmt;
use std::marker::PhantomData;

use locksley_sync::Semaphore;

use crate::graph::context::Context;
use crate::graph::lock_set::LockSet;

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
/// [`join`](locksley::join), a scope, or a [call](locksley::Worker::run_one) that runs any task. No
/// interval of the inner root may name a lock that the interval of the waiting body holds, or that
/// another body which waits for a root may hold.
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

impl<T: ?Sized> IntervalLock<T> {
    /// Adds the lock to those of an interval. Returns the key of the interval to the data.
    pub(crate) fn add_to(&self, set: &mut LockSet) -> Key<'_, T> {
        Key { lock: self, id: set.add(&self.semaphore), data: PhantomData }
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
    #[track_caller]
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
