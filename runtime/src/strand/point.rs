//! Paths to points: moments at which something occurs that others wait for, in a graph.

use crate::meter::{Meeting, Path};
use crate::primitive::UnsafeCell;

/// The longest path to a point: until it occurs, of those that have come; then it is known, and does not change.
///
/// The protocol is that of the point: who brings something is counted there, the last has it occur, and who learns that it has occurred sees what
/// was done before that. So the path is noted once, by who is alone, and then read by all.
#[derive(Debug)]
pub(crate) struct PointPath {
    before: Meeting,
    longest: UnsafeCell<Option<Path>>,
}

// SAFETY: the cell is written once, before the point occurs, and read by those alone who know that it has.
unsafe impl Send for PointPath {}
// SAFETY: as above.
unsafe impl Sync for PointPath {}

impl PointPath {
    pub(crate) fn new() -> Self {
        Self { before: Meeting::new(), longest: UnsafeCell::new(None) }
    }

    /// Something comes that the point waits for, at the end of that path. To be said before the point may learn that it has come.
    pub(crate) fn arrive(&self, path: Path) {
        self.before.arrive(&path);
    }

    /// All has come, and the point is about to occur. The path to it, if any has come that is known.
    ///
    /// # Safety
    /// The caller has it occur, after this; nobody else does.
    pub(crate) unsafe fn occurs(&self) -> Option<&Path> {
        let longest = self.before.latest();
        // SAFETY: nobody looks before it has occurred, and nobody else has it occur.
        self.longest.with_mut(|known| unsafe { *known = longest });
        // SAFETY: it occurs.
        unsafe { self.longest() }
    }

    /// The path to it.
    ///
    /// # Safety
    /// It has occurred, and the caller has seen that.
    pub(crate) unsafe fn longest(&self) -> Option<&Path> {
        // SAFETY: it was written before that, and is not written any more.
        self.longest.with(|longest| unsafe { &*longest }.as_ref())
    }
}
