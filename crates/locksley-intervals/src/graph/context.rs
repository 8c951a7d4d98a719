//! What the body of an interval may do.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use locksley::Worker;
use locksley_sys::primitive::{AtomicUsize, Ordering};

use crate::graph::arena::Lane;
use crate::graph::builder::{self, Builder};
use crate::graph::handle::Point;
use crate::graph::interval::{At, Header};
use crate::graph::point::{BODY, Outcome};
use crate::graph::refusal::Refusal;

/// An interval whose body runs. It makes others inside of it, and adds edges.
///
/// `'g` is the time in which the root runs, and everything of it is alive; `'env` is what outlives
/// the root, and may be borrowed.
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
    /// The worker that runs the body.
    worker: *const Worker,
    /// How many children were made on that worker, which alone writes it.
    made: AtomicUsize,
    /// Invariant, as those of std's scopes.
    graph: PhantomData<&'g mut &'g ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: all that is done to the interval is done by shared reference, from any thread, while its
// body runs; the worker is only compared.
unsafe impl Sync for Context<'_, '_> {}

impl<'g, 'env> Context<'g, 'env> {
    /// # Safety
    /// The interval is alive during `'g`, and its body runs as long as the context is borrowed, on
    /// that worker.
    pub(crate) unsafe fn new(interval: NonNull<Header>, worker: &Worker) -> Self {
        let (worker, made) = (ptr::from_ref(worker), AtomicUsize::new(0));
        Self { interval, worker, made, graph: PhantomData, env: PhantomData }
    }

    /// Counts a child that is about to be made, for whose end this interval's end waits. Returns
    /// where it is to lie.
    #[inline]
    pub(crate) fn expect_child(&self) -> Lane {
        self.with_own_worker(|own| match own {
            Some(worker) => {
                // No addition: only this worker writes it, and reads it when the body has ended.
                self.made.store(self.made.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                Lane::of_worker(worker)
            }
            None => {
                self.header().end.expect_one();
                Lane::here(&self.header().core().home)
            }
        })
    }

    /// Counts a child no more, which was refused. Called by the thread that has made it.
    pub(crate) fn forget_child(&self) {
        self.with_own_worker(|own| match own {
            Some(_) => self.made.store(self.made.load(Ordering::Relaxed) - 1, Ordering::Relaxed),
            None => {
                let was_last = self.header().end.arrive(1, Outcome::Well);
                debug_assert!(was_last.is_none(), "the body runs");
            }
        });
    }

    /// Calls `use_it` with the worker that runs the body, if the calling thread is that one, and
    /// not one that the context was lent to.
    #[inline]
    fn with_own_worker<R>(&self, use_it: impl FnOnce(Option<&Worker>) -> R) -> R {
        Worker::with_current(|current| {
            use_it(current.filter(|&current| ptr::eq(current, self.worker)))
        })
    }

    /// What arrives at the interval's end when the body has ended.
    #[inline]
    pub(crate) fn things_at_end(&self) -> usize {
        BODY - self.made.load(Ordering::Relaxed)
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: alive during `'g`.
        unsafe { self.interval.as_ref() }
    }

    /// Begins to make an interval inside of this one: its start comes after this one's start, and
    /// this one's end after its end.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// let numbers = [1, 2, 3, 4];
    /// let (left, right) = numbers.split_at(2);
    /// intervals::run("root", |root| {
    ///     let one = root.interval("left").spawn(|_| left.iter().sum::<i32>());
    ///     let other = root.interval("right").spawn(|_| right.iter().sum::<i32>());
    ///     let mut both = root.interval("both");
    ///     let (one, other) = (both.after_with(one), both.after_with(other));
    ///     both.spawn(move |cx| assert_eq!(one.get(cx) + other.get(cx), 10));
    /// })?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    ///
    /// What an interval borrows must outlive the root:
    /// ```compile_fail,E0373
    /// locksley_intervals::run("root", |root| {
    ///     let inside = 1;
    ///     root.interval("child").spawn(|_| println!("{inside}"));
    /// });
    /// ```
    #[must_use = "it is made by `spawn`"]
    pub fn interval(&self, name: impl Into<Cow<'static, str>>) -> Builder<'_, 'g, 'env> {
        Builder::new(self, name.into())
    }

    /// This interval's start.
    ///
    /// # Examples
    /// See [`Point::has_occurred`].
    #[must_use]
    pub fn start(&self) -> Point<'g> {
        // SAFETY: alive during `'g`.
        unsafe { Point::new(At::start(self.interval)) }
    }

    /// This interval's end.
    ///
    /// # Examples
    /// See [`add_edge`](Self::add_edge).
    #[must_use]
    pub fn end(&self) -> Point<'g> {
        // SAFETY: alive during `'g`.
        unsafe { Point::new(At::end(self.interval)) }
    }

    /// This interval's name.
    ///
    /// # Examples
    /// ```
    /// locksley_intervals::run("root", |root| assert_eq!(root.name(), "root"))?;
    /// # Ok::<(), locksley_intervals::IntervalCancelled>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        self.header().name()
    }

    /// Adds an edge between intervals that were made before: `to` will occur after `from`.
    ///
    /// This interval must come before `to`: that is its own end, an ancestor's, or a point that an
    /// edge leads to from there. If `from` has occurred, there is nothing to wait for.
    ///
    /// It costs a search through all that comes after `to`, and through what comes after this
    /// interval's end until `to` is found.
    ///
    /// # Errors
    /// See [`Refusal`]. Of several edges that are added at the same time, and would close a cycle
    /// together, at least one is refused; perhaps all.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// intervals::run("root", |root| {
    ///     let other = root.interval("other").spawn(|_| ());
    ///     root.interval("one").spawn(move |cx| {
    ///         // What waits for this one waits for the other one too.
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
        unsafe { builder::add_late_edge(self.interval, from.into().at(), to.into().at()) }
    }

    /// Cancels what depends on this interval: its end fails, and what comes after that does not
    /// run. The body itself goes on, and so do the children. The root returns
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
    /// assert_eq!(cancelled.unwrap_err().interval(), "check");
    /// ```
    pub fn cancel(&self) {
        let header = self.header();
        header.core().keep_cancellation(header.name());
        header.end.fail();
    }
}

impl fmt::Debug for Context<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("name", &self.name()).finish_non_exhaustive()
    }
}
