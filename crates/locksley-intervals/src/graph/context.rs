//! The context of a running body.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::graph::builder::{self, Builder};
use crate::graph::handle::Point;
use crate::graph::interval::Header;
use crate::graph::point_ref::PointRef;
use crate::graph::refusal::Refusal;

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

impl<'g, 'env> Context<'g, 'env> {
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

    /// Returns a builder for a child of this interval. The child starts after this interval's
    /// start, and this interval ends after the child's end.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// let numbers = [1, 2, 3, 4];
    /// let (left, right) = numbers.split_at(2);
    /// intervals::run("root", |root| {
    ///     let one = root.interval("left").spawn(|_| left.iter().sum::<i32>());
    ///     let two = root.interval("right").spawn(|_| right.iter().sum::<i32>());
    ///     let both = root.interval("both").after(one).after(two);
    ///     both.spawn(move |cx| assert_eq!(one.get(cx) + two.get(cx), 10));
    /// })?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    ///
    /// What a body borrows must outlive the root:
    /// ```compile_fail,E0373
    /// locksley_intervals::run("root", |root| {
    ///     let inside = 1;
    ///     root.interval("child").spawn(|_| println!("{inside}"));
    /// });
    /// ```
    #[must_use = "`spawn` creates the interval"]
    #[inline]
    pub fn interval(&self, name: impl Into<Cow<'static, str>>) -> Builder<'_, 'g, 'env> {
        Builder::new(self, name.into())
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

    /// Adds an edge between existing points: `to` will occur after `from`.
    ///
    /// This interval must come before `to`. So `to` is its own end, the end of an ancestor, or a
    /// point that comes after one of these by edges. If `from` has occurred, nothing has to wait.
    ///
    /// The call searches all that comes after `to`, and what comes after this interval's end until
    /// it finds `to`.
    ///
    /// # Errors
    /// See [`Refusal`]. If several edges that are added at the same time would close a cycle
    /// together, at least one of them is refused, and possibly all.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// intervals::run("root", |root| {
    ///     let other = root.interval("other").spawn(|_| ());
    ///     root.interval("one").spawn(move |cx| {
    ///         // What waits for this interval waits for the other one too.
    ///         cx.add_edge(other.end(), cx.end()).unwrap();
    ///     });
    /// })?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    pub fn add_edge(
        &self,
        from: impl Into<Point<'g>>,
        to: impl Into<Point<'g>>,
    ) -> Result<(), Refusal> {
        // SAFETY: all are alive during `'g`, and the body runs.
        unsafe { builder::add_late_edge(self.interval, from.into().point, to.into().point) }
    }

    /// Cancels all that depends on this interval: its end fails, and what comes after that does not
    /// run. The body and the children continue. The root returns
    /// [`IntervalCancelled`](crate::IntervalCancelled).
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// let cancelled = intervals::run("root", |root| {
    ///     let check = root.interval("check").spawn(|cx| cx.cancel());
    ///     root.interval("never").after(check).spawn(|_| unreachable!());
    /// });
    /// assert_eq!(cancelled.unwrap_err().interval, "check");
    /// ```
    pub fn cancel(&self) {
        let header = self.header();
        header.root().keep_cancellation(header.name());
        header.end.fail();
    }
}

impl fmt::Debug for Context<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context(`{}`)", self.header().name())
    }
}
