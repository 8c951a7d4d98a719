//! What intervals are known by.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::graph::context::Context;
use crate::graph::interval::{self, At, Header, Side};
use crate::graph::point::Outcome;
use crate::graph::refusal::PointName;

/// Ties a value to one root, by a lifetime that can be neither shortened nor lengthened.
pub(crate) type Brand<'g> = PhantomData<fn(&'g ()) -> &'g ()>;

/// The start or the end of an interval: an instant that other points wait for.
///
/// # Examples
/// ```
/// use locksley_intervals as intervals;
///
/// intervals::run("root", |root| {
///     let first = root.interval("first").spawn(|_| ());
///     root.interval("second").after(first.end()).spawn(|_| ());
///     // A handle stands for its end.
///     root.interval("third").after(first).spawn(|_| ());
/// })?;
/// # Ok::<(), intervals::IntervalCancelled>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Point<'g> {
    at: At,
    brand: Brand<'g>,
}

impl<'g> Point<'g> {
    /// # Safety
    /// The interval is alive during `'g`.
    pub(crate) unsafe fn new(at: At) -> Self {
        Self { at, brand: PhantomData }
    }

    pub(crate) fn at(self) -> At {
        self.at
    }

    /// Which of its interval's points it is.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals::{self as intervals, Side};
    ///
    /// intervals::run("root", |root| assert_eq!(root.end().side(), Side::End))?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    #[must_use]
    pub fn side(self) -> Side {
        self.at.side()
    }

    /// Whether it has occurred. If so, what came before it is visible.
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
        unsafe { self.at.state() }.outcome().is_some()
    }
}

impl fmt::Debug for Point<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: alive during `'g`.
        let name = unsafe { PointName::of(self.at) };
        write!(f, "Point({name})")
    }
}

/// An interval that was made, and its result to be.
///
/// It may be copied, and go to other intervals of the same root; not out of it:
/// ```compile_fail
/// let handle = locksley_intervals::run("root", |root| root.interval("child").spawn(|_| ()));
/// ```
///
/// # Examples
/// See [`Context::interval`].
pub struct Handle<'g, T> {
    end: Point<'g>,
    /// By itself a handle gives no access to a `T`.
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
    /// The interval's results are of that type, and it is alive during `'g`.
    pub(crate) unsafe fn new(interval: NonNull<Header>) -> Self {
        // SAFETY: as the caller promises.
        Self { end: unsafe { Point::new(At::end(interval)) }, result: PhantomData }
    }

    /// Before its body.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// intervals::run("root", |root| {
    ///     let one = root.interval("one").spawn(|_| ());
    ///     root.interval("not before the other").after(one.start()).spawn(|_| ());
    /// })?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    #[must_use]
    pub fn start(self) -> Point<'g> {
        // SAFETY: alive during `'g`, as its end is.
        unsafe { Point::new(At::start(self.end.at.interval())) }
    }

    /// After its body, and after the ends of its children.
    ///
    /// # Examples
    /// See [`Point`].
    #[must_use]
    pub fn end(self) -> Point<'g> {
        self.end
    }

    /// The interval's name.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// intervals::run("root", |root| {
    ///     let child = root.interval(format!("row {}", 1)).spawn(|_| ());
    ///     assert_eq!(child.name(), "row 1");
    /// })?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> &'g str {
        // SAFETY: alive during `'g`.
        unsafe { self.end.at.header() }.name()
    }
}

impl<'g, T> From<Handle<'g, T>> for Point<'g> {
    fn from(handle: Handle<'g, T>) -> Self {
        handle.end()
    }
}

impl<T> fmt::Debug for Handle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle(`{}`)", self.name())
    }
}

/// The result of an interval, for one that was declared to come after it: see
/// [`Builder::after_with`](crate::Builder::after_with).
///
/// # Examples
/// ```
/// use locksley_intervals as intervals;
///
/// intervals::run("root", |root| {
///     let words = root.interval("words").spawn(|_| vec!["robin", "marian"]);
///     let mut count = root.interval("count");
///     let words = count.after_with(words);
///     count.spawn(move |cx| assert_eq!(words.get(cx).len(), 2));
/// })?;
/// # Ok::<(), intervals::IntervalCancelled>(())
/// ```
pub struct Input<'g, T>(Handle<'g, T>, PhantomData<&'g T>);

impl<T> Clone for Input<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Input<'_, T> {}

impl<'g, T: Sync> Input<'g, T> {
    pub(crate) fn new(handle: Handle<'g, T>) -> Self {
        Self(handle, PhantomData)
    }

    /// The result.
    ///
    /// In the interval for which it was declared, and in all that come after it or are made inside
    /// of it, it is there.
    ///
    /// # Panics
    /// If it is not there, in another interval.
    ///
    /// # Examples
    /// See [`Input`].
    #[must_use]
    pub fn get<'k>(&'k self, _cx: &'k Context<'g, '_>) -> &'k T {
        let end = self.0.end.at;
        // SAFETY: alive during `'g`.
        let outcome = unsafe { end.state() }.outcome();
        // Not for longer than the body runs: when the root frees its intervals, no result holds a
        // reference to another.
        let result = match outcome {
            // SAFETY: as for the handle; the end has occurred, which was seen by acquire.
            Some(Outcome::Well) => unsafe { interval::result_of(end.interval()) },
            _ => None,
        };
        result.unwrap_or_else(|| panic!("`{}` has no result yet, or none at all", self.0.name()))
    }
}

impl<T> fmt::Debug for Input<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Input(`{}`)", self.0.name())
    }
}
