//! Paths to points: moments at which something occurs that others wait for, in a graph.

use std::ptr;

use crate::meter::Path;
use crate::primitive::{AtomicI64, AtomicPtr, Ordering, UnsafeCell};

/// The longest path to a point: until it occurs, of those that have come; then it is known, and does not change.
///
/// The protocol is that of the point: who brings something is counted there, the last has it occur, and who learns that it has occurred sees what
/// was done before that. All points of a graph lie there as long as it does. So a path is noted where it comes from, once, and the points that it goes on
/// to refer to that: none is copied along an edge, and what others have noted is not changed any more.
#[derive(Debug)]
pub(crate) struct PointPath {
    /// Noted [here](Self::note).
    own: Noted,
    /// The longest of those that have [arrived](Self::arrive); null if none has.
    longest: AtomicPtr<Noted>,
    /// The longest of these with what edges cost. It may be another one.
    burdened: AtomicI64,
}

/// Written once, before anybody reads it.
#[derive(Debug)]
struct Noted(UnsafeCell<Option<Path>>);

// SAFETY: the cell is written once, by who is about to be counted at its point, and read by those alone who know that the point has occurred.
unsafe impl Send for PointPath {}
// SAFETY: as above.
unsafe impl Sync for PointPath {}

/// The path to a point that has occurred.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'p> {
    /// A path is there.
    noted: &'p Noted,
    burdened: i64,
}

impl PointPath {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        let (longest, burdened) = (AtomicPtr::new(ptr::null_mut()), AtomicI64::new(i64::MIN));
        Self { own: Noted(UnsafeCell::new(None)), longest, burdened }
    }

    /// Something comes that the point waits for, at the end of a path of its own. To be said before the point may learn that it has come.
    ///
    /// # Safety
    /// This is said of one thing that the point waits for, once.
    pub(crate) unsafe fn note(&self, path: Path) {
        // SAFETY: nobody else writes it, and nobody looks before the point has occurred.
        self.own.0.with_mut(|own| unsafe { *own = Some(path) });
    }

    /// Something comes that the point waits for, after another point. To be said before the point may learn that it has come.
    ///
    /// # Safety
    /// What that point, or one that it refers to, has noted lies there as long as this one is used.
    pub(crate) unsafe fn arrive(&self, path: Known<'_>) {
        // Relaxed: who reads it has learnt by the point that those have come who have said this before.
        let order = Ordering::Relaxed;
        if self.burdened.load(order) < path.burdened {
            self.burdened.fetch_max(path.burdened, order);
        }
        // Acquire pairs with the release below: what is noted there is seen.
        let mut there = self.longest.load(Ordering::Acquire);
        // SAFETY: null, or put here below; and it lies there as long as this.
        while unsafe { there.as_ref() }.is_none_or(|there| there.span() < path.noted.span()) {
            let new = ptr::from_ref(path.noted).cast_mut();
            // Each failure is another one's success, with a longer path than before.
            let put = Ordering::Release;
            match self.longest.compare_exchange(there, new, put, Ordering::Acquire) {
                Ok(_) => return,
                Err(other) => there = other,
            }
        }
    }

    /// The path to it, if any has come that is known.
    ///
    /// # Safety
    /// It has occurred, and the caller has seen that; or the caller is about to have it occur.
    pub(crate) unsafe fn longest(&self) -> Option<Known<'_>> {
        // Relaxed, both: all that has come was counted after it had been put here.
        let order = Ordering::Relaxed;
        // SAFETY: null, or put here by `arrive`; and it lies there as long as this.
        let longest = unsafe { self.longest.load(order).as_ref() };
        // SAFETY: it was written before that, if at all, and is not written any more.
        let own = self.own.0.with(|own| unsafe { &*own }.as_ref());
        let burdened = self.burdened.load(order);
        match (own, longest) {
            (None, None) => None,
            (Some(path), Some(longest)) if path.span < longest.span() => {
                Some(Known { noted: longest, burdened: burdened.max(path.burdened) })
            }
            (Some(path), _) => {
                Some(Known { noted: &self.own, burdened: burdened.max(path.burdened) })
            }
            (None, Some(noted)) => Some(Known { noted, burdened }),
        }
    }
}

impl Noted {
    /// That of a point that has occurred, to which a path has come.
    fn path(&self) -> &Path {
        // SAFETY: it was written before that, and is not written any more.
        let path = self.0.with(|path| unsafe { &*path }.as_ref());
        path.expect("it is known")
    }

    fn span(&self) -> i64 {
        self.path().span
    }
}

impl Known<'_> {
    pub(crate) fn path(self) -> Path {
        Path { burdened: self.burdened, ..*self.noted.path() }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::meter::Site;

    fn path(span: i64, burdened: i64, site: Option<Site>) -> Path {
        let path = Path { burdened, ..Path::default() }.at(site);
        Path { span, ..path }
    }

    /// A point that has occurred when that had come to it.
    fn point(path: Path) -> PointPath {
        let point = PointPath::new();
        // SAFETY: it waits for this, and for nothing else.
        unsafe { point.note(path) };
        point
    }

    fn longest(point: &PointPath) -> Option<Path> {
        // SAFETY: all that comes has come.
        unsafe { point.longest() }.map(Known::path)
    }

    #[test]
    fn nothing_has_come_that_is_known() {
        assert_eq!(longest(&PointPath::new()), None);
    }

    /// Whatever comes, in whatever order, and along however many edges: of each length the longest is known, and the places are those of the longest path.
    #[test]
    fn the_longest_of_what_has_come_is_known() {
        let mut random = 7_u64;
        let mut below = |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % n
        };
        let sites = [None, Some(Site::here()), Some(Site::of::<fn()>())];
        for _ in 0..500 {
            // Each comes after some of those before it. The lengths differ: of two that are alike either would be right.
            let mut points: Vec<(Box<PointPath>, Option<Path>)> = Vec::new();
            for number in 0..1 + below(8) as usize {
                let (point, mut expected) = (Box::new(PointPath::new()), None::<Path>);
                if below(3) > 0 {
                    let site = sites[below(3) as usize];
                    let own =
                        path((below(100) * 8) as i64 + number as i64, below(100) as i64, site);
                    // SAFETY: it waits for this, and is not known yet.
                    unsafe { point.note(own) };
                    expected = Some(own);
                }
                for (source, its) in points.iter().filter(|_| below(2) > 0) {
                    // SAFETY: all that comes has come there.
                    let known = unsafe { source.longest() };
                    // SAFETY: all of them are there until the end of this round.
                    known.into_iter().for_each(|known| unsafe { point.arrive(known) });
                    expected = match (expected, *its) {
                        (Some(one), Some(other)) => Some(one.meet(other)),
                        (one, other) => one.or(other),
                    };
                }
                assert_eq!(longest(&point), expected);
                points.push((point, expected));
            }
        }
    }

    /// What is noted is where it was, not a copy of it.
    #[test]
    fn a_path_that_has_gone_along_many_edges_is_the_first_ones() {
        let first = point(path(9, 9, Some(Site::here())));
        let chain: Vec<_> = (0..5).map(|_| PointPath::new()).collect();
        let mut last = &first;
        for next in &chain {
            // SAFETY: it has occurred.
            let known = unsafe { last.longest() }.expect("it has come there");
            // SAFETY: all are there until the end.
            unsafe { next.arrive(known) };
            last = next;
        }
        // SAFETY: it has occurred.
        let known = unsafe { last.longest() }.expect("it has come there");
        assert!(ptr::eq(known.noted, &first.own));
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::countdown::Countdown;

    /// Three that come to a point along edges, and one that is noted there: the last of them finds the longest path, whole, whoever it was.
    #[test]
    fn loom_point_the_longest_path_of_those_that_arrive_at_once_is_found() {
        for (spans, own) in [([5, 7], 3), ([7, 5], 3), ([5, 7], 9), ([5, 5], 1)] {
            loom::model(move || {
                let all = Arc::new(([(); 3].map(|()| PointPath::new()), Countdown::new(2)));
                let comes = move |(points, missing): &([PointPath; 3], Countdown),
                                  number: usize| {
                    let [target, sources @ ..] = points;
                    let span = spans[number];
                    // SAFETY: its own source, which occurs herewith.
                    unsafe {
                        sources[number].note(Path { span, burdened: 10 - span, ..Path::default() })
                    };
                    if number == 0 {
                        // SAFETY: one of those that come notes it.
                        unsafe { target.note(Path { span: own, ..Path::default() }) };
                    }
                    // SAFETY: as above.
                    let known = unsafe { sources[number].longest() }.expect("it is noted");
                    // SAFETY: all are there until both have ended.
                    unsafe { target.arrive(known) };
                    let is_last = missing.end();
                    // SAFETY: all have come.
                    is_last.then(|| unsafe { target.longest() }.expect("they have come").path())
                };
                let there = all.clone();
                let other = thread::spawn(move || comes(&there, 1));
                let both = [comes(&all, 0), other.join().unwrap()];
                let found: Vec<_> = both.into_iter().flatten().collect();
                let [found] = found[..] else { panic!("one of them is the last") };
                let longest = own.max(spans[0]).max(spans[1]);
                let burdened = 10 - spans[0].min(spans[1]);
                assert_eq!((found.span, found.burdened), (longest, burdened));
            });
        }
    }
}
