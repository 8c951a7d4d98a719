//! Adding edges, and the rules that refuse them.
//!
//! An interval has two *points*: its start and its end. A point *occurs* once, after all of its
//! dependencies have *arrived*. The *holder* of an interval is the interval that holds locks while
//! it runs: itself or an ancestor. A *refusal* is the error for an edge that the rules in
//! `README.md` forbid.

use std::ptr::NonNull;

use locksley::Worker;

use crate::graph::interval::{Header, PointRef};
use crate::graph::occurrence::Occurrence;
use crate::graph::order;
use crate::graph::point::{Edge, Edges, Outcome, Side};
use crate::graph::refusal::Refusal;
use crate::graph::trace::pass_stamp;

/// The edges into a new interval: the source of each, and the side that it leads to. Two are stored
/// inline, because most intervals have few.
#[derive(Debug, Default)]
pub(crate) struct IncomingEdges {
    /// The number of edges to the start, and to the end.
    pub(crate) counts: [usize; 2],
    inline: [Option<(PointRef, Side)>; 2],
    overflow: Vec<(PointRef, Side)>,
}

impl IncomingEdges {
    #[inline]
    pub(crate) fn push(&mut self, from: PointRef, into: Side) {
        match self.inline.get_mut(self.counts[0] + self.counts[1]) {
            Some(slot) => *slot = Some((from, into)),
            None => self.overflow.push((from, into)),
        }
        self.counts[into as usize] += 1;
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PointRef, Side)> {
        self.inline.iter().flatten().chain(&self.overflow).copied()
    }
}

/// Adds the edges into a new interval.
///
/// # Safety
/// The root is alive, and the body of the parent runs. If an edge may be refused, the start has a
/// guard, which has not arrived. Otherwise the start may occur during this call.
#[inline]
pub(crate) unsafe fn link(
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
        if is_inside {
            continue;
        }
        // SAFETY: the root is alive. The end of the parent does not occur before its body has
        // ended.
        if let Some(path) = unsafe { order::path(PointRef::end(parent), from, Edges::All) } {
            for edge in linked {
                // It does not matter if a source has occurred: the interval never starts.
                let _ = edge.withdraw();
            }
            // SAFETY: alive, as the root is.
            return Err(unsafe { cycle(from, to, &path) });
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
pub(crate) unsafe fn link_one(
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
pub(crate) unsafe fn add_late_edge(
    running: NonNull<Header>,
    from: PointRef,
    to: PointRef,
) -> Result<(), Refusal> {
    // SAFETY: alive, as the root is.
    unsafe { check_started([from, to]) }?;
    // SAFETY: as above.
    let header = unsafe { to.header() };
    // SAFETY: as above.
    let encloses = to.side() == Side::End && unsafe { order::is_within(running, to.interval()) };
    // SAFETY: as above. The end of `running` waits for the body. Only confirmed edges keep `to`
    // from occurring.
    let path_to = || unsafe { order::path(PointRef::end(running), to, Edges::Confirmed) };
    if !encloses && path_to().is_none() {
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
            match unsafe { order::path(to, from, Edges::All) } {
                Some(path) if edge.withdraw() => {
                    let occurred = target.arrive(Outcome::Succeeded);
                    debug_assert!(occurred.is_none(), "the target waits for the body");
                    // SAFETY: as above.
                    return Err(unsafe { cycle(from, to, &path) });
                }
                _ => edge.confirm(),
            }
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
pub(crate) unsafe fn check_holder(from: PointRef, to: PointRef) -> Result<(), Refusal> {
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

/// Refuses edges from or to a point in a draft that has not started.
///
/// # Safety
/// All are alive.
#[inline]
pub(crate) unsafe fn check_started(
    points: impl IntoIterator<Item = PointRef>,
) -> Result<(), Refusal> {
    // SAFETY: as the caller promises.
    let in_draft = points.into_iter().find(|point| unsafe { point.state() }.is_in_draft());
    // SAFETY: as above.
    let name = in_draft.map(|point| unsafe { point.header() }.name().to_owned());
    name.map_or(Ok(()), |interval| Err(Refusal::NotStarted { interval }))
}

/// The refusal of an edge that would close a cycle: `path` leads to its source, from its target or
/// from a point that waits for the target.
///
/// # Safety
/// All are alive.
#[cold]
pub(crate) unsafe fn cycle(from: PointRef, to: PointRef, path: &[PointRef]) -> Refusal {
    let mut intervals = vec![to.interval()];
    intervals.extend(path.iter().map(|point| point.interval()));
    // The start and the end of an interval are one step of the path.
    intervals.dedup();
    intervals.push(to.interval());
    // SAFETY: as the caller promises.
    let name = |interval: NonNull<Header>| unsafe { interval.as_ref() }.name().to_owned();
    // SAFETY: as the caller promises.
    let [from, to] = [from, to].map(|point| unsafe { point.describe() });
    Refusal::Cycle { from, to, path: intervals.into_iter().map(name).collect() }
}
