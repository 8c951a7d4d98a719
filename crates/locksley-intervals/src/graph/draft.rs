//! Drafts: intervals that are declared and connected in any order, and then started together.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::ptr::NonNull;

use locksley::Worker;

use crate::graph::builder::{Builder, check_locks};
use crate::graph::context::{Context, Handle, Point};
use crate::graph::edges;
use crate::graph::interval::{self, Header, Interval, NewInterval, PointRef};
use crate::graph::occurrence::Occurrence;
use crate::graph::order;
use crate::graph::point::{Edges, Outcome, Side};
use crate::graph::refusal::Refusal;

/// Intervals that are declared and connected in any order, and then started together.
///
/// Use it for a graph that is read from data: no interval need be declared after those that it
/// waits for. [`Context::draft`] returns an empty draft. [`declare`](Self::declare) adds an
/// interval, [`connect`](Self::connect) an edge. No body runs before [`start`](Self::start), which
/// finds cycles.
///
/// A declared interval is a child of the interval that has made the draft. Before the start, code
/// outside of the draft can add no edges from or to it.
///
/// **A draft that is dropped without a start runs nothing.** It drops the bodies, and reports no
/// error. The compiler warns of a draft that is not used at all:
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # fn body(root: &locksley_intervals::Context<'_, '_>) {
/// root.draft();
/// # }
/// ```
/// This is no warning:
/// ```
/// #![deny(unused_must_use)]
/// # fn body(root: &locksley_intervals::Context<'_, '_>) {
/// let _ = root.draft();
/// # }
/// ```
///
/// # Examples
/// ```
/// use locksley_intervals::{self as intervals, Handle};
/// use std::collections::HashMap;
///
/// let rules = [("test", vec!["link"]), ("link", vec!["compile"]), ("compile", vec![])];
/// intervals::run("build", |root| {
///     let mut draft = root.draft();
///     let targets: HashMap<&str, Handle<'_, ()>> = (rules.iter())
///         .map(|(name, _)| (*name, draft.declare(*name, move |_| println!("{name}"))))
///         .collect();
///     for (name, needs) in &rules {
///         needs.iter().for_each(|need| draft.connect(targets[need], targets[name]));
///     }
///     draft.start()
/// })??;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An interval reads the [result](Handle::get) of one that was declared before it by its handle. It
/// needs the edge, too:
/// ```
/// use locksley_intervals as intervals;
///
/// let mut length = 0;
/// intervals::run("build", |root| {
///     let mut draft = root.draft();
///     let compile = draft.declare("compile", |_| vec!["main.o", "parser.o"]);
///     let length = &mut length;
///     let link = draft.declare("link", move |cx| *length = compile.get(cx).len());
///     draft.connect(compile, link);
///     draft.start()
/// })??;
/// assert_eq!(length, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An interval that is declared first has no handles of those that it waits for. Then the values
/// are handed on in cells that are made before the root. An edge orders the write of a cell before
/// the reads:
/// ```
/// use locksley_intervals::{self as intervals, Handle};
/// use std::collections::HashMap;
/// use std::sync::OnceLock;
///
/// // Each is its number plus the sum of what it needs.
/// let rules = [("all", 1, vec!["one", "two"]), ("two", 2, vec!["one"]), ("one", 3, vec![])];
/// let sums: HashMap<&str, OnceLock<u32>> =
///     rules.iter().map(|(name, ..)| (*name, OnceLock::new())).collect();
/// intervals::run("sums", |root| {
///     let (mut draft, sums) = (root.draft(), &sums);
///     let handles: HashMap<&str, Handle<'_, ()>> = (rules.iter())
///         .map(|(name, number, needs)| {
///             let handle = draft.declare(*name, move |_| {
///                 let needed = needs.iter().map(|need| sums[need].get().expect("an edge"));
///                 sums[name].set(number + needed.sum::<u32>()).expect("it runs once");
///             });
///             (*name, handle)
///         })
///         .collect();
///     for (name, _, needs) in &rules {
///         needs.iter().for_each(|need| draft.connect(handles[need], handles[name]));
///     }
///     draft.start()
/// })??;
/// assert_eq!(sums["all"].get(), Some(&9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "no declared interval runs before `start`"]
pub struct Draft<'c, 'g, 'env: 'g> {
    parent: &'c Context<'g, 'env>,
    declared: Vec<NonNull<Header>>,
    /// The index of each declared interval.
    indexes: HashMap<NonNull<Header>, usize>,
    edges: Vec<(PointRef, PointRef)>,
    /// The refusal of the first interval that was refused because of its locks.
    refusal: Option<Refusal>,
}

impl<'g, 'env> Context<'g, 'env> {
    /// Returns an empty draft, for children of this interval.
    ///
    /// # Examples
    /// See [`Draft`].
    #[must_use = "no declared interval runs before `start`"]
    pub fn draft(&self) -> Draft<'_, 'g, 'env> {
        let (declared, indexes, edges) = (Vec::new(), HashMap::new(), Vec::new());
        Draft { parent: self, declared, indexes, edges, refusal: None }
    }
}

impl<'g, 'env> Builder<'_, 'g, 'env> {
    /// Declares the interval in a draft, which starts it: see [`Draft::declare`].
    ///
    /// The edges of the builder go to the draft, and its locks and its place to the interval.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals::{self as intervals, IntervalLock};
    ///
    /// let log = IntervalLock::new(Vec::new());
    /// intervals::run("build", |root| {
    ///     let mut draft = root.draft();
    ///     for name in ["compile", "test"] {
    ///         let mut target = root.interval(name);
    ///         let mut key = target.lock(&log);
    ///         target.declare_in(&mut draft, move |cx| key.get_mut(cx).push(name));
    ///     }
    ///     draft.start()
    /// })??;
    /// assert_eq!(log.into_inner().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn declare_in<F, T>(self, draft: &mut Draft<'_, 'g, 'env>, body: F) -> Handle<'g, T>
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        // The builder has the same parent: bodies are `'g`, so none captures a draft, which borrows
        // the context of another interval.
        let parent = draft.parent.header();
        let mut extras = self.extras;
        if let Some(locks) = extras.as_mut().and_then(|extras| extras.locks.as_mut()) {
            if let Err(refusal) = check_locks(locks, &self.name, parent) {
                draft.refusal.get_or_insert(refusal);
            }
        }
        let root = parent.root();
        // The draft adds the stamp and the edges when it starts.
        if let Some(trace) = root.new_trace(&self.name, Default::default, std::iter::empty()) {
            extras.get_or_insert_default().trace = Some(trace);
        }
        let new = NewInterval {
            name: self.name,
            root: parent.root_address(),
            parent: Some(draft.parent.interval),
            extras,
            followed: self.followed.map(PointRef::interval),
            // The start waits for the draft, and the end for the body.
            dependencies: [1, 1],
        };
        let interval = Interval::<F, T>::create(new, body);
        // SAFETY: just created, and alive as long as the root.
        let header = unsafe { interval.as_ref() };
        for side in [Side::Start, Side::End] {
            header.point(side).enter_draft();
        }
        draft.indexes.insert(interval, draft.declared.len());
        draft.declared.push(interval);
        let edge = |(from, side)| (from, PointRef::new(interval, side));
        draft.edges.extend(self.edges.iter().map(edge));
        // SAFETY: the results of the interval are of type `T`. It is alive as long as its root.
        unsafe { Handle::new(interval) }
    }
}

impl<'g, 'env> Draft<'_, 'g, 'env> {
    /// Declares an interval. Its body runs after the draft has [started](Self::start), and never if
    /// the draft is dropped before.
    ///
    /// [`Builder::declare_in`] does so with locks, a place, or edges to the end.
    ///
    /// # Examples
    /// See [`Draft`].
    pub fn declare<F, T>(&mut self, name: impl Into<Cow<'static, str>>, body: F) -> Handle<'g, T>
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        self.parent.interval(name).declare_in(self, body)
    }

    /// Adds an edge: a point, or the end of an interval, will occur before the start of a declared
    /// interval. The point may be of another declared interval, or of any interval inside of the
    /// one that has made the draft.
    ///
    /// # Panics
    /// If `then` is not declared in this draft, or has been started.
    ///
    /// # Examples
    /// See [`Draft`].
    #[track_caller]
    pub fn connect<T>(&mut self, first: impl Into<Point<'g>>, then: Handle<'g, T>) {
        let edge = self.edge(first.into(), then);
        self.edges.push(edge);
    }

    /// Removes an edge that [`connect`](Self::connect) has added. Returns true if there was one.
    ///
    /// # Panics
    /// If `then` is not declared in this draft, or has been started.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals::{self as intervals, Refusal};
    ///
    /// intervals::run("root", |root| {
    ///     let mut draft = root.draft();
    ///     let [one, other] = ["one", "other"].map(|name| draft.declare(name, |_| ()));
    ///     draft.connect(one, other);
    ///     draft.connect(other, one);
    ///     assert!(matches!(draft.start(), Err(Refusal::Cycle { .. })));
    ///     assert!(draft.disconnect(other, one));
    ///     draft.start()
    /// })??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn disconnect<T>(&mut self, first: impl Into<Point<'g>>, then: Handle<'g, T>) -> bool {
        let edge = self.edge(first.into(), then);
        let before = self.edges.len();
        self.edges.retain(|known| *known != edge);
        self.edges.len() < before
    }

    #[track_caller]
    fn edge<T>(&self, first: Point<'g>, then: Handle<'g, T>) -> (PointRef, PointRef) {
        let to = then.start().point;
        // SAFETY: alive during `'g`.
        let name = || unsafe { to.header() }.name();
        let is_declared = self.indexes.contains_key(&to.interval());
        assert!(is_declared, "`{}` is not declared in this draft, or was started", name());
        (first.point, to)
    }

    /// Starts all declared intervals: each runs after those that it is connected to. The draft is
    /// empty then.
    ///
    /// The call takes time in proportion to the number of intervals and edges.
    ///
    /// # Errors
    /// - [`Refusal::Cycle`] if intervals wait for each other. It names all of them.
    /// - [`Refusal::IntoDraft`] if an edge leads from a point outside of the interval that has made
    ///   the draft, which has not occurred yet.
    /// - [`Refusal::NotStarted`] if an edge leads from an interval of another draft.
    /// - Another [`Refusal`] if a rule of [locks](crate::IntervalLock) is broken. If it is not an
    ///   edge that breaks it, this draft never starts.
    ///
    /// Then no interval has started, and the draft is as before. After an error about an edge,
    /// [remove](Self::disconnect) the edge and start again.
    ///
    /// # Examples
    /// ```
    /// use locksley_intervals as intervals;
    ///
    /// let cycle = intervals::run("build", |root| {
    ///     let mut draft = root.draft();
    ///     let compile = draft.declare("compile", |_| unreachable!());
    ///     let link = draft.declare("link", |_| unreachable!());
    ///     let test = draft.declare("test", |_| unreachable!());
    ///     draft.connect(test, compile);
    ///     draft.connect(link, test);
    ///     draft.connect(compile, link);
    ///     draft.start()
    /// })?;
    /// assert_eq!(
    ///     cycle.unwrap_err().to_string(),
    ///     "an edge from the end of `test` to the start of `compile` would close the cycle \
    ///      `compile -> link -> test -> compile`"
    /// );
    /// # Ok::<(), intervals::IntervalCancelled>(())
    /// ```
    pub fn start(&mut self) -> Result<(), Refusal> {
        self.check()?;
        self.indexes.clear();
        let (declared, edges) = (mem::take(&mut self.declared), mem::take(&mut self.edges));
        // SAFETY: declared intervals are alive as long as the root.
        let headers = || declared.iter().map(|interval| unsafe { interval.as_ref() });
        let parent = self.parent.header();
        for (interval, header) in declared.iter().zip(headers()) {
            // The end of the parent waits for the end of each.
            parent.end.add_dependency();
            if let (Some(mut log), Some(mut own)) = (parent.log(), header.log()) {
                own.number = log.children.len();
                log.children.push(*interval);
            }
            if let Some(trace) = header.trace() {
                trace.add_stamp(Side::Start, parent.root().current_stamp());
            }
        }
        Worker::with_current(|worker| {
            for (from, to) in edges {
                // SAFETY: all points are of one root, and the body of the parent runs. The edges
                // were checked.
                unsafe { link(from, to, worker) };
            }
            // All edges into the draft are complete before code outside of it can add any from it.
            for header in headers() {
                for side in [Side::Start, Side::End] {
                    header.point(side).leave_draft();
                }
            }
            for interval in &declared {
                // SAFETY: the body of the parent runs, and the root waits for it.
                unsafe {
                    Occurrence::arrive(PointRef::start(*interval), Outcome::Succeeded, worker);
                }
            }
        });
        Ok(())
    }

    /// Refuses what the rules in `README.md` forbid.
    fn check(&self) -> Result<(), Refusal> {
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        let node = |point: PointRef| {
            let index = self.indexes.get(&point.interval())?;
            Some(2 * index + point.side() as usize)
        };
        let mut successors = vec![Vec::new(); 2 * self.declared.len()];
        // From the start of each interval to its end.
        successors.iter_mut().enumerate().step_by(2).for_each(|(start, next)| next.push(start + 1));
        for &(from, to) in &self.edges {
            // SAFETY: all points are of one root, and the body of the parent runs.
            unsafe { self.check_edge(from, to) }?;
            if let (Some(from), Some(to)) = (node(from), node(to)) {
                successors[from].push(to);
            }
        }
        let Some(mut cycle) = order::find_cycle(&successors) else { return Ok(()) };
        // The last edge, from the last node to the first, is one of the draft: it does not lead
        // from a start to the end of the same interval.
        if cycle[0] % 2 == 1 && cycle.last() == Some(&(cycle[0] - 1)) {
            cycle.rotate_right(1);
        }
        let point = |node: usize| {
            let side = if node % 2 == 0 { Side::Start } else { Side::End };
            PointRef::new(self.declared[node / 2], side)
        };
        let path: Vec<_> = cycle.into_iter().map(point).collect();
        // SAFETY: as above.
        Err(unsafe { edges::cycle(path[path.len() - 1], path[0], &path) })
    }

    /// Refuses an edge from outside of the parent, from another draft, or into a holder of locks.
    ///
    /// # Safety
    /// Both are of the root of the parent, and the body of the parent runs.
    unsafe fn check_edge(&self, from: PointRef, to: PointRef) -> Result<(), Refusal> {
        let parent = self.parent.interval;
        // SAFETY: alive, as the root is.
        if unsafe { from.state() }.outcome().is_some() {
            return Ok(());
        }
        if !self.indexes.contains_key(&from.interval()) {
            // SAFETY: as above.
            unsafe { edges::check_started([from]) }?;
            // SAFETY: as above.
            let is_inside = unsafe { order::is_within(from.interval(), parent) };
            if !is_inside || from.interval() == parent {
                // SAFETY: as above.
                return Err(unsafe { self.refuse_from_outside(from, to) });
            }
        }
        // SAFETY: as above.
        unsafe { edges::check_holder(from, to) }
    }

    /// The refusal of an edge from a point outside of the parent, or from the end of the parent.
    ///
    /// # Safety
    /// As for [`check_edge`](Self::check_edge).
    unsafe fn refuse_from_outside(&self, from: PointRef, to: PointRef) -> Refusal {
        let end_of_parent = PointRef::end(self.parent.interval);
        // SAFETY: alive, as the root is. The end of the parent waits for its body.
        if let Some(path) = unsafe { order::path(end_of_parent, from, Edges::All) } {
            // SAFETY: as above.
            return unsafe { edges::cycle(from, to, &path) };
        }
        // SAFETY: as above.
        let [from, to] = [from, to].map(|point| unsafe { point.describe() });
        Refusal::IntoDraft { from, to, parent: self.parent.header().name().into() }
    }
}

/// Adds an edge of a draft that starts.
///
/// # Safety
/// All are of one root, which is alive. The target is in the draft, and its guard or its body has
/// not arrived. The source is in the draft, or in none.
unsafe fn link(from: PointRef, to: PointRef, worker: Option<&Worker>) {
    // SAFETY: alive, as the root is.
    let header = unsafe { to.header() };
    // SAFETY: as above.
    let source = unsafe { from.state() };
    if let Some(mut log) = header.log() {
        log.sources.push((from, to.side()));
    }
    header.point(to.side()).add_dependency();
    let edge = header.new_edge();
    if source.is_in_draft() {
        // SAFETY: the edge is new, and alive as long as the root. The draft belongs to the caller.
        unsafe { source.add_draft_edge(edge, to.0) };
    } else {
        // SAFETY: the edge is new, and alive as long as the root.
        unsafe { edges::link_one(edge, from, to, false, worker) };
    }
}

impl Drop for Draft<'_, '_, '_> {
    fn drop(&mut self) {
        for &interval in &self.declared {
            // SAFETY: alive, as the root is. Its start never occurs, so that no worker gets its
            // job.
            unsafe { interval::abandon(interval) };
        }
    }
}

impl fmt::Debug for Draft<'_, '_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: alive, as the root is.
        let name = |interval: &NonNull<Header>| unsafe { interval.as_ref() }.name().to_owned();
        f.debug_tuple("Draft").field(&self.declared.iter().map(name).collect::<Vec<_>>()).finish()
    }
}
