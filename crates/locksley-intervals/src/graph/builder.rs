//! Making intervals, and adding edges.

use std::borrow::Cow;
use std::fmt;
use std::ptr::NonNull;

use locksley::Worker;

use crate::graph::context::Context;
use crate::graph::handle::{Handle, Input, Point};
use crate::graph::interval::{self, At, Header, Interval, Parts, Side};
use crate::graph::lock::{Holding, IntervalLock, Key};
use crate::graph::notes::{Notes, Record};
use crate::graph::occurrence::{Occurrence, pass_on};
use crate::graph::order::{self, Edges};
use crate::graph::point::{BODY, Edge, Outcome, PointState};
use crate::graph::refusal::{PointName, Refusal};
use crate::graph::special::Special;

/// An interval that is being made, inside of the one whose context made this: see
/// [`Context::interval`].
///
/// Edges from points that have occurred add nothing.
pub struct Builder<'c, 'g, 'env: 'g> {
    parent: &'c Context<'g, 'env>,
    name: Cow<'static, str>,
    edges: WantedEdges,
    locks: Option<Box<Holding>>,
    special: Special,
}

/// An edge from a point into the new interval.
#[derive(Clone, Copy, Debug)]
struct WantedEdge {
    from: At,
    into: Side,
    /// Whether the new interval is to run where its source occurs.
    is_followed: bool,
}

impl WantedEdge {
    /// Whether it comes from outside of the parent.
    ///
    /// # Safety
    /// Both are alive.
    unsafe fn is_across(&self, parent: NonNull<Header>) -> bool {
        let source = self.from.interval();
        // SAFETY: as the caller promises.
        source == parent || !unsafe { order::is_within(source, parent) }
    }
}

/// Two edges, and then more: most intervals have few.
#[derive(Debug, Default)]
struct WantedEdges {
    /// How many go to the start, and to the end.
    into: [usize; 2],
    first: [Option<WantedEdge>; 2],
    more: Vec<WantedEdge>,
}

impl WantedEdges {
    #[inline]
    fn push(&mut self, from: At, into: Side, is_followed: bool) {
        let wanted = WantedEdge { from, into, is_followed };
        match self.first.get_mut(self.into[0] + self.into[1]) {
            Some(place) => *place = Some(wanted),
            None => self.more.push(wanted),
        }
        self.into[into as usize] += 1;
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = &WantedEdge> {
        self.first.iter().flatten().chain(&self.more)
    }
}

impl<'c, 'g, 'env> Builder<'c, 'g, 'env> {
    #[inline]
    pub(crate) fn new(parent: &'c Context<'g, 'env>, name: Cow<'static, str>) -> Self {
        let special = parent.header().special.of_child();
        Self { parent, name, edges: WantedEdges::default(), locks: None, special }
    }

    /// Makes the new interval run at a place of the pool, from 0: the workers of that place take it
    /// before others do.
    ///
    /// It is a hint, as for [`Spawn::Near`](locksley::Spawn::Near). A worker of another
    /// place that has nothing to do takes what has been left for a moment. What is made inside of
    /// the interval does not inherit the place; without a place, an interval goes where the pool
    /// sends such tasks ([`Unplaced`](locksley::Unplaced)). The last call counts.
    ///
    /// # Panics
    /// If the pool has no such place.
    ///
    /// # Examples
    /// Each part is sorted where it was written, and found in the cache of that place:
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
    #[must_use = "it is made by `spawn`"]
    #[track_caller]
    pub fn near(mut self, place: usize) -> Self {
        self.parent.header().core().home.assert_has_place(place);
        self.special = self.special.near(place);
        self
    }

    /// Makes the new interval start after a point; after the end, if it is an interval.
    ///
    /// # Examples
    /// See [`Point`].
    #[must_use = "it is made by `spawn`"]
    pub fn after(mut self, point: impl Into<Point<'g>>) -> Self {
        self.edges.push(point.into().at(), Side::Start, false);
        self
    }

    /// Makes the new interval start after all these points.
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
    #[must_use = "it is made by `spawn`"]
    pub fn after_all<P: Into<Point<'g>>>(self, points: impl IntoIterator<Item = P>) -> Self {
        points.into_iter().fold(self, Self::after)
    }

    /// Makes the new interval start after a point, as [`after`](Self::after) does, and run on the
    /// worker where that point occurs.
    ///
    /// It is a hint: what the other interval has used is still in the cache there. An interval that
    /// becomes ready on another worker is sent to that one, and idle workers take it from there. A
    /// [place](Self::near) that was named counts more. Of several points that it follows, one
    /// counts that occurs late; one counts not at all that occurs before the interval is made. This
    /// is WS-LAST of Nornir (2010), for intervals.
    ///
    /// # Examples
    /// Each row of a plate is computed where it was before, wherever its neighbours are:
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// intervals::run("plate", |root| {
    ///     let mut last: Vec<_> = (0..8).map(|_| root.interval("row").spawn(|_| ())).collect();
    ///     for _step in 0..3 {
    ///         let row = |row: usize| {
    ///             let neighbours = last[row.saturating_sub(1)..8.min(row + 2)].iter().copied();
    ///             root.interval("row").follow(last[row]).after_all(neighbours).spawn(|_| ())
    ///         };
    ///         last = (0..8).map(row).collect();
    ///     }
    /// })?;
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    #[must_use = "it is made by `spawn`"]
    pub fn follow(mut self, point: impl Into<Point<'g>>) -> Self {
        self.special = self.special.with(Special::FOLLOWS, true);
        self.edges.push(point.into().at(), Side::Start, true);
        self
    }

    /// Makes the new interval start after the end of another, and gives access to that one's
    /// result.
    ///
    /// # Examples
    /// See [`Input`].
    pub fn after_with<T: Sync>(&mut self, interval: Handle<'g, T>) -> Input<'g, T> {
        self.edges.push(interval.end().at(), Side::Start, false);
        Input::new(interval)
    }

    /// Makes the new interval end after a point, whether its body has ended before or not.
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
    #[must_use = "it is made by `spawn`"]
    pub fn end_after(mut self, point: impl Into<Point<'g>>) -> Self {
        self.edges.push(point.into().at(), Side::End, false);
        self
    }

    /// Makes the new interval hold a lock, from before its body begins to its end. The key is for
    /// its body.
    ///
    /// # Examples
    /// See [`IntervalLock`].
    pub fn lock<T: ?Sized + Send>(&mut self, lock: &'g IntervalLock<T>) -> Key<'g, T> {
        let holding = self.locks.get_or_insert_with(Holding::new);
        let key = Key::new(lock, holding.serial);
        holding.add(lock.permit());
        self.special = self.special.with(Special::LOCKS, true);
        key
    }

    /// Makes the interval. Its body may run at once, on another worker.
    ///
    /// The body is given the context in which it makes others, and its result goes to those that
    /// were declared to come [after it](Self::after_with). If the body panics, what depends on the
    /// interval does not run, and the root panics.
    ///
    /// # Panics
    /// If the interval is refused: see [`try_spawn`](Self::try_spawn).
    ///
    /// # Examples
    /// See [`Context::interval`].
    pub fn spawn<F, T>(self, body: F) -> Handle<'g, T>
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        self.try_spawn(body).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// Makes the interval, as [`spawn`](Self::spawn) does.
    ///
    /// # Errors
    /// If an edge would close a cycle, or if it breaks a rule of [locks](IntervalLock): see
    /// [`Refusal`]. The body is dropped then.
    ///
    /// # Examples
    /// See [`Refusal`].
    pub fn try_spawn<F, T>(self, body: F) -> Result<Handle<'g, T>, Refusal>
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        let parent_address = self.parent.interval;
        let parent = self.parent.header();
        let own_holding = match self.locks {
            None => None,
            Some(locks) => Some(own_holding(locks, &self.name, parent)?),
        };
        let holding = own_holding.or(parent.holding);
        let edges = self.edges;
        let [into_start, into_end] = edges.into;
        // SAFETY: a point's interval is alive, as the root is.
        let is_sibling =
            |wanted: &WantedEdge| unsafe { wanted.from.header() }.parent == Some(parent_address);
        // Edges from siblings into a start close no cycle, and keep back no interval with locks.
        // Others may be refused, or are to be added before it ends: the start waits for that.
        let is_kept = into_end > 0
            || (into_start > 0 && (holding.is_some() || !edges.iter().all(is_sibling)));
        let waits = into_start + usize::from(is_kept);
        let start = if waits == 0 { PointState::occurred() } else { PointState::new(waits) };
        let lane = self.parent.expect_child();
        let notes = self.special.has(Special::NOTES).then(|| new_notes(parent, &edges));
        let parts = Parts {
            name: self.name,
            parent: Some(parent_address),
            core: parent.core_address(),
            special: self.special,
            holding,
            notes,
            points: [start, PointState::new(into_end + BODY)],
            lane,
        };
        let interval = Interval::<F, T>::make(parts, body);
        // SAFETY: just made, and alive as long as its root.
        let header = unsafe { interval.as_ref() };
        if let Some(holding) = own_holding {
            // SAFETY: made above, for this interval.
            unsafe { Holding::set_holder(holding, interval) };
        }
        if let (Some(mut record), Some(mut own)) = (parent.record(), header.record()) {
            own.number = record.children.len();
            record.children.push(interval);
        }
        let arrived = [usize::from(is_kept), 0];
        let mut new = New { interval, header, arrived, outcomes: [Outcome::Well; 2] };
        // SAFETY: all handles are of the same root; the parent's body runs.
        if let Err(refusal) = unsafe { new.link(&edges, parent_address, is_kept) } {
            new.forget(self.parent);
            return Err(refusal);
        }
        new.release(waits == 0);
        // SAFETY: its results are of that type; it lives as long as its root.
        Ok(unsafe { Handle::new(interval) })
    }
}

/// What is noted of a new child with these edges, whose root is recorded or observed.
#[cold]
fn new_notes(parent: &Header, edges: &WantedEdges) -> Box<Notes> {
    let record = parent.record().map(|_| {
        let sources = edges.iter().map(|wanted| (wanted.from, wanted.into)).collect();
        Record { sources, ..Record::default() }
    });
    let notes = Notes::new(record);
    notes.reach(Side::Start, parent.core().stamp_here());
    notes
}

/// The locks that an interval of that name is to hold, if they are allowed.
fn own_holding(
    mut wanted: Box<Holding>,
    name: &str,
    parent: &Header,
) -> Result<NonNull<Holding>, Refusal> {
    if let Some(holding) = parent.holding() {
        // SAFETY: an ancestor.
        let holder = unsafe { holding.holder.as_ref() }.name().into();
        return Err(Refusal::LocksInside { interval: name.into(), holder });
    }
    if !wanted.sort() {
        return Err(Refusal::SameLock { interval: name.into() });
    }
    Ok(NonNull::from(Box::leak(wanted)))
}

impl fmt::Debug for Builder<'_, '_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An interval that was made, and is not started yet, or by its edges alone.
struct New<'a> {
    interval: NonNull<Header>,
    header: &'a Header,
    /// How many things have come that its start and its end wait for: its maker, and points that
    /// had occurred.
    arrived: [usize; 2],
    outcomes: [Outcome; 2],
}

impl<'a> New<'a> {
    /// Adds its edges.
    ///
    /// Those from points inside of the parent close no cycle, and are added without a search; the
    /// others first, since they may be refused. (`README.md`, "Why there are no cycles".)
    ///
    /// # Safety
    /// The root is alive, and the parent's body runs. The start is kept, if an edge may be refused.
    #[inline]
    unsafe fn link(
        &mut self,
        edges: &WantedEdges,
        parent: NonNull<Header>,
        is_kept: bool,
    ) -> Result<(), Refusal> {
        if is_kept {
            // SAFETY: as the caller promises.
            unsafe { self.link_across(edges, parent) }?;
        }
        for (number, wanted) in edges.iter().enumerate() {
            // SAFETY: alive, as the root is.
            if !is_kept || !unsafe { wanted.is_across(parent) } {
                // SAFETY: the edge is new, and alive as long as the root.
                unsafe { self.link_one(self.header.edge(number), *wanted, false) };
            }
        }
        Ok(())
    }

    /// Adds the edges that come from outside of the parent, if none of these points comes after the
    /// parent's end. For the new points come before that end, and nothing else comes after them
    /// yet.
    ///
    /// # Safety
    /// As for [`link`](Self::link).
    #[inline(never)]
    unsafe fn link_across(
        &mut self,
        edges: &WantedEdges,
        parent: NonNull<Header>,
    ) -> Result<(), Refusal> {
        for wanted in edges.iter() {
            // SAFETY: alive, as the root is.
            if unsafe { wanted.from.state() }.outcome().is_none() {
                // SAFETY: as above.
                unsafe { check_holder(wanted.from, At::new(self.interval, wanted.into)) }?;
            }
        }
        let mut linked: Vec<(WantedEdge, &'a Edge)> = Vec::new();
        for (number, &wanted) in edges.iter().enumerate() {
            // SAFETY: as above.
            if unsafe { wanted.is_across(parent) } {
                let edge = self.header.edge(number);
                // SAFETY: the edge is new, and alive as long as the root.
                if unsafe { self.link_one(edge, wanted, true) } {
                    linked.push((wanted, edge));
                }
            }
        }
        let closes_a_cycle = |(wanted, _): &&(WantedEdge, &Edge)| {
            // SAFETY: the root is alive, and the parent's end does not occur before its body has
            // ended.
            unsafe { order::reaches(At::end(parent), wanted.from, Edges::All) }
        };
        let Some(&(wanted, _)) = linked.iter().find(closes_a_cycle) else {
            linked.iter().for_each(|(_, edge)| edge.confirm());
            return Ok(());
        };
        for (_, edge) in linked {
            // Whether it comes or not: the interval is forgotten.
            let _ = edge.withdraw();
        }
        // SAFETY: alive, as the root is.
        let name_of = |at| unsafe { PointName::of(at) };
        let to = At::new(self.interval, wanted.into);
        Err(Refusal::Cycle { from: name_of(wanted.from), to: name_of(to) })
    }

    /// Adds one edge. Returns whether it was added: if not, its source has occurred.
    ///
    /// # Safety
    /// The edge is new, and alive as long as the root.
    #[inline]
    unsafe fn link_one(&mut self, edge: &Edge, wanted: WantedEdge, is_tentative: bool) -> bool {
        let (from, into) = (wanted.from, wanted.into);
        let target = At::new(self.interval, into).into_word(wanted.is_followed);
        // SAFETY: alive, as the root is.
        let source = unsafe { from.state() };
        // SAFETY: as the caller promises.
        let linked = unsafe { source.link(edge, target, is_tentative) };
        if let Err(outcome) = linked {
            // SAFETY: as above; it has occurred.
            unsafe { follow_occurred(from, self.header, into) };
            self.arrived[into as usize] += 1;
            if outcome == Outcome::Failed {
                self.outcomes[into as usize] = Outcome::Failed;
            }
        }
        linked.is_ok()
    }

    /// Drops the body of an interval that was refused. The rest stays where it is, since other
    /// threads may be looking at it, until the root frees it.
    fn forget(self, parent: &Context<'_, '_>) {
        // SAFETY: it was not sent, and will not be.
        unsafe { interval::abandon(self.interval) };
        parent.forget_child();
    }

    /// Brings what has come. `has_started`: its start has occurred.
    fn release(self, has_started: bool) {
        let [start, end] = self.arrived;
        let [start_outcome, end_outcome] = self.outcomes;
        if end > 0 {
            let was_last = self.header.end.arrive(end, end_outcome);
            debug_assert!(was_last.is_none(), "the body has not run");
        }
        Worker::with_current(|worker| {
            if has_started {
                // SAFETY: its root waits for its parent, whose body runs; it starts by this alone.
                unsafe { Occurrence::start_new(self.interval, worker) };
            } else if start > 0 {
                let at = At::start(self.interval);
                // SAFETY: as above; the start waits for what is brought.
                unsafe { Occurrence::arrive(at, start, start_outcome, worker) };
            }
        });
    }
}

/// Notes the stamp of a point that had occurred before an edge was added, at the edge's target.
///
/// # Safety
/// Both are alive, and of one root. The target waits for the caller.
unsafe fn follow_occurred(source: At, target: &Header, side: Side) {
    // SAFETY: as the caller promises.
    let notes = unsafe { source.header() }.notes();
    pass_on(notes.map(|notes| notes.stamp(source.side())), target, side);
}

/// Adds an edge between intervals that were made before.
///
/// # Safety
/// All are of the same root, which is alive, and the body of `by` runs.
pub(crate) unsafe fn add_late_edge(by: NonNull<Header>, from: At, to: At) -> Result<(), Refusal> {
    // SAFETY: alive, as the root is.
    let header = unsafe { to.header() };
    // SAFETY: as above.
    let name_of = |at| unsafe { PointName::of(at) };
    // SAFETY: as above.
    let is_around = to.side() == Side::End && unsafe { order::is_within(by, to.interval()) };
    // SAFETY: as above; the end of `by` comes after its body. Only edges that will stay keep `to`
    // from occurring.
    if !is_around && !unsafe { order::reaches(At::end(by), to, Edges::Certain) } {
        // SAFETY: as above.
        let by = unsafe { by.as_ref() }.name().into();
        return Err(Refusal::MayHaveOccurred { by, to: name_of(to) });
    }
    // From here on, `to` does not occur before this returns, since the running body comes before
    // it.
    let state = header.point(to.side());
    // SAFETY: as above.
    let source = unsafe { from.state() };
    let mut occurred = source.outcome();
    if occurred.is_none() {
        // SAFETY: as above.
        unsafe { check_holder(from, to) }?;
        let edge = header.new_edge();
        state.expect_one();
        // SAFETY: the edge is new, and alive as long as the root.
        let linked = unsafe { source.link(edge, to.into_word(false), true) };
        occurred = linked.err();
        // SAFETY: as above; `to` does not occur.
        let is_refused =
            linked.is_ok() && unsafe { order::reaches(to, from, Edges::All) } && edge.withdraw();
        if linked.is_err() || is_refused {
            let was_last = state.arrive(1, Outcome::Well);
            debug_assert!(was_last.is_none(), "it comes after an interval whose body runs");
        }
        if is_refused {
            return Err(Refusal::Cycle { from: name_of(from), to: name_of(to) });
        }
        edge.confirm();
    }
    if let Some(outcome) = occurred {
        // SAFETY: as above; the source has occurred.
        unsafe { follow_occurred(from, header, to.side()) };
        if outcome == Outcome::Failed {
            state.fail();
        }
    }
    if let Some(mut record) = header.record() {
        record.sources.push((from, to.side()));
    }
    Ok(())
}

/// Refuses an edge that would make a holder of locks wait for something outside, which may want
/// them.
///
/// # Safety
/// All are alive.
unsafe fn check_holder(from: At, to: At) -> Result<(), Refusal> {
    // SAFETY: as the caller promises.
    let target = unsafe { to.header() };
    let holding = match to.side() {
        // Before its start it has no locks itself.
        // SAFETY: an ancestor is alive.
        Side::Start => target.parent.and_then(|parent| unsafe { parent.as_ref() }.holding()),
        Side::End => target.holding(),
    };
    match holding.map(|holding| holding.holder) {
        // SAFETY: as the caller promises.
        Some(holder) if !unsafe { order::is_within(from.interval(), holder) } => {
            // SAFETY: as above.
            let [from, to] = [from, to].map(|at| unsafe { PointName::of(at) });
            // SAFETY: as above.
            let holder = unsafe { holder.as_ref() }.name().into();
            Err(Refusal::IntoHolder { from, to, holder })
        }
        _ => Ok(()),
    }
}
