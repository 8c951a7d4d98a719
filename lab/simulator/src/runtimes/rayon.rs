//! Rayon, of whose sources `peers/build` makes a copy that runs here.

use std::collections::BTreeMap;

use manycore::sync::atomic::{AtomicU64, Ordering::Relaxed};
use rayon::prelude::*;
use rayon_core::{ThreadPool, ThreadPoolBuilder, join};

use super::forks::{Fork, knary, tree};
use super::{Crew, Padded, work};
use crate::computation::Knary;

/// A pool, and as large stacks as computations need: each frame of a tree may steal.
pub fn start(workers: usize) -> Result<ThreadPool, String> {
    let builder = ThreadPoolBuilder::new().num_threads(workers).stack_size(1 << 20);
    builder.build().map_err(|error| error.to_string())
}

impl Crew for ThreadPool {
    fn tree(&self, leaves: u64, leaf: u64) -> u64 {
        self.install(|| tree(&Joins, leaves, leaf))
    }

    fn knary(&self, shape: Knary) -> u64 {
        self.install(|| knary(&Joins, shape))
    }

    fn for_each(&self, items: u64, item: u64) -> u64 {
        self.install(|| (0..items as usize).into_par_iter().for_each(|_| work(item)));
        items
    }

    fn rounds(&self, rounds: u64, serial: u64, chunks: u64, chunk: u64) -> u64 {
        let round = || {
            work(serial);
            tree(&Joins, chunks, chunk)
        };
        self.install(|| (0..rounds).map(|_| round()).sum())
    }

    fn produce(&self, tasks: u64, task: u64) -> u64 {
        let done = Padded(AtomicU64::new(0));
        self.scope(|scope| {
            for _ in 0..tasks {
                scope.spawn(|_| {
                    work(task);
                    done.0.fetch_add(1, Relaxed);
                });
            }
        });
        done.0.into_inner()
    }

    fn call(&self, nanos: u64) -> u64 {
        self.install(|| work(nanos));
        1
    }

    fn counters(&self) -> BTreeMap<&'static str, f64> {
        BTreeMap::new()
    }
}

/// Forks on the pool of the calling worker.
struct Joins;

impl Fork for Joins {
    fn fork(
        &self,
        one: impl FnOnce(&Self) -> u64 + Send,
        other: impl FnOnce(&Self) -> u64 + Send,
    ) -> u64 {
        let (one, other) = join(|| one(&Joins), || other(&Joins));
        one + other
    }
}
