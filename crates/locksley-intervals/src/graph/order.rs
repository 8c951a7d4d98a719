//! Reachability: which points come before which.

use std::collections::HashSet;
use std::ptr::NonNull;

use crate::graph::interval::{Header, PointRef};
use crate::graph::point::{Edges, Side};

/// Returns true if `interval` is `ancestor` or one of its descendants.
///
/// # Safety
/// Both are alive.
pub(crate) unsafe fn is_within(interval: NonNull<Header>, ancestor: NonNull<Header>) -> bool {
    let mut next = Some(interval);
    while let Some(interval) = next {
        if interval == ancestor {
            return true;
        }
        // SAFETY: the ancestors of an interval are alive as long as it is.
        next = unsafe { interval.as_ref() }.parent;
    }
    false
}

/// Visits points in depth-first order, each once. `visit` pushes the neighbours of a point, or
/// returns true to end the search, which then returns true.
fn search(from: PointRef, mut visit: impl FnMut(PointRef, &mut Vec<PointRef>) -> bool) -> bool {
    let (mut seen, mut open) = (HashSet::new(), vec![from]);
    while let Some(point) = open.pop() {
        if seen.insert(point) && visit(point, &mut open) {
            return true;
        }
    }
    false
}

/// Returns true if `goal` is `from` or comes after it, by edges, from a start to its end, and from
/// an end to the end of the parent.
///
/// # Safety
/// The root is alive, and `from` does not occur during the call. So no point after it does.
pub(crate) unsafe fn reaches(from: PointRef, goal: PointRef, edges: Edges) -> bool {
    search(from, |point, open| {
        // SAFETY: alive, as the root is.
        let header = unsafe { point.header() };
        match point.side() {
            Side::Start => open.push(PointRef::end(point.interval())),
            Side::End => open.extend(header.parent.map(PointRef::end)),
        }
        // SAFETY: edges are alive as long as the root.
        open.extend(unsafe { header.point(point.side()).successors(edges) }.map(PointRef));
        point == goal
    })
}

/// Returns true if the graph orders the start of `later` after `earlier`: a path leads back to the
/// end of `earlier`, or to the start of a child that `earlier` made after its first `children`
/// ones. The root has logs.
///
/// # Safety
/// Both are alive, and of one root.
pub(crate) unsafe fn is_ordered_after(
    later: NonNull<Header>,
    earlier: NonNull<Header>,
    children: usize,
) -> bool {
    search(PointRef::start(later), |point, open| {
        if point == PointRef::end(earlier) {
            return true;
        }
        // SAFETY: alive, as the root is.
        let header = unsafe { point.header() };
        let Some(log) = header.log() else { return false };
        match point.side() {
            Side::Start => {
                if header.parent == Some(earlier) && log.number >= children {
                    return true;
                }
                open.extend(header.parent.map(PointRef::start));
            }
            Side::End => {
                open.push(PointRef::start(point.interval()));
                // The end of a refused child never occurs, and its edges order nothing.
                // SAFETY: children are alive as long as their parent.
                let has_ended = |end: &PointRef| unsafe { end.state() }.outcome().is_some();
                let ends = log.children.iter().copied().map(PointRef::end);
                open.extend(ends.filter(has_ended));
            }
        }
        let sources = log.sources.iter().filter(|(_, side)| *side == point.side());
        open.extend(sources.map(|&(from, _)| from));
        false
    })
}
