//! How long paths are, and where they meet.

use super::course::{Course, Part, Rest};
use super::furthest::Furthest;
use super::site::Site;
use crate::primitive::{AtomicI64, Ordering};

/// How long the longest path to some moment is, in ticks of a clock, from where its region began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    /// What strands took.
    pub(crate) span: i64,
    /// The same, where each edge to or from a task that could be stolen costs something. It may be another path.
    pub(crate) burdened: i64,
    /// Through which places the longest path runs.
    pub(crate) course: Course,
}

impl Path {
    /// The longer of two, at a moment that comes after both.
    pub(crate) fn meet(self, other: Self) -> Self {
        let burdened = self.burdened.max(other.burdened);
        let longer = if other.span > self.span { other } else { self };
        Self { burdened, ..longer }
    }

    /// As it goes on at that place.
    pub(crate) fn at(mut self, site: Option<Site>) -> Self {
        self.course.turn_to(site);
        self
    }

    /// Where it ends.
    pub(crate) fn site(&self) -> Option<Site> {
        self.course.here().site
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
    /// That of the longest.
    course: Furthest,
}

/// Nobody has arrived.
const NEVER: i64 = i64::MIN;

impl Meeting {
    pub(crate) fn new() -> Self {
        let (span, burdened) = (AtomicI64::new(NEVER), AtomicI64::new(NEVER));
        Self { span, burdened, course: Furthest::new() }
    }

    pub(crate) fn arrive(&self, path: &Path) {
        if raise(&self.span, path.span) {
            self.course.arrive(path.span, &path.course);
        }
        raise(&self.burdened, path.burdened);
    }

    /// The longest path of those that have arrived; `None` if there is none. While others arrive its course may not be known: then all of it is at a place
    /// that is not known.
    pub(crate) fn latest(&self) -> Option<Path> {
        let span = self.span.load(Ordering::Relaxed);
        if span == NEVER {
            return None;
        }
        let burdened = self.burdened.load(Ordering::Relaxed);
        let unknown = || Course::of(Part { site: None, ticks: span }, Rest::default());
        let (its, course) = self.course.longest().unwrap_or_else(|| (span, unknown()));
        // Another one may have arrived since.
        Some(Path { span: span.max(its), burdened, course })
    }
}

/// Says whether it was lower.
fn raise(latest: &AtomicI64, to: i64) -> bool {
    // Looked at first, since most paths are not the longest.
    // Relaxed: whoever asks for the latest has learnt by something that orders that those it waits for have arrived.
    latest.load(Ordering::Relaxed) < to && latest.fetch_max(to, Ordering::Relaxed) < to
}
