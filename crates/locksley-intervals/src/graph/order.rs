//! What comes before what: the questions that decide whether an edge is refused.

use std::collections::HashSet;
use std::ptr::NonNull;

use crate::graph::interval::{At, Header, Side};

/// Whether `interval` is `ancestor`, or was made inside of it.
///
/// # Safety
/// Both are alive.
pub(crate) unsafe fn is_within(interval: NonNull<Header>, ancestor: NonNull<Header>) -> bool {
    let mut next = Some(interval);
    while let Some(interval) = next {
        if interval == ancestor {
            return true;
        }
        // SAFETY: an interval's ancestors are alive as long as it is.
        next = unsafe { interval.as_ref() }.parent;
    }
    false
}

/// The edges that a search follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edges {
    /// Those that will stay.
    Certain,
    /// Those too that may yet be withdrawn.
    All,
}

/// Whether `goal` is `from`, or comes after it: by edges, from a start to its end, and from an end
/// to its parent's end.
///
/// # Safety
/// The root is alive, and `from` does not occur meanwhile; so nothing does that comes after it.
pub(crate) unsafe fn reaches(from: At, goal: At, edges: Edges) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if at == goal {
            return true;
        }
        if !seen.insert(at) {
            continue;
        }
        // SAFETY: alive, as the root is.
        let header = unsafe { at.header() };
        match at.side() {
            Side::Start => open.push(At::end(at.interval())),
            Side::End => open.extend(header.parent.map(At::end)),
        }
        // SAFETY: edges are alive as long as the root.
        let targets = unsafe { header.point(at.side()).peek(edges == Edges::All) };
        open.extend(targets.map(At::from_word));
    }
    false
}
