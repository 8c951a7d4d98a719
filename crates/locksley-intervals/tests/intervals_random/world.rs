//! The oracle: what is known of each interval, and the transitive closure of all edges.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use locksley_intervals::{IntervalLock, Side};

pub(crate) const MOST: usize = 48;
pub(crate) const LOCKS: usize = 3;

/// A point: the number of its interval, and its side.
pub(crate) type Spot = (usize, Side);

/// What is known of an interval after the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) parent: Option<usize>,
    pub(crate) locks: Vec<usize>,
    /// True if it was not refused.
    pub(crate) is_made: bool,
    pub(crate) panics: bool,
    /// The place that was set, and the place where it ran.
    pub(crate) near: Option<usize>,
    pub(crate) ran_at: Option<usize>,
}

/// The data of the oracle. Interval 0 is the root.
pub(crate) struct World {
    pub(crate) clock: AtomicU64,
    /// When each body began and ended, or 0.
    pub(crate) begun: Vec<AtomicU64>,
    pub(crate) ended: Vec<AtomicU64>,
    pub(crate) made: AtomicUsize,
    pub(crate) known: Mutex<Vec<Known>>,
    pub(crate) edges: Mutex<Vec<(Spot, Spot)>>,
    pub(crate) locks: [IntervalLock<u64>; LOCKS],
    /// One of this many bodies panics; none if 0.
    pub(crate) panics: usize,
    /// True if bodies run one at a time, so that the oracle knows which edges are refused.
    pub(crate) is_exact: bool,
    pub(crate) refused: AtomicUsize,
    /// The number of places of the pool.
    pub(crate) places: usize,
}

impl World {
    pub(crate) fn new(panics: usize, is_exact: bool, places: usize) -> Self {
        let stamps = || (0..MOST).map(|_| AtomicU64::new(0)).collect();
        Self {
            clock: AtomicU64::new(1),
            begun: stamps(),
            ended: stamps(),
            made: AtomicUsize::new(1),
            known: Mutex::new(vec![Known::default(); MOST]),
            edges: Mutex::default(),
            locks: [(); LOCKS].map(|()| IntervalLock::new(0)),
            panics,
            is_exact,
            refused: AtomicUsize::new(0),
            places,
        }
    }

    pub(crate) fn stamp(&self, on: &AtomicU64) {
        let now = self.clock.fetch_add(1, Ordering::AcqRel);
        assert_eq!(on.swap(now, Ordering::AcqRel), 0, "a body runs once");
    }

    pub(crate) fn is_within(&self, number: usize, ancestor: usize) -> bool {
        let known = self.known.lock().unwrap();
        let mut next = Some(number);
        while let Some(number) = next {
            if number == ancestor {
                return true;
            }
            next = known[number].parent;
        }
        false
    }

    /// Returns a point and all points that come after it.
    pub(crate) fn after(&self, from: Spot) -> HashSet<Spot> {
        let (known, edges) = (self.known.lock().unwrap(), self.edges.lock().unwrap());
        let mut seen = HashSet::new();
        let mut open = vec![from];
        while let Some(spot @ (number, side)) = open.pop() {
            if !seen.insert(spot) {
                continue;
            }
            match side {
                Side::Start => {
                    open.push((number, Side::End));
                    let is_child = |child: &usize| {
                        known[*child].is_made && known[*child].parent == Some(number)
                    };
                    open.extend((0..MOST).filter(is_child).map(|child| (child, Side::Start)));
                }
                Side::End => open.extend(known[number].parent.map(|parent| (parent, Side::End))),
            }
            open.extend(edges.iter().filter(|(from, _)| *from == spot).map(|&(_, to)| to));
        }
        seen
    }

    /// Returns the interval that holds locks when the point occurs, if there is one.
    pub(crate) fn holder(&self, (number, side): Spot) -> Option<usize> {
        let known = self.known.lock().unwrap();
        let mut next = match side {
            Side::Start => known[number].parent,
            Side::End => Some(number),
        };
        while let Some(number) = next {
            if !known[number].locks.is_empty() {
                return Some(number);
            }
            next = known[number].parent;
        }
        None
    }
}

/// Compares which bodies ran, and when, with the oracle.
pub(crate) fn judge(world: &World) {
    let known = world.known.lock().unwrap().clone();
    let begun = |number: usize| world.begun[number].load(Ordering::Acquire);
    let ended = |number: usize| world.ended[number].load(Ordering::Acquire);
    let mut failed = HashSet::new();
    for number in (1..MOST).filter(|&number| known[number].panics) {
        failed.extend(world.after((number, Side::End)));
    }
    for number in (1..MOST).filter(|&number| known[number].is_made) {
        let runs = !failed.contains(&(number, Side::Start));
        assert_eq!(begun(number) != 0, runs, "{number} of {known:?}");
        assert_eq!(ended(number) != 0, runs, "{number}");
    }
    for (number, known) in known.iter().enumerate() {
        if begun(number) == 0 {
            continue;
        }
        if let Some(parent) = known.parent {
            assert!(begun(parent) < begun(number), "{number} begins after its parent");
        }
        for (later, side) in world.after((number, Side::End)) {
            if side == Side::Start && begun(later) != 0 {
                assert!(ended(number) < begun(later), "{later} begins after {number}");
            }
        }
    }
    // Locks are held until all descendants have ended.
    let last_inside = |number: usize| {
        (0..MOST).filter(|&inner| world.is_within(inner, number)).map(ended).max().unwrap()
    };
    for lock in 0..LOCKS {
        let users = (1..MOST).filter(|&user| known[user].locks.contains(&lock) && begun(user) != 0);
        let mut spans: Vec<_> = users.map(|user| (begun(user), last_inside(user))).collect();
        spans.sort_unstable();
        assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0), "one at a time: {spans:?}");
    }
}
