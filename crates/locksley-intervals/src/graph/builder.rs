//! Creating intervals and adding edges.
//!
//! An interval has two *points*: its start and its end. A point *occurs* once, after all of its
//! dependencies have *arrived*: edges, at an end the body and the children, at a start a guard. The
//! *holder* of an interval is the interval that holds locks while it runs: itself or an ancestor. A
//! *refusal* is the error for an edge or a lock that the rules in `README.md` forbid.

use std::borrow::Cow;
use std::fmt;
use std::ptr::NonNull;

use locksley::Worker;

use crate::graph::context::{Context, Handle, Point};
use crate::graph::interval::{self, Extras, Header, Interval, NewInterval, PointRef};
use crate::graph::lock::{IntervalLock, Key};
use crate::graph::lock_set::LockSet;
use crate::graph::occurrence::Occurrence;
use crate::graph::order;
use crate::graph::point::{Edge, Edges, Outcome, Side};
use crate::graph::refusal::Refusal;
use crate::graph::trace::pass_stamp;

/// Configures a new interval: see [`Context::interval`].
///
/// Edges from points that have occurred are allowed, and need no waiting.
pub struct Builder<'c, 'g, 'env: 'g> {
    parent: &'c Context<'g, 'env>,
    name: Cow<'static, str>,
    edges: IncomingEdges,
    extras: Option<Box<Extras>>,
    /// The end of the interval that this one follows.
    followed: Option<PointRef>,
}

/// The edges into a new interval: the source of each, and the side that it leads to. Two are stored
/// inline, because most intervals have few.
#[derive(Debug, Default)]
struct IncomingEdges {
    /// The number of edges to the start, and to the end.
    counts: [usize; 2],
    inline: [Option<(PointRef, Side)>; 2],
    overflow: Vec<(PointRef, Side)>,
}

impl IncomingEdges {
    #[inline]
    fn push(&mut self, from: PointRef, into: Side) {
        match self.inline.get_mut(self.counts[0] + self.counts[1]) {
            Some(slot) => *slot = Some((from, into)),
            None => self.overflow.push((from, into)),
        }
        self.counts[into as usize] += 1;
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = (PointRef, Side)> {
        self.inline.iter().flatten().chain(&self.overflow).copied()
    }
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
        unsafe { add_late_edge(self.interval, from.into().point, to.into().point) }
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
    /// If an edge would close a cycle, or breaks a rule of [locks](IntervalLock): see [`Refusal`].
    /// The body is dropped.
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
            // SAFETY: the interval of a point is alive, as the root is.
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
            let linked = unsafe { link(interval, &edges, may_be_refused, worker) };
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
fn check_locks(locks: &mut LockSet, name: &str, parent: &Header) -> Result<(), Refusal> {
    if let Some(holder) = parent.holder {
        // SAFETY: the parent or an ancestor of the parent, alive as long as the root.
        let holder = unsafe { holder.as_ref() }.name().into();
        return Err(Refusal::LocksInside { interval: name.into(), holder });
    }
    if locks.sort_distinct() { Ok(()) } else { Err(Refusal::SameLock { interval: name.into() }) }
}

/// Adds the edges into a new interval.
///
/// # Safety
/// The root is alive, and the body of the parent runs. If an edge may be refused, the start has a
/// guard, which has not arrived. Otherwise the start may occur during this call.
#[inline]
unsafe fn link(
    interval: NonNull<Header>,
    edges: &IncomingEdges,
    may_be_refused: bool,
    worker: Option<&Worker>,
) -> Result<(), Refusal> {
    if may_be_refused {
        // SAFETY: as the caller promises.
        return unsafe { link_tentatively(interval, edges, worker) };
    }
    for (number, (from, into)) in edges.iter().enumerate() {
        let to = PointRef::new(interval, into);
        // SAFETY: alive, as the root is.
        let edge = unsafe { interval.as_ref() }.edge(number);
        // SAFETY: the edge is new, and alive as long as the root.
        unsafe { link_one(edge, from, to, false, worker) };
    }
    Ok(())
}

/// Adds the edges into a new interval, or none if one of them is refused.
///
/// A cycle leads through the end of the parent: nothing else comes after the new points yet. So an
/// edge from inside of the parent closes no cycle, and needs no search. Any other edge is added as
/// tentative, and then a search checks that its source does not come after the end of the parent.
/// Tentative edges are confirmed when all edges are accepted.
///
/// # Safety
/// As for [`link`].
#[inline(never)]
unsafe fn link_tentatively(
    interval: NonNull<Header>,
    edges: &IncomingEdges,
    worker: Option<&Worker>,
) -> Result<(), Refusal> {
    // SAFETY: alive, as the root is.
    let header = unsafe { interval.as_ref() };
    let parent = header.parent.expect("only the root has no parent, and it has no edges");
    for (from, into) in edges.iter() {
        // SAFETY: alive, as the root is.
        if unsafe { from.state() }.outcome().is_none() {
            // SAFETY: as above.
            unsafe { check_holder(from, PointRef::new(interval, into)) }?;
        }
    }
    let mut linked: Vec<&Edge> = Vec::new();
    for (number, (from, into)) in edges.iter().enumerate() {
        let to = PointRef::new(interval, into);
        let edge = header.edge(number);
        // SAFETY: alive, as the root is.
        let is_inside =
            from.interval() != parent && unsafe { order::is_within(from.interval(), parent) };
        // SAFETY: the edge is new, and alive as long as the root.
        if !unsafe { link_one(edge, from, to, !is_inside, worker) } {
            continue;
        }
        linked.push(edge);
        // SAFETY: the root is alive. The end of the parent does not occur before its body has
        // ended.
        if !is_inside && unsafe { order::reaches(PointRef::end(parent), from, Edges::All) } {
            for edge in linked {
                // It does not matter if a source has occurred: the interval never starts.
                let _ = edge.withdraw();
            }
            // SAFETY: alive, as the root is.
            return Err(unsafe { cycle(from, to) });
        }
    }
    linked.into_iter().for_each(Edge::confirm);
    Ok(())
}

/// Adds an edge to a point that has a dependency for it. If the source has occurred, adds none: the
/// dependency arrives here, and this returns false.
///
/// # Safety
/// The edge is new, and alive as long as the root.
#[inline]
unsafe fn link_one(
    edge: &Edge,
    from: PointRef,
    to: PointRef,
    is_tentative: bool,
    worker: Option<&Worker>,
) -> bool {
    // SAFETY: alive, as the root is.
    let source = unsafe { from.state() };
    // SAFETY: as the caller promises.
    let linked = unsafe { source.add_edge(edge, to.0, is_tentative) };
    if let Err(outcome) = linked {
        // SAFETY: alive, as the root is.
        unsafe { pass_stamp(from, to) };
        // SAFETY: as above. The body that adds the edge keeps the root from ending.
        unsafe { Occurrence::arrive(to, outcome, worker) };
    }
    linked.is_ok()
}

/// Adds an edge between existing points, from the body of the interval `running`.
///
/// # Safety
/// All are of one root, which is alive, and the body of `running` runs.
unsafe fn add_late_edge(
    running: NonNull<Header>,
    from: PointRef,
    to: PointRef,
) -> Result<(), Refusal> {
    // SAFETY: alive, as the root is.
    let header = unsafe { to.header() };
    // SAFETY: as above.
    let encloses = to.side() == Side::End && unsafe { order::is_within(running, to.interval()) };
    // SAFETY: as above. The end of `running` waits for the body. Only confirmed edges keep `to`
    // from occurring.
    if !encloses && !unsafe { order::reaches(PointRef::end(running), to, Edges::Confirmed) } {
        // SAFETY: as above.
        let by = unsafe { running.as_ref() }.name().into();
        // SAFETY: as above.
        return Err(Refusal::MayHaveOccurred { by, to: unsafe { to.describe() } });
    }
    // `to` does not occur before this returns: it waits for the running body.
    let target = header.point(to.side());
    // SAFETY: as above.
    let source = unsafe { from.state() };
    if source.outcome().is_none() {
        // SAFETY: as above.
        unsafe { check_holder(from, to) }?;
        let edge = header.new_edge();
        target.add_dependency();
        // SAFETY: the edge is new, and alive as long as the root. `to` waits for the body.
        if unsafe { link_one(edge, from, to, true, None) } {
            // `withdraw` returns false if the source has occurred during the search. Then the path
            // that was found had a tentative edge, which was withdrawn, and there is no cycle.
            // SAFETY: the root is alive, and `to` does not occur.
            if unsafe { order::reaches(to, from, Edges::All) } && edge.withdraw() {
                let occurred = target.arrive(Outcome::Succeeded);
                debug_assert!(occurred.is_none(), "the target waits for the body");
                // SAFETY: as above.
                return Err(unsafe { cycle(from, to) });
            }
            edge.confirm();
        }
    } else {
        // SAFETY: as above.
        unsafe { pass_stamp(from, to) };
        if source.outcome() == Some(Outcome::Failed) {
            target.fail();
        }
    }
    if let Some(mut log) = header.log() {
        log.sources.push((from, to.side()));
    }
    Ok(())
}

/// Refuses an edge by which a holder of locks would wait for a point outside of the holder. That
/// point may wait for the same locks.
///
/// # Safety
/// All are alive.
unsafe fn check_holder(from: PointRef, to: PointRef) -> Result<(), Refusal> {
    // SAFETY: as the caller promises.
    let target = unsafe { to.header() };
    let holder = match to.side() {
        // Before its start, the interval has no locks itself.
        // SAFETY: a parent is alive.
        Side::Start => target.parent.and_then(|parent| unsafe { parent.as_ref() }.holder),
        Side::End => target.holder,
    };
    match holder {
        // SAFETY: as the caller promises.
        Some(holder) if !unsafe { order::is_within(from.interval(), holder) } => {
            // SAFETY: as above.
            let [from, to] = [from, to].map(|point| unsafe { point.describe() });
            // SAFETY: as above.
            let holder = unsafe { holder.as_ref() }.name().into();
            Err(Refusal::IntoHolder { from, to, holder })
        }
        _ => Ok(()),
    }
}

/// The refusal of an edge that would close a cycle.
///
/// # Safety
/// Both are alive.
unsafe fn cycle(from: PointRef, to: PointRef) -> Refusal {
    // SAFETY: as the caller promises.
    let [from, to] = [from, to].map(|point| unsafe { point.describe() });
    Refusal::Cycle { from, to }
}
