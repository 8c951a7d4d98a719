//! Making intervals, and adding edges.

use std::borrow::Cow;
use std::fmt;
use std::ptr::NonNull;

use super::arena::Lane;
use super::context::Context;
use super::handle::{Handle, Input, Point};
use super::interval::{self, At, Header, Interval, Parts, Side};
use super::lock::{self, Holding, Key, Lock, Turns};
use super::notes::Notes;
use super::occurrence::Occurrence;
use super::order::{self, Edges};
use super::paths;
use super::point::{BODY, Edge, Outcome};
use super::record::Record;
use super::refusal::{PointName, Refusal};
use super::special::Special;
use crate::meter::Site;
use crate::worker::Worker;

/// An interval that is being made, inside of the one whose context made this: see [`Context::interval`].
///
/// Edges from points that have occurred add nothing.
pub struct Builder<'c, 'g, 'env: 'g> {
    parent: &'c Context<'g, 'env>,
    name: Cow<'static, str>,
    edges: WantedEdges,
    locks: Option<Box<WantedLocks>>,
    special: Special,
}

/// Locks that the new interval names.
#[derive(Debug)]
struct WantedLocks {
    /// What the keys know the interval by.
    serial: u64,
    locks: Vec<NonNull<Turns>>,
}

/// An edge from a point into the new interval.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    /// Where it comes from. Not as one [`At`], for which there would be more padding: builders are moved.
    interval: NonNull<Header>,
    side: Side,
    into: Side,
    /// Whether it comes from outside of the parent, and has not occurred.
    is_across: bool,
    /// Whether the new interval is to run where it ends.
    is_followed: bool,
}

impl Wanted {
    fn from(self) -> At {
        At { interval: self.interval, side: self.side }
    }
}

/// Two edges, and then more: most intervals have few.
#[derive(Debug, Default)]
struct WantedEdges {
    /// How many go to the start, and to the end.
    into: [usize; 2],
    first: [Option<Wanted>; 2],
    more: Vec<Wanted>,
}

impl WantedEdges {
    #[inline]
    fn push(&mut self, from: At, into: Side, is_followed: bool) {
        let At { interval, side } = from;
        let wanted = Wanted { interval, side, into, is_across: false, is_followed };
        let number = self.number();
        match self.first.get_mut(number) {
            Some(place) => *place = Some(wanted),
            None => self.more.push(wanted),
        }
        self.into[into as usize] += 1;
    }

    fn number(&self) -> usize {
        self.into[0] + self.into[1]
    }

    fn get(&self, number: usize) -> Wanted {
        match self.first.get(number) {
            Some(wanted) => wanted.expect("there are as many"),
            None => self.more[number - self.first.len()],
        }
    }

    /// Notes that an edge comes from outside of the parent.
    fn is_across(&mut self, number: usize) {
        let first = self.first.len();
        let wanted = match self.first.get_mut(number) {
            Some(wanted) => wanted.as_mut().expect("there are as many"),
            None => &mut self.more[number - first],
        };
        wanted.is_across = true;
    }

    fn iter(&self) -> impl Iterator<Item = Wanted> {
        (0..self.number()).map(|number| self.get(number))
    }
}

impl<'c, 'g, 'env> Builder<'c, 'g, 'env> {
    #[inline]
    pub(super) fn new(parent: &'c Context<'g, 'env>, name: Cow<'static, str>) -> Self {
        let special = parent.header().special().of_child();
        Self { parent, name, edges: WantedEdges::default(), locks: None, special }
    }

    /// Has the new interval run at a place of the pool, from 0: the workers of that place take it before others do.
    ///
    /// It is a hint, as [`Pool::spawn_near`](crate::Pool::spawn_near) has it. When the interval's start has occurred, and it has its locks, its
    /// body is sent to the place; if that happens on a worker of this very place, it stays with that worker's own tasks, as one without
    /// a place does. A worker of another place, if it has nothing to do, takes what has been left for a moment, and
    /// [counts it](crate::meter::WorkerStats::out_of_place). What is made inside of the interval does not inherit the place: for that none is
    /// named, and it goes where the pool has such tasks go ([`Unplaced`](crate::Unplaced)).
    ///
    /// If called again, the last one counts.
    ///
    /// # Panics
    /// If the pool has no such place.
    ///
    /// # Examples
    /// Each part is sorted where it was written, so that it is found in the cache of that place:
    /// ```
    /// use locksley::Pool;
    /// use locksley::intervals::Root;
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
        self.parent.header().core().home().must_have_place(place);
        self.special = self.special.near(place);
        self
    }

    /// Has the new interval start after a point; after the end, if it is an interval.
    ///
    /// # Examples
    /// See [`Point`].
    #[must_use = "it is made by `spawn`"]
    pub fn after(mut self, point: impl Into<Point<'g>>) -> Self {
        self.edges.push(point.into().at(), Side::Start, false);
        self
    }

    /// Has the new interval start after all these points.
    ///
    /// # Examples
    /// ```
    /// use locksley::intervals;
    ///
    /// intervals::run("root", |root| {
    ///     let rows: Vec<_> = (0..4).map(|_| root.interval("row").spawn(|_| ())).collect();
    ///     root.interval("all").after_all(rows).spawn(|_| ());
    /// })?;
    /// # Ok::<(), intervals::Cancelled>(())
    /// ```
    #[must_use = "it is made by `spawn`"]
    pub fn after_all<P: Into<Point<'g>>>(self, points: impl IntoIterator<Item = P>) -> Self {
        points.into_iter().fold(self, Self::after)
    }

    /// Has the new interval start after a point, as [`after`](Self::after) does, and run on the worker where that point occurs.
    ///
    /// It is a hint: what the interval before has used is still in the cache there. If it becomes ready on another worker, it is sent
    /// back to that one, and workers that have nothing to do take it from there, as they take what was pushed. It is not sent
    /// if the point had occurred before the interval was made. Of several points that it follows one counts that occurs
    /// late; a [place](Self::near) that was named counts more, and one that the pool would choose less. The end of an interval with children occurs where the last of them ends. This is what Nornir calls WS-LAST (2010), for intervals.
    ///
    /// # Examples
    /// Each row of a plate is worked on where it was before, wherever its neighbours are:
    /// ```
    /// use locksley::intervals;
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
    /// # Ok::<(), intervals::Cancelled>(())
    /// ```
    #[must_use = "it is made by `spawn`"]
    pub fn follow(mut self, point: impl Into<Point<'g>>) -> Self {
        self.special = self.special.following();
        self.edges.push(point.into().at(), Side::Start, true);
        self
    }

    /// Has the new interval start after the end of another, and gives access to that one's result.
    ///
    /// # Examples
    /// See [`Input`].
    pub fn after_with<T: Sync>(&mut self, interval: Handle<'g, T>) -> Input<'g, T> {
        self.edges.push(interval.end().at(), Side::Start, false);
        Input::new(interval)
    }

    /// Has the new interval end after a point, whether its body has ended before or not.
    ///
    /// # Examples
    /// ```
    /// use locksley::intervals;
    ///
    /// intervals::run("root", |root| {
    ///     let other = root.interval("other").spawn(|_| ());
    ///     let one = root.interval("one").end_after(other).spawn(|_| ());
    ///     root.interval("after both").after(one).spawn(|_| ());
    /// })?;
    /// # Ok::<(), intervals::Cancelled>(())
    /// ```
    #[must_use = "it is made by `spawn`"]
    pub fn end_after(mut self, point: impl Into<Point<'g>>) -> Self {
        self.edges.push(point.into().at(), Side::End, false);
        self
    }

    /// Has the new interval hold a lock, from before its body begins to its end. The key is for its body.
    ///
    /// # Examples
    /// See [`Lock`].
    pub fn lock<T: ?Sized + Send>(&mut self, lock: &'g Lock<T>) -> Key<'g, T> {
        let none = || Box::new(WantedLocks { serial: lock::new_serial(), locks: Vec::new() });
        let wanted = self.locks.get_or_insert_with(none);
        wanted.locks.push(lock.turns());
        self.special = self.special.with_locks();
        Key::new(lock, wanted.serial)
    }

    /// Makes the interval. Its body may run at once, on another worker.
    ///
    /// The body is given the context in which it makes others, and its result goes to those that were declared to come
    /// [`after`](Self::after_with). If the body panics, what depends on the interval does not run, and the root panics.
    ///
    /// # Panics
    /// If the interval is refused: see [`try_spawn`](Self::try_spawn).
    ///
    /// # Examples
    /// See [`Context::interval`].
    #[cfg_attr(feature = "join-lines", track_caller)]
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
    /// If an edge would close a cycle, or if it breaks a rule of [locks](Lock): see [`Refusal`]. The body is dropped then.
    ///
    /// # Examples
    /// See [`Refusal`].
    #[cfg_attr(feature = "join-lines", track_caller)]
    pub fn try_spawn<F, T>(self, body: F) -> Result<Handle<'g, T>, Refusal>
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        let parent_address = self.parent.address();
        let parent = self.parent.header();
        let own_holding = match self.locks {
            None => None,
            Some(locks) => Some(own_holding(*locks, &self.name, parent)?),
        };
        let lane = self.parent.expects_a_child();
        let notes = if self.special.has_notes() {
            // In the function with the body, which is a closure; with `join-lines`, at the line where the interval is made.
            #[cfg(not(feature = "join-lines"))]
            let site = Site::of::<F>();
            #[cfg(feature = "join-lines")]
            let site = Site::here();
            Some(new_notes(parent, &self.edges, site, lane))
        } else {
            None
        };
        let parts = Parts {
            name: self.name,
            parent: Some(parent_address),
            core: parent.core_address(),
            special: self.special,
            holding: own_holding.or(parent.holding_address()),
            notes,
            lane,
        };
        let mut edges = self.edges;
        let [into_start, into_end] = edges.into;
        // One more for us, who have not made it yet.
        let waits = [into_start + 1, into_end + BODY];
        let interval = Interval::<F, T>::make(parts, waits, body);
        if let Some(holding) = own_holding {
            // SAFETY: made above, for this interval.
            unsafe { Holding::belong_to(holding, interval) };
        }
        // SAFETY: just made, and alive as long as its root.
        let header = unsafe { interval.as_ref() };
        let mut new = New {
            interval,
            header,
            edges: &mut edges,
            arrived: [1, 0],
            outcomes: [Outcome::Well; 2],
            is_awaiting: false,
        };
        // SAFETY: all handles are of the same root; the parent's body runs.
        if let Err(refusal) = unsafe { new.link(parent_address) } {
            new.forget(self.parent);
            return Err(refusal);
        }
        new.release();
        // SAFETY: its results are of that type; it lives as long as its root.
        Ok(unsafe { Handle::new(interval) })
    }
}

/// What is noted of a new child with these edges, made there, whose root is recorded or metered.
#[cold]
fn new_notes(parent: &Header, edges: &WantedEdges, site: Site, lane: Lane) -> NonNull<Notes> {
    let record = parent.record().map(|record| {
        let sources = edges.iter().map(|wanted| (wanted.from(), wanted.into)).collect();
        Record::new(record.new_child(), sources)
    });
    let Some(paths) = parent.paths() else {
        return Notes::placed(parent.core(), lane, record, None);
    };
    paths.of_child(parent.core_address(), site, |paths| {
        Notes::placed(parent.core(), lane, record, Some(paths))
    })
}

/// The locks that an interval of that name is to hold, if they are allowed.
fn own_holding(
    wanted: WantedLocks,
    name: &str,
    parent: &Header,
) -> Result<NonNull<Holding>, Refusal> {
    if let Some(holding) = parent.holding() {
        // SAFETY: an ancestor of ours.
        let holder = unsafe { holding.holder().as_ref() }.name().into();
        return Err(Refusal::LocksInside { interval: name.into(), holder });
    }
    let holding = Holding::new(wanted.serial, wanted.locks);
    let holding = holding.ok_or_else(|| Refusal::SameLock { interval: name.into() })?;
    Ok(NonNull::from(Box::leak(holding)))
}

impl fmt::Debug for Builder<'_, '_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An interval that was made, and that waits for whoever makes it.
struct New<'a> {
    interval: NonNull<Header>,
    header: &'a Header,
    edges: &'a mut WantedEdges,
    /// What has come that its start and its end wait for: us, and points that had occurred.
    arrived: [usize; 2],
    outcomes: [Outcome; 2],
    /// Whether there are edges into its start.
    is_awaiting: bool,
}

impl<'a> New<'a> {
    /// Adds its edges.
    ///
    /// # Safety
    /// The root is alive, and the parent's body runs.
    unsafe fn link(&mut self, parent: NonNull<Header>) -> Result<(), Refusal> {
        let WantedEdges { into: [into_start, into_end], first, more } = &*self.edges;
        // SAFETY: a point's interval is alive, as the root is.
        let is_sibling =
            |wanted: &Wanted| unsafe { wanted.interval.as_ref() }.parent() == Some(parent);
        let is_usual = *into_end == 0
            && more.is_empty()
            && self.header.holding().is_none()
            && first.iter().flatten().all(is_sibling);
        if !is_usual {
            // SAFETY: as the caller promises.
            return unsafe { self.link_with_care(parent) };
        }
        // The usual ones close no cycle, and keep nobody who holds locks; nor need the start wait for us (see below).
        self.header.start().expect_unknown(*into_start);
        self.arrived[Side::Start as usize] = 0;
        for (edge, wanted) in self.header.edges().iter().zip(*first) {
            let Some(wanted) = wanted else { break };
            // SAFETY: the edge is new, and alive as long as the root.
            unsafe { self.link_one(edge, wanted, false) };
        }
        Ok(())
    }

    /// The same for edges of any kind.
    ///
    /// Those from points inside of the parent close no cycle, and are added without a search; the others first: they may be
    /// refused. (`README.md`, "Why there are no cycles".)
    ///
    /// # Safety
    /// As for [`link`](Self::link).
    #[inline(never)]
    unsafe fn link_with_care(&mut self, parent: NonNull<Header>) -> Result<(), Refusal> {
        let mut is_any_across = false;
        for number in 0..self.edges.number() {
            let wanted = self.edges.get(number);
            let (from, into) = (wanted.from(), wanted.into);
            // SAFETY: alive, as the root is.
            if unsafe { from.state() }.outcome().is_some() {
                continue;
            }
            if self.header.holding().is_some() {
                // SAFETY: as above.
                unsafe { check_holder(from, into, self.header) }?;
            }
            // SAFETY: as above.
            let is_inside = unsafe { order::is_within(from.interval, parent) };
            if from.interval == parent || !is_inside {
                self.edges.is_across(number);
                is_any_across = true;
            }
        }
        if is_any_across {
            // SAFETY: as the caller promises.
            unsafe { self.link_across(parent) }?;
        } else if self.edges.into[Side::End as usize] == 0 {
            // From here on it is not refused, and nothing is left to be done when it has started: it need not wait for us.
            self.header.start().expect_unknown(self.edges.into[Side::Start as usize]);
            self.arrived[Side::Start as usize] = 0;
        }
        for number in 0..self.edges.number() {
            let wanted = self.edges.get(number);
            if !wanted.is_across {
                // SAFETY: the edge is new, and alive as long as the root.
                unsafe { self.link_one(self.header.edge(number), wanted, false) };
            }
        }
        Ok(())
    }

    /// Adds the edges that come from outside of the parent, if none of these points comes after the parent's end. For our
    /// points come before that end, and nothing else comes after them yet.
    ///
    /// # Safety
    /// As for [`link`](Self::link).
    unsafe fn link_across(&mut self, parent: NonNull<Header>) -> Result<(), Refusal> {
        let mut linked: Vec<(Wanted, &'a Edge)> = Vec::new();
        for number in 0..self.edges.number() {
            let wanted = self.edges.get(number);
            if !wanted.is_across {
                continue;
            }
            let edge = self.header.edge(number);
            // SAFETY: the edge is new, and alive as long as the root.
            if unsafe { self.link_one(edge, wanted, true) } {
                linked.push((wanted, edge));
            }
        }
        let closes_a_cycle = |(wanted, _): &(Wanted, &Edge)| {
            // SAFETY: the root is alive, and the parent's end does not occur before its body has ended.
            unsafe { order::reaches(At::end(parent), &[wanted.from()], Edges::All) }
        };
        match linked.iter().find(|linked| closes_a_cycle(linked)) {
            None => {
                linked.iter().for_each(|(_, edge)| edge.confirm());
                Ok(())
            }
            Some(&(wanted, _)) => {
                for (_, edge) in linked {
                    // Whether it comes or not: the interval is forgotten.
                    let _ = edge.withdraw();
                }
                // SAFETY: alive, as the root is.
                let from = unsafe { PointName::of(wanted.from()) };
                Err(Refusal::Cycle { from, to: PointName::to(self.header, wanted.into) })
            }
        }
    }

    /// Whether it was added. If not, its source has occurred.
    ///
    /// # Safety
    /// The edge is new, and alive as long as the root.
    #[inline]
    unsafe fn link_one(&mut self, edge: &Edge, wanted: Wanted, is_tentative: bool) -> bool {
        let target = At { interval: self.interval, side: wanted.into };
        let target =
            if wanted.is_followed { target.into_following_word() } else { target.into_word() };
        // SAFETY: alive, as the root is.
        let from = unsafe { wanted.from().state() };
        // SAFETY: as the caller promises.
        let linked = unsafe { from.link(edge, target, is_tentative) };
        match linked {
            Ok(()) => self.is_awaiting |= wanted.into == Side::Start,
            Err(outcome) => {
                let side = wanted.into as usize;
                self.arrived[side] += 1;
                if outcome == Outcome::Failed {
                    self.outcomes[side] = Outcome::Failed;
                }
            }
        }
        linked.is_ok()
    }

    /// It will not be. It stays where it is, since others may be looking at it, until the root frees it.
    fn forget(self, parent: &Context<'_, '_>) {
        // SAFETY: it was not sent, and will not be.
        if let Err(payload) = unsafe { interval::abandon(self.interval) } {
            parent.header().core().keep_panic(payload);
        }
        parent.expects_it_no_more();
    }

    fn release(self) {
        let [start, end] = self.arrived;
        let [start_outcome, end_outcome] = self.outcomes;
        if end > 0 {
            self.brings_paths(Side::End);
            let was_last = self.header.end().arrive(end, end_outcome);
            debug_assert!(was_last.is_none(), "the body has not run");
        }
        // SAFETY: it waits for what we bring; its root waits for its parent, whose body runs.
        let release = |worker: Option<&Worker>| unsafe {
            Occurrence::arrive(At::start(self.interval), start, start_outcome, worker);
        };
        // SAFETY: as above; there are no edges into its start, and its handle is still ours.
        let start_at_once = |worker: Option<&Worker>| unsafe {
            Occurrence::start_new(self.interval, start_outcome, worker);
        };
        match (self.is_awaiting, start) {
            // It may have started, and ended.
            (true, 0) => {}
            (true, _) => {
                self.brings_paths(Side::Start);
                Worker::with_current(release);
            }
            (false, _) => {
                if let Some(notes) = self.header.notes() {
                    self.brings_paths(Side::Start);
                    // SAFETY: nobody else has it occur, since nobody knows of it.
                    unsafe { notes.start_occurs(self.header) };
                }
                Worker::with_current(start_at_once);
            }
        }
    }

    /// The paths of what had occurred that the point on that side comes after, if they are metered. The point waits for us.
    fn brings_paths(&self, side: Side) {
        if self.header.notes().is_some() {
            self.brings_known_paths(side);
        }
    }

    #[cold]
    fn brings_known_paths(&self, side: Side) {
        let target = At { interval: self.interval, side };
        for wanted in self.edges.iter().filter(|wanted| wanted.into == side) {
            let source = wanted.from();
            // If it has not occurred, it brings its path itself.
            // SAFETY: alive, as the root is.
            if unsafe { source.state() }.outcome().is_some() {
                // SAFETY: as above, and as the caller says.
                unsafe { paths::comes_from(source, target) };
            }
        }
    }
}

/// Adds an edge between intervals that were made before.
///
/// # Safety
/// All are of the same root, which is alive, and the body of `by` runs.
pub(super) unsafe fn add_late_edge(by: NonNull<Header>, from: At, to: At) -> Result<(), Refusal> {
    // SAFETY: alive, as the root is.
    let header = unsafe { to.header() };
    // SAFETY: as above.
    let name_of = |at| unsafe { PointName::of(at) };
    // SAFETY: as above.
    let is_around = to.side == Side::End && unsafe { order::is_within(by, to.interval) };
    // SAFETY: as above; the end of `by` comes after its body. Only what is certain keeps `to` from occurring.
    if !is_around && !unsafe { order::reaches(At::end(by), &[to], Edges::Certain) } {
        // SAFETY: as above.
        let by = unsafe { by.as_ref() }.name().into();
        return Err(Refusal::MayHaveOccurred { by, to: name_of(to) });
    }
    // From here on, `to` does not occur while we are here, since we come before it.
    let state = header.point(to.side);
    // SAFETY: as above.
    let source = unsafe { from.state() };
    // SAFETY: as above; called when the source was seen to have occurred.
    let has_come = || unsafe { paths::comes_from(from, to) };
    if let Some(outcome) = source.outcome() {
        has_come();
        if outcome == Outcome::Failed {
            state.fail();
        }
    } else {
        // SAFETY: as above.
        unsafe { check_holder(from, to.side, header) }?;
        let edge = header.extra(None);
        state.expect_one();
        let arrive = |outcome| {
            let was_last = state.arrive(1, outcome);
            debug_assert!(was_last.is_none(), "it comes after an interval whose body runs");
        };
        // SAFETY: the edge is new, and alive as long as the root.
        if let Err(outcome) = unsafe { source.link(edge, to.into_word(), true) } {
            has_come();
            arrive(outcome);
        } else {
            // SAFETY: as above; `to` does not occur.
            if unsafe { order::reaches(to, &[from], Edges::All) } && edge.withdraw() {
                arrive(Outcome::Well);
                return Err(Refusal::Cycle { from: name_of(from), to: name_of(to) });
            }
            edge.confirm();
        }
    }
    if header.record().is_some() {
        header.extra(Some((from, to.side)));
    }
    Ok(())
}

/// Refuses an edge that would have somebody wait who holds locks, for something that is outside and may want them.
///
/// # Safety
/// All are alive.
unsafe fn check_holder(from: At, into: Side, target: &Header) -> Result<(), Refusal> {
    let holding = match into {
        // Before its start it has no locks itself.
        // SAFETY: an ancestor is alive.
        Side::Start => target.parent().and_then(|parent| unsafe { parent.as_ref() }.holding()),
        Side::End => target.holding(),
    };
    match holding.map(Holding::holder) {
        // SAFETY: as the caller promises.
        Some(holder) if !unsafe { order::is_within(from.interval, holder) } => {
            // SAFETY: as above.
            let from = unsafe { PointName::of(from) };
            // SAFETY: as above.
            let holder = unsafe { holder.as_ref() }.name().into();
            Err(Refusal::IntoHolder { from, to: PointName::to(target, into), holder })
        }
        _ => Ok(()),
    }
}
