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
    /// The other point lies there as long as this one is used.
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
