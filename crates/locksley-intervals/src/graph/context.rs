//! What a body uses: its context, and handles of intervals and of their points.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::graph::cancellation::IntervalCancelled;
use crate::graph::interval::{self, Header, PointRef};
use crate::graph::order;
use crate::graph::point::Outcome;

/// A running interval, as its body sees it: creates children, adds edges, cancels.
///
/// During `'g` the root runs, and all of its intervals are alive. What outlives the root, during
/// `'env`, may be borrowed by bodies. A context may be lent to other threads.
///
/// # Examples
/// ```
/// use locksley_intervals::{self as intervals, Context};
///
/// fn tree<'g>(cx: &Context<'g, '_>, depth: u32) {
///     if depth > 0 {
///         for _ in 0..2 {
///             cx.interval("branch").spawn(move |cx| tree(cx, depth - 1));
///         }
///     }
/// }
///
/// intervals::run("root", |root| tree(root, 5))?;
/// # Ok::<(), intervals::IntervalCancelled>(())
/// ```
pub struct Context<'g, 'env: 'g> {
    pub(crate) interval: NonNull<Header>,
    /// Invariant, as the lifetimes of std's scopes.
    graph: PhantomData<&'g mut &'g ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: all accesses to the interval are shared and allowed on any thread while the body runs.
unsafe impl Sync for Context<'_, '_> {}

impl<'g> Context<'g, '_> {
    /// # Safety
    /// The interval is alive during `'g`, and its body runs while the context is borrowed.
    pub(crate) unsafe fn new(interval: NonNull<Header>) -> Self {
        Self { interval, graph: PhantomData, env: PhantomData }
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: alive during `'g`.
        unsafe { self.interval.as_ref() }
    }

    /// Returns the start of this interval.
    ///
    /// # Examples
    /// See [`Point::has_occurred`].
    #[must_use]
    pub fn start(&self) -> Point<'g> {
        // SAFETY: alive during `'g`.
        unsafe { Point::new(PointRef::start(self.interval)) }
    }

    /// Returns the end of this interval.
    ///
    /// # Examples
    /// See [`add_edge`](Self::add_edge).
    #[must_use]
    pub fn end(&self) -> Point<'g> {
        // SAFETY: alive during `'g`.
        unsafe { Point::new(PointRef::end(self.interval)) }
    }

    /// Cancels all that depends on this interval: its end fails, and what comes after that does not
    /// run. The body and the children continue. The root returns the reason, a text or an error, in
    /// [`IntervalCancelled`].
    ///
    /// [`CancelHandle`](crate::CancelHandle) cancels a whole root from outside.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// let end = intervals::run("root", |root| {
    ///     let check = root.interval("check").spawn(|cx| cx.cancel("no space is left"));
    ///     root.interval("never").after(check).spawn(|_| unreachable!());
    /// });
    /// assert_eq!(end.unwrap_err().to_string(), "`check` was cancelled: no space is left");
    /// ```
    pub fn cancel(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) {
        let header = self.header();
        let (interval, reason) = (header.name().to_owned(), reason.into().into());
        header.root().keep_cancellation(IntervalCancelled { interval, reason });
        header.end.fail();
    }
}

impl fmt::Debug for Context<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context(`{}`)", self.header().name())
    }
}

/// The start or the end of an interval, as the source or the target of an edge.
///
/// # Examples
/// ```
/// use locksley_intervals as intervals;
///
/// intervals::run("root", |root| {
///     let first = root.interval("first").spawn(|_| ());
///     root.interval("second").after(first.end()).spawn(|_| ());
///     // A handle converts to the end of its interval.
///     root.interval("third").after(first).spawn(|_| ());
/// })?;
/// # Ok::<(), intervals::IntervalCancelled>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Point<'g> {
    pub(crate) point: PointRef,
    /// Ties the point to one root: the lifetime is invariant.
    brand: PhantomData<fn(&'g ()) -> &'g ()>,
}

impl Point<'_> {
    /// # Safety
    /// The interval is alive during `'g`.
    pub(crate) unsafe fn new(point: PointRef) -> Self {
        Self { point, brand: PhantomData }
    }

    /// Returns true if the point has occurred. Then all that came before it is visible.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// intervals::run("root", |root| {
    ///     assert!(root.start().has_occurred());
    ///     assert!(!root.end().has_occurred());
    /// })?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    #[must_use]
    pub fn has_occurred(self) -> bool {
        // SAFETY: alive during `'g`.
        unsafe { self.point.state() }.outcome().is_some()
    }
}

impl fmt::Debug for Point<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: alive during `'g`.
        write!(f, "Point({})", unsafe { self.point.describe() })
    }
}

/// A handle of an interval. Edges lead from the points of the interval, and [`get`](Self::get)
/// borrows its result.
///
/// A handle may be copied and used in other intervals of the same root. It cannot leave the root:
/// ```compile_fail
/// let handle = locksley_intervals::run("root", |root| root.interval("child").spawn(|_| ()));
/// ```
///
/// # Examples
/// See [`Context::interval`].
pub struct Handle<'g, T> {
    end: Point<'g>,
    /// A handle is `Send` and `Sync`; only `get` accesses a `T`.
    result: PhantomData<fn() -> T>,
}

impl<T> Clone for Handle<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<'_, T> {}

impl<'g, T> Handle<'g, T> {
    /// # Safety
    /// The results of the interval are of type `T`, and it is alive during `'g`.
    pub(crate) unsafe fn new(interval: NonNull<Header>) -> Self {
        // SAFETY: as the caller promises.
        Self { end: unsafe { Point::new(PointRef::end(interval)) }, result: PhantomData }
    }

    /// Returns the start, which is before the body.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// intervals::run("root", |root| {
    ///     let one = root.interval("one").spawn(|_| ());
    ///     root.interval("beside or after it").after(one.start()).spawn(|_| ());
    /// })?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    #[must_use]
    pub fn start(self) -> Point<'g> {
        // SAFETY: alive during `'g`, as its end is.
        unsafe { Point::new(PointRef::start(self.end.point.interval())) }
    }

    /// Returns the end, which is after the body and after the ends of all children.
    ///
    /// # Examples
    /// See [`Point`].
    #[must_use]
    pub fn end(self) -> Point<'g> {
        self.end
    }

    /// Returns the result of the body. `cx` is that of the calling interval, which must come
    /// [after](crate::Builder::after) the end of this one.
    ///
    /// # Panics
    /// If the end of this interval has not occurred, or if the interval failed: it, or something
    /// that its end depends on, panicked or was cancelled. In a [checked](crate::Root::checked)
    /// root also if no edges order the calling interval after the end of this one, whether it has
    /// occurred or not.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// intervals::run("root", |root| {
    ///     let words = root.interval("words").spawn(|_| vec!["robin", "marian"]);
    ///     let count = root.interval("count").after(words);
    ///     count.spawn(move |cx| assert_eq!(words.get(cx).len(), 2));
    /// })?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    #[track_caller]
    pub fn get<'k>(&'k self, cx: &'k Context<'g, '_>) -> &'k T
    where
        T: Sync,
    {
        let end = self.end.point;
        // SAFETY: alive during `'g`.
        let name = unsafe { end.header() }.name();
        // SAFETY: as above.
        let outcome = unsafe { end.state() }.outcome();
        if cx.header().root().is_checked {
            // `usize::MAX`: to be a child of that interval is not enough, since it may not have
            // ended yet.
            // SAFETY: both are alive, and of one root.
            let is_ordered =
                unsafe { order::is_ordered_after(cx.interval, end.interval(), usize::MAX) };
            let reader = cx.header().name();
            assert!(is_ordered, "nothing orders `{reader}` after the end of `{name}`");
        }
        match outcome {
            None => panic!("`{name}` has no result yet, because it has not ended"),
            // The borrow ends with the body: so no result refers to another when the root drops
            // them.
            // SAFETY: as for the handle. The acquire load in `outcome` read that the end has
            // occurred, so the result was written before.
            Some(Outcome::Succeeded) => unsafe { interval::result_of(end.interval()) }
                .expect("an interval that has succeeded has a result"),
            Some(Outcome::Failed) => panic!(
                "`{name}` has no result, because it or what it depends on has panicked or was \
                 cancelled"
            ),
        }
    }
}

impl<'g, T> From<Handle<'g, T>> for Point<'g> {
    fn from(handle: Handle<'g, T>) -> Self {
        handle.end()
    }
}

impl<T> fmt::Debug for Handle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: alive during `'g`.
        write!(f, "Handle(`{}`)", unsafe { self.end.point.header() }.name())
    }
}
