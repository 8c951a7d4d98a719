//! Which tasks lie where nobody touches them: what a lookout looks for.

use crate::pool::Shared;

/// What lay in the deques when a lookout began its nap.
#[derive(Debug)]
pub(super) struct Untouched {
    marks: Vec<Option<(i64, i64)>>,
}

impl Untouched {
    pub(super) fn new(workers: usize) -> Self {
        Self { marks: Vec::with_capacity(workers) }
    }

    pub(super) fn note(&mut self, shared: &Shared) {
        self.marks.clear();
        self.marks.extend((0..shared.workers()).map(|worker| shared.seat(worker).marks()));
    }

    /// A worker whose deque holds tasks and is as it was. One that cannot be told to have changed counts as the same.
    pub(super) fn find(&self, shared: &Shared) -> Option<usize> {
        self.marks.iter().enumerate().find_map(|(worker, &marks)| {
            let seat = shared.seat(worker);
            (!seat.is_empty() && seat.marks() == marks).then_some(worker)
        })
    }
}
