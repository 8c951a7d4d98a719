//! Which tasks in a worker's deque a thread that waits for a stolen fork may run: the descendants
//! of that fork. `../fork/README.md` has the argument.

use crate::header::{Job, Theft};
use crate::primitive::{AtomicI64, Ordering};

/// The part of a worker's deque that waiting threads may steal from.
///
/// While the worker runs a stolen fork, each job in its deque descends from that fork which lies at
/// or above the position where the deque ended when the fork began, and below `unrelated_from`.
/// Nothing is known of the jobs at or above `unrelated_from`.
#[derive(Debug)]
pub(crate) struct Lineage {
    /// From this position on, jobs may be unrelated to the forks that the worker runs.
    unrelated_from: AtomicI64,
}

impl Lineage {
    pub(crate) fn new() -> Self {
        Self { unrelated_from: AtomicI64::new(i64::MAX) }
    }

    /// Only the worker calls this, and the methods that write.
    pub(crate) fn unrelated_from(&self) -> i64 {
        // Relaxed: a thread sees its own writes.
        self.unrelated_from.load(Ordering::Relaxed)
    }

    fn set(&self, unrelated_from: i64) {
        // Waiting threads poll the cache line, so that equal stores would cost them a transfer.
        if self.unrelated_from() != unrelated_from {
            // Release pairs with the acquire in `is_descendant`: a thread that sees that the rest
            // of the deque is related again, sees which forks have ended before. What is lowered is
            // published by the push of the unrelated task.
            self.unrelated_from.store(unrelated_from, Ordering::Release);
        }
    }

    /// Sets `unrelated_from` to infinity. The worker runs no fork, or all that was pushed there has
    /// left the deque.
    pub(crate) fn reset(&self) {
        self.set(i64::MAX);
    }

    /// Lowers `unrelated_from` to `position`, before a job is pushed there that may be unrelated,
    /// or an unrelated task begins, which pushes there.
    pub(crate) fn end_at(&self, position: i64) {
        self.set(self.unrelated_from().min(position));
    }

    /// True if the task at `position` descends from `fork`, for the thread that waits for it. A
    /// thief calls it after it has read that task, and before it takes it.
    pub(crate) fn is_descendant(&self, fork: &Job, theft: Theft, position: i64) -> bool {
        // In this order. Acquire pairs with the release in `set`.
        theft.covers(position)
            && position < self.unrelated_from.load(Ordering::Acquire)
            && !fork.latch().is_set()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::header::Kind;
    use crate::numbers::Slot;

    /// Not run.
    static FORK: Kind = Kind::of_group(|_, _, _| ());

    #[test]
    fn what_is_pushed_during_a_fork_descends_from_it() {
        let (lineage, fork) = (Lineage::new(), Job::of(&FORK));
        let descendants = || {
            let theft = fork.theft()?;
            Some((0..6).filter(|it| lineage.is_descendant(&fork, theft, *it)).collect::<Vec<_>>())
        };
        assert_eq!(descendants(), None, "nobody has stolen it");
        fork.mark_stolen(Slot::new(3), 2);
        assert_eq!(fork.theft().map(|theft| theft.thief), Some(Slot::new(3)));
        assert_eq!(descendants(), Some(vec![2, 3, 4, 5]));
        lineage.end_at(4);
        lineage.end_at(5);
        assert_eq!(descendants(), Some(vec![2, 3]));
        lineage.reset();
        assert_eq!(descendants(), Some(vec![2, 3, 4, 5]));
        lineage.end_at(1);
        assert_eq!(descendants(), Some(vec![]));
        lineage.reset();
        let theft = fork.theft().unwrap();
        fork.latch().set();
        assert!(!lineage.is_descendant(&fork, theft, 2), "it has ended");
        assert!(fork.theft().is_none());
    }

    /// The header keeps half of the position.
    #[test]
    fn positions_may_be_large() {
        let fork = Job::of(&FORK);
        for start in [(1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 40) + 5] {
            fork.mark_stolen(Slot::new(65_534), start);
            let theft = fork.theft().unwrap();
            assert_eq!(theft.thief, Slot::new(65_534));
            let is_above = [-2, -1, 0, 1, (1 << 31) - 1].map(|it| theft.covers(start + it));
            assert_eq!(is_above, [false, false, true, true, true], "{start}");
        }
    }
}
