//! Data without a lock: edges order its uses, and that can be checked.

use std::cell::UnsafeCell;
use std::collections::HashSet;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::graph::context::Context;
use crate::graph::interval::{At, Header, Side};
use crate::graph::notes::lock;

/// Data that intervals share without a lock, since edges order its uses.
///
/// Whether they do is seen in two ways. In any case, an access panics while another one lasts that
/// excludes it. And where the root is [`checked`](crate::Root::checked), an access panics with both
/// names if one before it was made by an interval that neither an edge nor a common
/// [lock](crate::IntervalLock) orders before this one; also if, this time, it was over. Two reads
/// need no order.
///
/// Accesses of different roots are not compared. A change in a checked root makes the data forget
/// accesses of other roots, so two checked roots that use it at the same time may miss something.
/// Under a lock, an access is compared with each that this lock orders before it, and all of these
/// are remembered. The body of one interval counts as one sequence: what it divides among workers
/// itself, by [`join`](locksley::join), is not checked.
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
/// Without the edge it would be found, in whatever order they run:
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
    /// How many accesses read it; or [`WRITES`].
    users: AtomicU32,
    /// Accesses that are over, in checked roots alone: later ones are compared with them.
    history: Mutex<Vec<Access>>,
    data: UnsafeCell<T>,
}

const WRITES: u32 = u32::MAX;

/// An access, as a checked root remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    /// Its root's serial number. The interval is looked at by accesses of that root alone.
    root: u64,
    by: NonNull<Header>,
    /// How many children the interval had made when the access ended.
    children: usize,
    has_changed: bool,
}

// SAFETY: it is an address and numbers. Code that follows it says why the interval is alive.
unsafe impl Send for Access {}

// SAFETY: by `users`, the data is shared or changed, never both.
unsafe impl<T: ?Sized + Send + Sync> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Guards that data.
    ///
    /// # Examples
    /// See [`Guarded`].
    #[must_use]
    pub fn new(data: T) -> Self {
        let (users, history) = (AtomicU32::new(0), Mutex::default());
        Self { users, history, data: UnsafeCell::new(data) }
    }

    /// The data.
    ///
    /// # Examples
    /// See [`Guarded`].
    #[must_use]
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> Guarded<T> {
    /// The data, while no interval uses it.
    ///
    /// # Examples
    /// ```
    /// let mut guarded = locksley_intervals::Guarded::new(1);
    /// *guarded.get_mut() += 1;
    /// assert_eq!(guarded.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// The data, to be read.
    ///
    /// # Panics
    /// If an interval is changing it. In a checked root, if nothing orders this after an interval
    /// that has changed it.
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
    pub fn read<'k>(&'k self, cx: &'k Context<'_, '_>) -> Reading<'k, T> {
        let one_more = |users| (users < WRITES - 1).then(|| users + 1);
        // Acquire pairs with the release of the last change.
        let users = self.users.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more);
        assert!(users.is_ok(), "`{}` reads what is being changed", cx.name());
        let mut reading = Reading { data: self, access: None };
        if let Some(access) = Access::by(cx, false) {
            for earlier in lock(&self.history).iter().filter(|earlier| earlier.has_changed) {
                access.check_after(*earlier);
            }
            reading.access = Some(access);
        }
        reading
    }

    /// The data, to be changed.
    ///
    /// # Panics
    /// If an interval is using it. In a checked root, if nothing orders this after an interval that
    /// has used it.
    ///
    /// # Examples
    /// See [`Guarded`].
    pub fn write<'k>(&'k self, cx: &'k Context<'_, '_>) -> Writing<'k, T> {
        // Acquire pairs with the release of the last uses.
        let users = self.users.compare_exchange(0, WRITES, Ordering::Acquire, Ordering::Relaxed);
        assert!(users.is_ok(), "`{}` changes what others use at the same time", cx.name());
        let mut writing = Writing { data: self, access: None };
        if let Some(access) = Access::by(cx, true) {
            let mut history = lock(&self.history);
            history.iter().for_each(|earlier| access.check_after(*earlier));
            history.retain(|earlier| !access.replaces(*earlier));
            writing.access = Some(access);
        }
        writing
    }

    /// Remembers an access that ends.
    fn remember(&self, access: Option<Access>) {
        if let Some(access) = access.map(Access::ended) {
            let mut history = lock(&self.history);
            if history.last() != Some(&access) {
                history.push(access);
            }
        }
    }
}

impl<T: ?Sized> fmt::Debug for Guarded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").finish_non_exhaustive()
    }
}

impl Access {
    /// `None` if the root is not checked.
    fn by(cx: &Context<'_, '_>, has_changed: bool) -> Option<Self> {
        let core = cx.header().core();
        let access = Self { root: core.serial, by: cx.interval, children: 0, has_changed };
        core.is_checked.then_some(access)
    }

    /// The same at the end of the access, in the same body.
    fn ended(self) -> Self {
        // SAFETY: the guard, which is being dropped, borrows the context, so the interval is alive.
        let record = unsafe { self.by.as_ref() }.record();
        Self { children: record.map_or(0, |record| record.children.len()), ..self }
    }

    /// Whether it was made by the same body, or in another root.
    fn is_not_compared(self, earlier: Self) -> bool {
        self.root != earlier.root || self.by == earlier.by
    }

    /// Both intervals. They are of the same root, which is alive, as that of `self` is.
    fn both<'a>(self, earlier: Self) -> [&'a Header; 2] {
        // SAFETY: as above, while the caller looks at them.
        [self.by, earlier.by].map(|interval| unsafe { interval.as_ref() })
    }

    /// Whether both are under the same lock, by different holders.
    fn has_common_lock(self, earlier: Self) -> bool {
        match self.both(earlier).map(Header::holding) {
            // Those inside of one holder have it both at the same time.
            [Some(own), Some(other)] => !ptr::eq(own, other) && own.shares_one_with(other),
            _ => false,
        }
    }

    /// Panics if nothing orders this access after an earlier one. Called by the body that makes it.
    #[track_caller]
    fn check_after(self, earlier: Self) {
        if self.is_not_compared(earlier) || self.has_common_lock(earlier) {
            return;
        }
        let [own, before] = self.both(earlier).map(Header::name);
        assert!(
            self.comes_after(earlier),
            "`{before}` and `{own}` use the same guarded data, and nothing orders them"
        );
    }

    /// Whether all that comes after this access, comes after an earlier one too: then that one need
    /// not be remembered. The two were [compared](Self::check_after).
    fn replaces(self, earlier: Self) -> bool {
        if self.is_not_compared(earlier) {
            return true;
        }
        // What comes after this one by a lock must come after the earlier one by a lock too.
        !self.has_common_lock(earlier)
            && match self.both(earlier).map(Header::holding) {
                [None, _] => true,
                [Some(own), Some(other)] => own.is_part_of(other),
                [Some(_), None] => false,
            }
    }

    /// Whether edges order it so: backwards from the interval's start, to the earlier one's end, or
    /// to the start of a child that the earlier one made after its access.
    fn comes_after(self, earlier: Self) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![At::start(self.by)];
        while let Some(at) = open.pop() {
            if at == At::end(earlier.by) {
                return true;
            }
            if !seen.insert(at) {
                continue;
            }
            // SAFETY: of the root, which is alive.
            let header = unsafe { at.header() };
            let Some(record) = header.record() else { continue };
            match at.side() {
                Side::Start => {
                    let is_child = header.parent == Some(earlier.by);
                    if is_child && record.number >= earlier.children {
                        return true;
                    }
                    open.extend(header.parent.map(At::start));
                }
                Side::End => {
                    open.push(At::start(at.interval()));
                    // Those that were refused do not end, and their edges order nothing.
                    // SAFETY: children are alive as long as their parent.
                    let has_ended = |at: &At| unsafe { at.state() }.outcome().is_some();
                    open.extend(record.children.iter().copied().map(At::end).filter(has_ended));
                }
            }
            let is_here = |(_, into): &&(At, Side)| *into == at.side();
            open.extend(record.sources.iter().filter(is_here).map(|&(from, _)| from));
        }
        false
    }
}

/// Guarded data that is being read, until this is dropped.
///
/// # Examples
/// See [`Guarded::read`].
#[must_use = "the access ends when this is dropped"]
pub struct Reading<'k, T: ?Sized> {
    data: &'k Guarded<T>,
    /// To be remembered at the end; none if the root is not checked.
    access: Option<Access>,
}

impl<T: ?Sized> Deref for Reading<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: it is not changed while this access is counted.
        unsafe { &*self.data.data.get() }
    }
}

impl<T: ?Sized> Drop for Reading<'_, T> {
    fn drop(&mut self) {
        self.data.remember(self.access);
        // Release pairs with the acquire of the next change: this read is over.
        self.data.users.fetch_sub(1, Ordering::Release);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Reading<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reading").field(&&**self).finish()
    }
}

/// Guarded data that is being changed, until this is dropped.
///
/// # Examples
/// See [`Guarded`].
#[must_use = "the access ends when this is dropped"]
pub struct Writing<'k, T: ?Sized> {
    data: &'k Guarded<T>,
    /// To be remembered at the end; none if the root is not checked.
    access: Option<Access>,
}

impl<T: ?Sized> Deref for Writing<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: no other access is counted.
        unsafe { &*self.data.data.get() }
    }
}

impl<T: ?Sized> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: no other access is counted, and this one is borrowed mutably.
        unsafe { &mut *self.data.data.get() }
    }
}

impl<T: ?Sized> Drop for Writing<'_, T> {
    fn drop(&mut self) {
        self.data.remember(self.access);
        // Release pairs with the acquire of the next use.
        self.data.users.store(0, Ordering::Release);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Writing<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Writing").field(&&**self).finish()
    }
}
