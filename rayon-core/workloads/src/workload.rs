//! What a workload is, and all there are.

use crate::{collect, life, matmul, mergesort, nbody, quicksort, sieve, tsp};

/// Something to compute.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The size that is measured.
    pub(crate) size: usize,
    /// The largest that can be checked in reasonable time.
    pub(crate) most: usize,
    /// Makes the input.
    pub(crate) prepare: fn(usize, u64) -> Box<dyn Instance>,
}

/// An input, and then its answer.
pub(crate) trait Instance: Send {
    /// Computes. Called once, by a worker.
    fn run(&mut self);

    /// Checks the answer by other means than those that computed it, without rayon.
    fn is_correct(&self) -> bool;
}

pub(crate) const ALL: &[Workload] = &[
    quicksort::WORKLOAD,
    mergesort::WORKLOAD,
    matmul::WORKLOAD,
    nbody::WORKLOAD,
    sieve::WORKLOAD,
    life::WORKLOAD,
    tsp::WORKLOAD,
    collect::WORKLOAD,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of several sizes, the smallest too, on as many workers as processors; and no check is content with the input.
    #[test]
    fn all_are_correct_once_they_have_run() {
        for workload in ALL {
            for size in [1, 2, 3, 7, 12] {
                let mut instance = (workload.prepare)(size, 1998);
                assert!(size < 12 || !instance.is_correct(), "{} checks nothing", workload.name);
                instance.run();
                assert!(instance.is_correct(), "{} {size}", workload.name);
            }
        }
    }
}
