//! Rayon, of whose sources `peers/build` makes a copy that runs here.

use std::collections::BTreeMap;

use manycore::sync::atomic::{AtomicU64, Ordering::Relaxed};
use rayon::prelude::*;
use rayon_core::{ThreadPool, ThreadPoolBuilder, join};

use super::{Crew, Padded, work};

/// A pool, and as large stacks as computations need: each frame of a tree may steal.
pub fn start(workers: usize) -> Result<ThreadPool, String> {
    let builder = ThreadPoolBuilder::new().num_threads(workers).stack_size(1 << 20);
    builder.build().map_err(|error| error.to_string())
}

impl Crew for ThreadPool {
    fn tree(&self, leaves: u64, leaf: u64) -> u64 {
        self.install(|| tree(leaves, leaf))
    }

    fn for_each(&self, items: u64, item: u64) -> u64 {
        self.install(|| (0..items as usize).into_par_iter().for_each(|_| work(item)));
        items
    }

    fn rounds(&self, rounds: u64, serial: u64, chunks: u64, chunk: u64) -> u64 {
        let round = || {
            work(serial);
            tree(chunks, chunk)
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

fn tree(leaves: u64, leaf: u64) -> u64 {
    if leaves == 1 {
        work(leaf);
        return 1;
    }
    let half = leaves / 2;
    let (left, right) = join(|| tree(half, leaf), || tree(leaves - half, leaf));
    left + right
}
