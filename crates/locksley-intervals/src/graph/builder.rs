//! Creating intervals.
//!
//! An interval has two *points*: its start and its end. A point *occurs* once, after all of its
//! dependencies have *arrived*: edges, at an end the body and the children, at a start a guard. The
//! *holder* of an interval is the interval that holds locks while it runs: itself or an ancestor. A
//! *refusal* is the error for an edge or a lock that the rules in `README.md` forbid.

use std::borrow::Cow;
use std::fmt;

use locksley::Worker;

use crate::graph::context::{Context, Handle, Point};
use crate::graph::edges::{self, IncomingEdges};
use crate::graph::interval::{self, Extras, Header, Interval, NewInterval, PointRef};
use crate::graph::lock::{IntervalLock, Key};
use crate::graph::lock_set::LockSet;
use crate::graph::occurrence::Occurrence;
use crate::graph::point::{Outcome, Side};
use crate::graph::refusal::Refusal;

/// Configures a new interval: see [`Context::interval`].
///
/// Edges from points that have occurred are allowed, and need no waiting.
pub struct Builder<'c, 'g, 'env: 'g> {
    pub(crate) parent: &'c Context<'g, 'env>,
    pub(crate) name: Cow<'static, str>,
    pub(crate) edges: IncomingEdges,
    pub(crate) extras: Option<Box<Extras>>,
    /// The end of the interval that this one follows.
    pub(crate) followed: Option<PointRef>,
}

impl<'g, 'env> Context<'g, 'env> {
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
        let (name, edges) = (name.into(), IncomingEdges::default());
        Builder { parent: self, name, edges, extras: None, followed: None }
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
        unsafe { edges::add_late_edge(self.interval, from.into().point, to.into().point) }
    }
}

impl<'g, 'env> Builder<'_, 'g, 'env> {
    /// Sets the place at which the interval should run, by its index in the pool.
    ///
    /// Use it if the data of the interval is in the memory or the caches of a place. It is a hint:
    /// the workers of the place take the interval before others do, and an idle worker of another
    /// place takes it if they leave it waiting. Children do not inherit the place. An interval
    /// without a place goes to the worker that makes it ready. The last call counts.
    ///
    /// # Panics
    /// If the pool has no such place.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_intervals::Root;
    ///
    /// let pool = Pool::new(2)?;
    /// let places = pool.places().count();
    /// let mut parts = vec![vec![3, 1, 2]; 8];
    /// let end = Root::new("parts").on(&pool).run(|root| {
    ///     for (n, part) in parts.iter_mut().enumerate() {
    ///         root.interval("sort").near(n % places).spawn(move |_| part.sort());
    ///     }
    /// });
    /// assert_eq!(end, Ok(()));
    /// assert_eq!(parts[7], [1, 2, 3]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use = "`spawn` creates the interval"]
    #[track_caller]
    pub fn near(mut self, place: usize) -> Self {
        self.parent.header().root().home.assert_has_place(place);
        self.extras.get_or_insert_default().place = Some(place);
        self
    }

    /// Adds an edge to the start of the interval: from a point, or from the end of an interval.
    ///
    /// # Examples
    /// See [`Point`].
    #[must_use = "`spawn` creates the interval"]
    pub fn after(mut self, point: impl Into<Point<'g>>) -> Self {
        self.edges.push(point.into().point, Side::Start);
        self
    }

    /// Adds an edge to the start of the interval from each of several points.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// intervals::run("root", |root| {
    ///     let rows: Vec<_> = (0..4).map(|_| root.interval("row").spawn(|_| ())).collect();
    ///     root.interval("all").after_all(rows).spawn(|_| ());
    /// })?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    #[must_use = "`spawn` creates the interval"]
    pub fn after_all<P: Into<Point<'g>>>(self, points: impl IntoIterator<Item = P>) -> Self {
        points.into_iter().fold(self, Self::after)
    }

    /// Adds an edge to the start, and lets the interval run on the worker that ran `interval`.
    ///
    /// Use it if both access the same data: the data is then in the caches of that worker. It is a
    /// hint: an idle worker takes the interval if that worker has other work. An interval with a
    /// [place](Self::near) goes to the place. The last call counts.
    ///
    /// # Examples
    /// Each row of a grid takes ten steps, after its neighbours have taken the step before:
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// intervals::run("grid", |root| {
    ///     let mut last: Vec<_> = (0..8).map(|_| root.interval("row").spawn(|_| ())).collect();
    ///     for _ in 0..10 {
    ///         let step = |row: usize| {
    ///             let neighbours = last[row.saturating_sub(1)..8.min(row + 2)].iter().copied();
    ///             root.interval("row").follow(last[row]).after_all(neighbours).spawn(|_| ())
    ///         };
    ///         last = (0..8).map(step).collect();
    ///     }
    /// })?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    #[must_use = "`spawn` creates the interval"]
    pub fn follow<T>(mut self, interval: Handle<'g, T>) -> Self {
        self.followed = Some(interval.end().point);
        self.after(interval)
    }

    /// Adds an edge to the end of the interval. The end then waits for a point, but the body does
    /// not.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// intervals::run("root", |root| {
    ///     let other = root.interval("other").spawn(|_| ());
    ///     let one = root.interval("one").end_after(other).spawn(|_| ());
    ///     root.interval("after both").after(one).spawn(|_| ());
    /// })?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    #[must_use = "`spawn` creates the interval"]
    pub fn end_after(mut self, point: impl Into<Point<'g>>) -> Self {
        self.edges.push(point.into().point, Side::End);
        self
    }

    /// Adds a lock, which the interval holds from before its body until its end. Returns the key to
    /// the data, for the body, and not the builder. So it takes the builder by reference.
    ///
    /// # Examples
    /// See [`IntervalLock`].
    pub fn lock<T: ?Sized + Send>(&mut self, lock: &'g IntervalLock<T>) -> Key<'g, T> {
        let extras = self.extras.get_or_insert_default();
        lock.add_to(extras.locks.get_or_insert_with(LockSet::new))
    }

    /// Creates the interval. Another worker may run the body before this returns.
    ///
    /// The [handle](Handle::get) gives later intervals access to the result. If the body panics,
    /// intervals that depend on this one do not run, and the root panics.
    ///
    /// # Panics
    /// If the interval is refused: see [`try_spawn`](Self::try_spawn).
    ///
    /// # Examples
    /// See [`Context::interval`].
    #[track_caller]
    pub fn spawn<F, T>(self, body: F) -> Handle<'g, T>
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        match self.try_spawn(body) {
            Ok(handle) => handle,
            Err(refusal) => panic!("{refusal}"),
        }
    }

    /// Creates the interval as [`spawn`](Self::spawn) does, and returns a refusal as an error.
    ///
    /// # Errors
    /// If an edge would close a cycle, breaks a rule of [locks](IntervalLock), or comes from an
    /// interval in a [draft](crate::Draft) that has not started: see [`Refusal`]. The body is
    /// dropped.
    ///
    /// # Examples
    /// See [`Refusal`].
    pub fn try_spawn<F, T>(self, body: F) -> Result<Handle<'g, T>, Refusal>
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        let (parent, edges, mut extras) = (self.parent.header(), self.edges, self.extras);
        let root = parent.root();
        // SAFETY: the interval of a point is alive, as the root is.
        unsafe { edges::check_started(edges.iter().map(|(from, _)| from)) }?;
        let mut is_under_locks = parent.holder.is_some();
        if let Some(locks) = extras.as_mut().and_then(|extras| extras.locks.as_mut()) {
            check_locks(locks, &self.name, parent)?;
            is_under_locks = true;
        }
        // In a root that is recorded, checked or observed: the interval comes after this task.
        if let Some(trace) = root.new_trace(&self.name, || root.current_stamp(), edges.iter()) {
            extras.get_or_insert_default().trace = Some(trace);
        }
        let [into_start, into_end] = edges.counts;
        let is_sibling = |(from, _): (PointRef, Side)| {
            // SAFETY: as above.
            unsafe { from.header() }.parent == Some(self.parent.interval)
        };
        // An edge from a sibling to the start closes no cycle. Without locks, no rule forbids it.
        let may_be_refused =
            into_end > 0 || (into_start > 0 && (is_under_locks || !edges.iter().all(is_sibling)));
        // The guard arrives below, after all edges are accepted, or as the only dependency.
        let has_guard = may_be_refused || into_start == 0;
        // The end of the parent waits for the end of this interval.
        parent.end.add_dependency();
        let new = NewInterval {
            name: self.name,
            root: parent.root_address(),
            parent: Some(self.parent.interval),
            extras,
            followed: self.followed.map(PointRef::interval),
            // The end also waits for the body.
            dependencies: [into_start + usize::from(has_guard), into_end + 1],
        };
        let interval = Interval::<F, T>::create(new, body);
        // SAFETY: just created, and alive as long as the root.
        let header = unsafe { interval.as_ref() };
        if let (Some(mut log), Some(mut own)) = (parent.log(), header.log()) {
            own.number = log.children.len();
            log.children.push(interval);
        }
        Worker::with_current(|worker| {
            // SAFETY: all points are of one root, and the body of the parent runs.
            let linked = unsafe { edges::link(interval, &edges, may_be_refused, worker) };
            if let Err(refusal) = linked {
                // Other threads may still access the interval, which the root frees.
                // SAFETY: the guard does not arrive, so the start does not occur, and the job is
                // never scheduled.
                unsafe { interval::abandon(interval) };
                let occurred = parent.end.arrive(Outcome::Succeeded);
                debug_assert!(occurred.is_none(), "the end waits for the body, which runs");
                return Err(refusal);
            }
            if has_guard {
                let start = PointRef::start(interval);
                // SAFETY: the body of the parent runs, and the root waits for it.
                unsafe { Occurrence::arrive(start, Outcome::Succeeded, worker) };
            }
            // SAFETY: the results of the interval are of type `T`. It is alive as long as its root.
            Ok(unsafe { Handle::new(interval) })
        })
    }
}

impl fmt::Debug for Builder<'_, '_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Builder(`{}`)", self.name)
    }
}

/// Sorts the locks of a new interval, or refuses them.
pub(crate) fn check_locks(locks: &mut LockSet, name: &str, parent: &Header) -> Result<(), Refusal> {
    if let Some(holder) = parent.holder {
        // SAFETY: the parent or an ancestor of the parent, alive as long as the root.
        let holder = unsafe { holder.as_ref() }.name().into();
        return Err(Refusal::LocksInside { interval: name.into(), holder });
    }
    if locks.sort_distinct() { Ok(()) } else { Err(Refusal::SameLock { interval: name.into() }) }
}
