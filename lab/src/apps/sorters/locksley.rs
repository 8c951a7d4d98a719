//! Fork-join on an explicit Locksley worker. The forking worker goes on with the left half and
//! merges both, so it is where the left one was sorted in any case; the right half goes to its
//! place where that is another one. So there is no worst placement.

use std::ops::Range;

use locksley::Worker;

use super::{Division, halves, merged, sorted};

/// All sorted by a pool of so many places, beginning at that of this worker.
pub(super) fn sort(worker: &Worker, division: &Division, input: &[u32], places: usize) -> Vec<u32> {
    Sort { division, input, first: worker.place(), places }.run(worker, division.all())
}

struct Sort<'i> {
    division: &'i Division,
    input: &'i [u32],
    /// The place of the first sorter: that of the first worker.
    first: usize,
    places: usize,
}

impl Sort<'_> {
    fn run(&self, worker: &Worker, sorters: Range<usize>) -> Vec<u32> {
        let Some([left, right]) = halves(&sorters) else {
            return sorted(self.division.part(self.input, sorters.start));
        };
        let [from, to] = [left.start, right.start].map(|sorter| self.place(sorter));
        let sort_left = |worker: &Worker| self.run(worker, left);
        let sort_right = |worker: &Worker| self.run(worker, right);
        let (left, right) = match to {
            Some(place) if from != to => worker.join_near(place, sort_left, sort_right),
            _ => worker.join(sort_left, sort_right),
        };
        merged(&left, &right)
    }

    fn place(&self, sorter: usize) -> Option<usize> {
        let Division { placement, sorters, .. } = self.division;
        let place = placement.of_sorter(sorter, *sorters, self.places)?;
        Some((place + self.first) % self.places)
    }
}
