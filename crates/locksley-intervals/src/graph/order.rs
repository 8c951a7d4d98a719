//! Reachability: which points come before which.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::iter;
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

/// Visits points in breadth-first order, each once. `visit` pushes the neighbours of a point, or
/// returns true to end the search. Then this returns the shortest path from `from` to that point.
fn search(
    from: PointRef,
    mut visit: impl FnMut(PointRef, &mut Vec<PointRef>) -> bool,
) -> Option<Vec<PointRef>> {
    let mut found_from = HashMap::from([(from, from)]);
    let (mut open, mut neighbours) = (VecDeque::from([from]), Vec::new());
    while let Some(point) = open.pop_front() {
        if visit(point, &mut neighbours) {
            let before = |point: &PointRef| (*point != from).then(|| found_from[point]);
            let mut path: Vec<_> = iter::successors(Some(point), before).collect();
            path.reverse();
            return Some(path);
        }
        for neighbour in neighbours.drain(..) {
            if let Entry::Vacant(entry) = found_from.entry(neighbour) {
                entry.insert(point);
                open.push_back(neighbour);
            }
        }
    }
    None
}

/// Returns the shortest path from `from` to `goal`, if there is one: by edges, from a start to its
/// end, and from an end to the end of the parent.
///
/// # Safety
/// The root is alive, and `from` does not occur during the call. So no point after it does.
pub(crate) unsafe fn path(from: PointRef, goal: PointRef, edges: Edges) -> Option<Vec<PointRef>> {
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

/// Returns the nodes of a cycle in its order, if there is one. Each node is the index of a list of
/// its successors.
pub(crate) fn find_cycle(successors: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        OnPath,
        Done,
    }
    let mut states = vec![State::New; successors.len()];
    for first in 0..successors.len() {
        // A depth-first search: the nodes of the path, with the number of successors visited.
        let mut path = Vec::new();
        if states[first] == State::New {
            states[first] = State::OnPath;
            path.push((first, 0));
        }
        while let Some((node, visited)) = path.last_mut() {
            let Some(&next) = successors[*node].get(*visited) else {
                states[*node] = State::Done;
                path.pop();
                continue;
            };
            *visited += 1;
            match states[next] {
                State::New => {
                    states[next] = State::OnPath;
                    path.push((next, 0));
                }
                State::OnPath => {
                    let nodes = path.into_iter().map(|(node, _)| node);
                    return Some(nodes.skip_while(|&node| node != next).collect());
                }
                State::Done => {}
            }
        }
    }
    None
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
    .is_some()
}
