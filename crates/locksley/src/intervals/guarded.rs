//! Data that belongs to no lock: whoever uses it is ordered by edges, and that can be checked.

use std::cell::UnsafeCell;
use std::collections::HashSet;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

use super::context::Context;
use super::interval::{At, Header, Side};
use super::record::{self, Record};
use crate::primitive::{AtomicPtr, AtomicU32, Ordering};

/// Data that intervals share without a lock, since edges order who uses it.
///
/// Whether they do is seen in two ways. In any case, an access panics while another one lasts that excludes it. And where the
/// root is [`checked`](super::Root::checked), an access panics with both names if one before it was made by an interval that
/// neither an edge nor a common [`Lock`](super::Lock) orders before this one; also if, this time, it was over. Two that only
/// read need no order.
///
/// Accesses of different roots are not compared; one that changes the data in a checked root has those of other roots be forgotten, so
/// two checked roots that use it at the same time may miss something. What locks order costs more than what edges do: an access under
/// a lock is compared with each that this lock orders before it, and all of these are remembered. The body of one interval counts as one sequence: what it divides among workers
/// itself, by [`join`](crate::join), is its own matter.
///
/// # Examples
/// ```
/// use locksley::intervals::{Guarded, Root};
///
/// let sum = Guarded::new(0);
/// Root::new("root").checked().run(|root| {
///     let first = root.interval("first").spawn(|cx| *sum.write(cx) += 1);
///     root.interval("second").after(first).spawn(|cx| *sum.write(cx) += 2);
/// })?;
/// assert_eq!(sum.into_inner(), 3);
/// # Ok::<(), locksley::intervals::Cancelled>(())
/// ```
///
/// Without the edge it would be found, in whatever order they run:
/// ```should_panic
/// use locksley::intervals::{Guarded, Root};
///
/// let sum = Guarded::new(0);
/// let _ = Root::new("root").checked().run(|root| {
///     root.interval("first").spawn(|cx| *sum.write(cx) += 1);
///     root.interval("second").spawn(|cx| *sum.write(cx) += 2);
/// });
/// ```
pub struct Guarded<T: ?Sized> {
    /// How many read it; or [`WRITES`].
    users: AtomicU32,
    /// Accesses with which later ones are to be compared: written by who writes, read by who uses.
    before: UnsafeCell<Vec<Before>>,
    /// Those who have read it since the last of these was noted.
    read: AtomicPtr<Read>,
    data: UnsafeCell<T>,
}

const WRITES: u32 = u32::MAX;

/// An access, as a checked root remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    /// Its root's serial number: of no other root is the interval looked at.
    root: u64,
    by: NonNull<Header>,
    /// How many children the interval had made when the access ended.
    children: usize,
}

// SAFETY: it is an address and numbers; whoever follows it says why the interval is alive.
unsafe impl Send for Access {}
// SAFETY: as above.
unsafe impl Sync for Access {}

/// An access that is over.
#[derive(Clone, Copy, Debug)]
struct Before {
    access: Access,
    has_changed: bool,
}

/// What has an access come after an earlier one.
#[derive(Clone, Copy, Debug)]
struct After {
    /// Whether all that comes after it, comes after the earlier one too: then that one need not be remembered.
    is_instead: bool,
}

#[derive(Debug)]
struct Read {
    access: Access,
    next: *mut Read,
}

/// Reads that were noted.
struct Reads(*mut Read);

impl Iterator for Reads {
    type Item = Access;

    fn next(&mut self) -> Option<Access> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: made by `remember`, and taken from there; nobody else looks at it.
        let read = unsafe { Box::from_raw(self.0) };
        self.0 = read.next;
        Some(read.access)
    }
}

impl Drop for Reads {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

// SAFETY: it owns what is inside; the intervals that it remembers are only looked at by others of the same root.
unsafe impl<T: ?Sized + Send> Send for Guarded<T> {}
// SAFETY: `users` sees to it that the data, and what is remembered, are shared or changed, never both.
unsafe impl<T: ?Sized + Send + Sync> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Guards that data.
    ///
    /// # Examples
    /// See [`Guarded`].
    #[must_use]
    pub fn new(data: T) -> Self {
        Self {
            users: AtomicU32::new(0),
            before: UnsafeCell::new(Vec::new()),
            read: AtomicPtr::new(ptr::null_mut()),
            data: UnsafeCell::new(data),
        }
    }

    /// The data.
    ///
    /// # Examples
    /// See [`Guarded`].
    #[must_use]
    pub fn into_inner(self) -> T {
        drop(self.take_reads());
        let mut this = std::mem::ManuallyDrop::new(self);
        drop(std::mem::take(this.before.get_mut()));
        // SAFETY: what else it has needs no destructor any more; it is not used again.
        unsafe { ptr::read(&this.data) }.into_inner()
    }
}

impl<T: ?Sized> Guarded<T> {
    /// The data, while no interval uses it.
    ///
    /// # Examples
    /// ```
    /// let mut guarded = locksley::intervals::Guarded::new(1);
    /// *guarded.get_mut() += 1;
    /// assert_eq!(guarded.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// The data, to be read.
    ///
    /// # Panics
    /// If somebody changes it. In a checked root, if nothing orders this after an interval that has changed it.
    ///
    /// # Examples
    /// ```
    /// use locksley::intervals::{self, Guarded};
    ///
    /// let names = Guarded::new(vec!["robin"]);
    /// intervals::run("root", |root| {
    ///     for _ in 0..2 {
    ///         root.interval("reader").spawn(|cx| assert_eq!(names.read(cx).len(), 1));
    ///     }
    /// })?;
    /// # Ok::<(), intervals::Cancelled>(())
    /// ```
    pub fn read<'k>(&'k self, cx: &'k Context<'_, '_>) -> Reading<'k, T> {
        let mut users = self.users.load(Ordering::Relaxed);
        loop {
            assert!(users < WRITES - 1, "`{}` reads what is being changed", cx.name());
            // Acquire pairs with the release of who has changed it.
            match self.users.compare_exchange(
                users,
                users + 1,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => users = now,
            }
        }
        let mut reading = Reading { data: self, access: None };
        if let Some(access) = Access::by(cx) {
            // SAFETY: nobody changes it while we read.
            let before = unsafe { &*self.before.get() };
            for changed in before.iter().filter(|before| before.has_changed) {
                access.come_after(changed.access);
            }
            reading.access = Some(access);
        }
        reading
    }

    /// The data, to be changed.
    ///
    /// # Panics
    /// If somebody reads or changes it. In a checked root, if nothing orders this after an interval that has used it.
    ///
    /// # Examples
    /// See [`Guarded`].
    pub fn write<'k>(&'k self, cx: &'k Context<'_, '_>) -> Writing<'k, T> {
        // Acquire pairs with the release of those who have used it.
        let users = self.users.compare_exchange(0, WRITES, Ordering::Acquire, Ordering::Relaxed);
        assert!(users.is_ok(), "`{}` changes what others use at the same time", cx.name());
        let mut writing = Writing { data: self, access: None };
        if let Some(access) = Access::by(cx) {
            // SAFETY: we alone use it.
            let before = unsafe { &mut *self.before.get() };
            let reads = self.take_reads();
            before.extend(reads.map(|access| Before { access, has_changed: false }));
            before.retain(|before| !access.come_after(before.access).is_instead);
            writing.access = Some(access);
        }
        writing
    }

    /// Notes a read that ends.
    fn remember(&self, access: Access) {
        let read = Box::into_raw(Box::new(Read { access, next: ptr::null_mut() }));
        let mut newest = self.read.load(Ordering::Acquire);
        loop {
            // SAFETY: null, or made here; freed by who writes, and that does not happen while we read.
            if unsafe { newest.as_ref() }.is_some_and(|newest| newest.access == access) {
                // SAFETY: made above, and not shown to anybody.
                return drop(unsafe { Box::from_raw(read) });
            }
            // SAFETY: as above.
            unsafe { (*read).next = newest };
            // Release pairs with the acquire above and in `write`.
            match self.read.compare_exchange(newest, read, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return,
                Err(newer) => newest = newer,
            }
        }
    }

    /// The reads that were noted, which are forgotten. Called by who alone uses it.
    fn take_reads(&self) -> Reads {
        // Acquire pairs with the release in `remember`.
        Reads(self.read.swap(ptr::null_mut(), Ordering::Acquire))
    }
}

impl<T: ?Sized> Drop for Guarded<T> {
    fn drop(&mut self) {
        drop(self.take_reads());
    }
}

impl<T: ?Sized> fmt::Debug for Guarded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").finish_non_exhaustive()
    }
}

impl Access {
    /// `None` if the root is not checked.
    fn by(cx: &Context<'_, '_>) -> Option<Self> {
        let header = cx.header();
        let record = header.record().filter(|_| header.core().is_checked())?;
        let root = header.core().serial();
        Some(Self { root, by: cx.address(), children: record.children() })
    }

    /// The same at the end of the access, in the same body.
    fn ended(self) -> Self {
        // SAFETY: the guard, which is being dropped, borrows the context, so the interval is alive.
        let record = unsafe { self.by.as_ref() }.record();
        Self { children: record.map_or(self.children, Record::children), ..self }
    }

    /// Why this access comes after an earlier one; panics if nothing has it do so. The caller's body is the one that makes this
    /// access.
    #[track_caller]
    fn come_after(self, earlier: Self) -> After {
        if self.root != earlier.root || self.by == earlier.by {
            return After { is_instead: true };
        }
        // SAFETY: of the same root, which is alive, as is the caller.
        let (header, before) = (unsafe { self.by.as_ref() }, unsafe { earlier.by.as_ref() });
        let have_common_lock = match (header.holding(), before.holding()) {
            // Those inside of one and the same holder have it both at the same time.
            (Some(own), Some(other)) => !ptr::eq(own, other) && own.shares_one_with(other),
            _ => false,
        };
        if have_common_lock {
            return After { is_instead: false };
        }
        assert!(
            self.comes_after(earlier),
            "`{}` and `{}` use the same guarded data, and nothing orders them",
            before.name(),
            header.name()
        );
        // Who comes after this one by a lock must come after the earlier one by a lock too.
        let is_instead = match (header.holding(), before.holding()) {
            (None, _) => true,
            (Some(own), Some(other)) => own.is_part_of(other),
            (Some(_), None) => false,
        };
        After { is_instead }
    }

    /// Whether edges order it so: backwards from the interval's start, to the earlier one's end, or to the start of a child that
    /// the earlier one made after its access.
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
            match at.side {
                Side::Start => {
                    let number = header.record().map(Record::number);
                    if header.parent() == Some(earlier.by) && number >= Some(earlier.children) {
                        return true;
                    }
                    open.extend(header.parent().map(At::start));
                }
                Side::End => {
                    open.push(At::start(at.interval));
                    // Those that were refused do not end, and their edges order nothing.
                    // SAFETY: children are alive as long as their parent.
                    let has_ended = |at: &At| unsafe { at.state() }.outcome().is_some();
                    open.extend(header.children().map(At::end).filter(has_ended));
                }
            }
            open.extend(record::sources(header, at.side));
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
    /// To be noted at the end; none if the root is not checked.
    access: Option<Access>,
}

impl<T: ?Sized> Deref for Reading<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: nobody changes it while we are counted.
        unsafe { &*self.data.data.get() }
    }
}

impl<T: ?Sized> Drop for Reading<'_, T> {
    fn drop(&mut self) {
        if let Some(access) = self.access {
            self.data.remember(access.ended());
        }
        // Release pairs with the acquire of who changes it next: our reads are over.
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
    /// To be noted at the end; none if the root is not checked.
    access: Option<Access>,
}

impl<T: ?Sized> Deref for Writing<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: we alone use it.
        unsafe { &*self.data.data.get() }
    }
}

impl<T: ?Sized> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we alone use it, and we are borrowed mutably.
        unsafe { &mut *self.data.data.get() }
    }
}

impl<T: ?Sized> Drop for Writing<'_, T> {
    fn drop(&mut self) {
        if let Some(access) = self.access {
            // SAFETY: we alone use it.
            let before = unsafe { &mut *self.data.before.get() };
            before.push(Before { access: access.ended(), has_changed: true });
        }
        // Release pairs with the acquire of who uses it next.
        self.data.users.store(0, Ordering::Release);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Writing<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Writing").field(&&**self).finish()
    }
}
