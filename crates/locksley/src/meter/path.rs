//! How long paths are, and where they meet.

use super::course::{Course, Part, Rest};
use super::furthest::Furthest;
use super::site::Site;
use super::stay::Length;
use crate::primitive::{AtomicI64, Ordering, spin_loop};

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

/// Who has a course in hand copies some hundred bytes. This is enough for several who do so one after the other, and not for one who is held up.
const LOOKS: u32 = 200;

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

    /// Whether any has arrived that is longer in either way: then who goes on after those, and has come along such a path, looks for it.
    pub(crate) fn is_longer_than(&self, own: Length) -> bool {
        // Relaxed, both, as below.
        let order = Ordering::Relaxed;
        self.span.load(order) > own.span || self.burdened.load(order) > own.burdened
    }

    /// The path of who goes on after those that have arrived, and has come here along `own`; `None` if that is no shorter in either way. Several may look here
    /// at once, and each has the course in hand for a moment: so only those take it whose own is shorter, and if they do not find it, they look again.
    pub(crate) fn longer_than(&self, own: &Path) -> Option<Path> {
        // If nobody has arrived, both are less than any.
        if self.span.load(Ordering::Relaxed) > own.span {
            return self.latest_in(LOOKS).map(|latest| own.meet(latest));
        }
        let burdened = self.burdened.load(Ordering::Relaxed);
        (burdened > own.burdened).then_some(Path { burdened, ..*own })
    }

    /// The longest path of those that have arrived; `None` if there is none. While others arrive its course may not be known: then all of it is at a place
    /// that is not known.
    pub(crate) fn latest(&self) -> Option<Path> {
        self.latest_in(1)
    }

    /// The same, if the course is looked for so many times at most.
    fn latest_in(&self, looks: u32) -> Option<Path> {
        let span = self.span.load(Ordering::Relaxed);
        if span == NEVER {
            return None;
        }
        let burdened = self.burdened.load(Ordering::Relaxed);
        let unknown = || Course::of(Part { site: None, ticks: span }, Rest::default());
        let look = |looked: u32| {
            if looked > 0 {
                spin_loop();
            }
            // One that is shorter is another path's: somebody has the longest in hand.
            self.course.longest().filter(|(its, _)| *its >= span || looked + 1 == looks)
        };
        let (its, course) = (0..looks).find_map(look).unwrap_or_else(|| (span, unknown()));
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::primitive::stepped::{self, Gate};

    /// So long, all of it at that place.
    fn path(span: i64, burdened: i64, site: Option<Site>) -> Path {
        Path { span, burdened, course: Course::of(Part { site, ticks: span }, Rest::default()) }
    }

    /// Each on a line of its own.
    #[rustfmt::skip]
    fn sites() -> [Option<Site>; 2] {
        [
            Some(Site::here()),
            Some(Site::here()),
        ]
    }

    /// Each of the two lengths is the longer one, and the course is that of the longer path.
    #[test]
    fn who_goes_on_has_what_is_longer() {
        let (meeting, [own, there]) = (Meeting::new(), sites());
        assert_eq!(meeting.longer_than(&path(1, 1, own)), None, "nobody is there");
        meeting.arrive(&path(10, 30, there));
        for (span, burdened, expected) in [
            (10, 30, None),
            (11, 31, None),
            (10, 20, Some(path(10, 30, own))),
            (5, 40, Some(path(10, 40, there))),
            (5, 20, Some(path(10, 30, there))),
        ] {
            assert_eq!(meeting.longer_than(&path(span, burdened, own)), expected);
        }
    }

    /// Another one is held, wherever, also with the course in hand: the lengths are known, and the course where it is the own one.
    #[test]
    fn who_goes_on_waits_for_nobody() {
        let [own, there] = sites();
        let mut was_unknown = false;
        for steps in 0.. {
            let (meeting, gate) = (Meeting::new(), std::sync::Arc::new(Gate::default()));
            meeting.arrive(&path(10, 30, there));
            let was_held = std::thread::scope(|scope| {
                scope.spawn(|| {
                    stepped::arm(steps, &gate);
                    let latest = meeting.latest();
                    stepped::disarm();
                    assert_eq!(latest, Some(path(10, 30, there)));
                });
                let was_held = gate.wait_until_held();
                let found = meeting.longer_than(&path(10, 20, own));
                let longer = meeting.longer_than(&path(5, 40, own)).expect("it is longer");
                gate.open();
                assert_eq!(found, Some(path(10, 30, own)));
                let is_unknown = longer.site().is_none();
                assert_eq!(longer, path(10, 40, there.filter(|_| !is_unknown)));
                was_unknown |= is_unknown;
                was_held
            });
            if !was_held {
                break;
            }
        }
        assert!(was_unknown, "nobody was held with the course in hand");
    }
}
