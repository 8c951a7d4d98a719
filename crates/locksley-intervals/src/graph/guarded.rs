//! Data without a lock: the graph orders its uses, and that can be checked.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

use locksley_sys::primitive::Ordering;
use locksley_sys::primitive::plain::{AtomicU32, Mutex};

use crate::graph::context::Context;
use crate::graph::interval::Header;
use crate::graph::order;
use crate::graph::trace::lock;

/// Data that intervals share without a lock, because edges order its uses.
///
/// An access panics while another access excludes it: one writer, or any number of readers. In a
/// [checked](crate::Root::checked) root, an access also panics if nothing orders it after an
/// earlier one that it excludes, even if that has ended. The order comes from edges, or from an
/// [`IntervalLock`](crate::IntervalLock) that both intervals hold. The message names both.
///
/// Accesses of different roots are not compared. A write in a checked root discards the accesses of
/// other roots, so two checked roots that use the data at the same time may miss an error. Under a
/// lock, an access is compared with all accesses under that lock, which are kept. The body of one
/// interval counts as sequential: what it divides by [`join`](locksley::join) is not checked.
///
/// # Examples
/// ```
/// use locksley_intervals::{Guarded, Root};
///
/// let sum = Guarded::new(0);
/// Root::new("root").checked(true).run(|root| {
///     let first = root.interval("first").spawn(|cx| *sum.write(cx) += 1);
///     root.interval("second").after(first).spawn(|cx| *sum.write(cx) += 2);
/// })?;
/// assert_eq!(sum.into_inner(), 3);
/// # Ok::<(), locksley_intervals::IntervalCancelled>(())
/// ```
///
/// A missing edge is found, in whatever order the intervals run:
/// ```should_panic
/// use locksley_intervals::{Guarded, Root};
///
/// let sum = Guarded::new(0);
/// let _ = Root::new("root").checked(true).run(|root| {
///     root.interval("first").spawn(|cx| *sum.write(cx) += 1);
///     root.interval("second").spawn(|cx| *sum.write(cx) += 2);
/// });
/// ```
pub struct Guarded<T: ?Sized> {
    /// The number of readers, or [`WRITER`].
    users: AtomicU32,
    /// The accesses of checked roots that have ended. Later ones are compared with them.
    history: Mutex<Vec<Access>>,
    data: UnsafeCell<T>,
}

const WRITER: u32 = u32::MAX;

/// An access, as a checked root remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    /// The id of its root. Only accesses of that root dereference the interval.
    root: u64,
    by: NonNull<Header>,
    /// The number of children that the interval had when the access ended.
    children: usize,
    is_write: bool,
}

// SAFETY: it is an address and numbers. Each dereference states why the interval is alive.
unsafe impl Send for Access {}

// SAFETY: `users` admits one writer or any number of readers.
unsafe impl<T: ?Sized + Send + Sync> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Creates guarded data.
    ///
    /// # Examples
    /// See [`Guarded`].
    #[must_use]
    pub fn new(data: T) -> Self {
        let (users, history) = (AtomicU32::new(0), Mutex::default());
        Self { users, history, data: UnsafeCell::new(data) }
    }

    /// Returns the data.
    ///
    /// # Examples
    /// See [`Guarded`].
    #[must_use]
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> Guarded<T> {
    /// Begins to read the data.
    ///
    /// # Panics
    /// If the data is being written. In a checked root also if nothing orders this read after an
    /// earlier write.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals::{self as intervals, Guarded};
    ///
    /// let names = Guarded::new(vec!["robin"]);
    /// intervals::run("root", |root| {
    ///     for _ in 0..2 {
    ///         root.interval("reader").spawn(|cx| assert_eq!(names.read(cx).len(), 1));
    ///     }
    /// })?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    #[must_use = "the access ends when this is dropped"]
    #[track_caller]
    pub fn read<'k, 'g: 'k, 'env: 'g>(
        &'k self,
        cx: &'k Context<'g, 'env>,
    ) -> impl Deref<Target = T> + use<'k, 'g, 'env, T> {
        match self.begin(cx, false) {
            Some(guard) => guard,
            None => panic!("`{}` reads guarded data that is being changed", cx.header().name()),
        }
    }

    /// Begins to write the data.
    ///
    /// # Panics
    /// If the data is being read or written. In a checked root also if nothing orders this write
    /// after an earlier access.
    ///
    /// # Examples
    /// See [`Guarded`].
    #[must_use = "the access ends when this is dropped"]
    #[track_caller]
    pub fn write<'k, 'g: 'k, 'env: 'g>(
        &'k self,
        cx: &'k Context<'g, 'env>,
    ) -> impl DerefMut<Target = T> + use<'k, 'g, 'env, T> {
        match self.begin(cx, true) {
            Some(guard) => WriteGuard(guard),
            None => panic!("`{}` changes guarded data that is being used", cx.header().name()),
        }
    }

    /// Begins an access, unless another one excludes it. Panics if nothing orders it after an
    /// earlier one.
    #[track_caller]
    fn begin<'k>(&'k self, cx: &'k Context<'_, '_>, is_write: bool) -> Option<ReadGuard<'k, T>> {
        let weight = if is_write { WRITER } else { 1 };
        // Overflows if another access excludes this one.
        let admit = |users: u32| users.checked_add(weight);
        // Acquire pairs with the release of the accesses that have ended.
        self.users.fetch_update(Ordering::Acquire, Ordering::Relaxed, admit).ok()?;
        let mut guard = ReadGuard { guarded: self, weight, access: None };
        let root = cx.header().root();
        if root.is_checked {
            let access = Access { root: root.id, by: cx.interval, children: 0, is_write };
            let mut history = lock(&self.history);
            for earlier in history.iter().filter(|earlier| is_write || earlier.is_write) {
                access.assert_after(*earlier);
            }
            if is_write {
                history.retain(|earlier| !access.replaces(*earlier));
            }
            guard.access = Some(access);
        }
        Some(guard)
    }
}

impl<T: ?Sized> fmt::Debug for Guarded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").finish_non_exhaustive()
    }
}

impl Access {
    /// Returns this access at its end, in the same body.
    fn ended(self) -> Self {
        // SAFETY: the guard that is dropped borrows the context, so the interval is alive.
        let log = unsafe { self.by.as_ref() }.log();
        Self { children: log.map_or(0, |log| log.children.len()), ..self }
    }

    /// Returns true if both are of one root and of different intervals.
    fn is_comparable(self, earlier: Self) -> bool {
        self.root == earlier.root && self.by != earlier.by
    }

    /// Returns both intervals. The accesses are of one root.
    fn headers<'a>(self, earlier: Self) -> [&'a Header; 2] {
        // SAFETY: alive, as their root is while the body of `self.by` runs.
        [self.by, earlier.by].map(|interval| unsafe { interval.as_ref() })
    }

    /// Returns true if both are under one lock, of different holders.
    fn has_common_lock(self, earlier: Self) -> bool {
        match self.headers(earlier).map(Header::held_locks) {
            // Inside of one holder, both are under the lock at the same time.
            [Some(own), Some(other)] => !ptr::eq(own, other) && own.intersects(other),
            _ => false,
        }
    }

    /// Panics if nothing orders this access after an earlier one. Called by the body that makes it.
    #[track_caller]
    fn assert_after(self, earlier: Self) {
        if !self.is_comparable(earlier) || self.has_common_lock(earlier) {
            return;
        }
        let [own, before] = self.headers(earlier).map(Header::name);
        // SAFETY: of one root, which is alive while the body runs.
        let is_ordered = unsafe { order::is_ordered_after(self.by, earlier.by, earlier.children) };
        assert!(
            is_ordered,
            "`{before}` and `{own}` use the same guarded data, and nothing orders them"
        );
    }

    /// Returns true if all that is ordered after this write is ordered after the earlier access
    /// too, which need not be kept then. The two were [compared](Self::assert_after).
    fn replaces(self, earlier: Self) -> bool {
        if !self.is_comparable(earlier) {
            return true;
        }
        // What a lock orders after this one, a lock must order after the earlier one.
        !self.has_common_lock(earlier)
            && match self.headers(earlier).map(Header::held_locks) {
                [None, _] => true,
                [Some(own), Some(other)] => own.is_subset_of(other),
                [Some(_), None] => false,
            }
    }
}

/// A read access to [`Guarded`] data. It ends when the guard is dropped.
///
/// # Examples
/// See [`Guarded::read`].
#[must_use = "the access ends when this is dropped"]
struct ReadGuard<'k, T: ?Sized> {
    guarded: &'k Guarded<T>,
    /// What the access adds to the number of users.
    weight: u32,
    /// Present in checked roots.
    access: Option<Access>,
}

impl<T: ?Sized> Deref for ReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: counted as a reader, or as the writer, which is borrowed.
        unsafe { &*self.guarded.data.get() }
    }
}

impl<T: ?Sized> Drop for ReadGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(access) = self.access.map(Access::ended) {
            let mut history = lock(&self.guarded.history);
            if history.last() != Some(&access) {
                history.push(access);
            }
        }
        // Release pairs with the acquire of the next access.
        self.guarded.users.fetch_sub(self.weight, Ordering::Release);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadGuard").field(&&**self).finish()
    }
}

/// A write access to [`Guarded`] data. It ends when the guard is dropped.
///
/// # Examples
/// See [`Guarded`].
#[derive(Debug)]
#[must_use = "the access ends when this is dropped"]
struct WriteGuard<'k, T: ?Sized>(ReadGuard<'k, T>);

impl<T: ?Sized> Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: counted as the writer, and borrowed mutably.
        unsafe { &mut *self.0.guarded.data.get() }
    }
}
