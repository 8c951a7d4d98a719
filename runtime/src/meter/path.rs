//! How long paths are, and where they meet.

use std::sync::atomic::{AtomicI64, Ordering};

/// How long the longest path to some moment is, in ticks of a clock, from where its region began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    /// What strands took.
    pub(crate) span: i64,
    /// The same, where each edge to or from a task that could be stolen costs something. It may be another path.
    pub(crate) burdened: i64,
}

impl Path {
    /// The longer of two, at a moment that comes after both.
    pub(crate) fn meet(self, other: Self) -> Self {
        Self { span: self.span.max(other.span), burdened: self.burdened.max(other.burdened) }
    }

    /// Along an edge that costs so much if it is one between workers.
    pub(crate) fn along(self, burden: i64) -> Self {
        Self { burdened: self.burdened + burden, ..self }
    }
}

/// Where paths meet whose ends are on different workers: the longest of those that have arrived.
#[derive(Debug)]
pub(crate) struct Meeting {
    span: AtomicI64,
    burdened: AtomicI64,
}

/// Nobody has arrived.
const NEVER: i64 = i64::MIN;

impl Meeting {
    pub(crate) fn new() -> Self {
        Self { span: AtomicI64::new(NEVER), burdened: AtomicI64::new(NEVER) }
    }

    pub(crate) fn arrive(&self, path: Path) {
        raise(&self.span, path.span);
        raise(&self.burdened, path.burdened);
    }

    /// The longest path of those that have arrived; `None` if there is none.
    pub(crate) fn latest(&self) -> Option<Path> {
        let path = Path {
            span: self.span.load(Ordering::Relaxed),
            burdened: self.burdened.load(Ordering::Relaxed),
        };
        (path.span != NEVER).then_some(path)
    }
}

fn raise(latest: &AtomicI64, to: i64) {
    // Looked at first, since most paths are not the longest.
    // Relaxed: whoever asks for the latest has learnt by something that orders that those it waits for have arrived.
    if latest.load(Ordering::Relaxed) < to {
        latest.fetch_max(to, Ordering::Relaxed);
    }
}
