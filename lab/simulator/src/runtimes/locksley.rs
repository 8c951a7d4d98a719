//! Locksley's pool, with its defaults.

use std::collections::BTreeMap;

use locksley::{Pool, Worker, loops};
use manycore::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Crew, Padded, work};

/// Starts a pool.
pub fn start(workers: usize) -> Result<Pool, String> {
    Pool::new(workers).map_err(|error| error.to_string())
}

impl Crew for Pool {
    fn tree(&self, leaves: u64, leaf: u64) -> u64 {
        self.install(|worker| tree(worker, leaves, leaf))
    }

    fn for_each(&self, items: u64, item: u64) -> u64 {
        self.install(|_| loops::par(0..items as usize).for_each(|_| work(item)));
        items
    }

    fn rounds(&self, rounds: u64, serial: u64, chunks: u64, chunk: u64) -> u64 {
        let round = |worker: &Worker| {
            work(serial);
            tree(worker, chunks, chunk)
        };
        self.install(|worker| (0..rounds).map(|_| round(worker)).sum())
    }

    fn produce(&self, tasks: u64, task: u64) -> u64 {
        let done = Padded(AtomicU64::new(0));
        self.install(|_| {
            locksley::scope(|scope| {
                for _ in 0..tasks {
                    scope.spawn(|_| {
                        work(task);
                        // The count is shared by all: it costs each runtime the same.
                        done.0.fetch_add(1, Relaxed);
                    });
                }
            });
        });
        done.0.into_inner()
    }

    fn call(&self, nanos: u64) -> u64 {
        self.install(|_| work(nanos));
        1
    }

    fn counters(&self) -> BTreeMap<&'static str, f64> {
        let total = self.stats().total();
        let seconds = |time: std::time::Duration| time.as_secs_f64();
        BTreeMap::from([
            ("steals", total.steals as f64),
            ("failed steals", total.failed_steals as f64),
            ("yields", total.yields as f64),
            ("sleeps", total.sleeps as f64),
            ("working", seconds(total.working)),
            ("searching", seconds(total.searching)),
            ("sleeping", seconds(total.sleeping)),
        ])
    }
}

fn tree(worker: &Worker, leaves: u64, leaf: u64) -> u64 {
    if leaves == 1 {
        work(leaf);
        return 1;
    }
    let half = leaves / 2;
    let (left, right) =
        worker.join(|worker| tree(worker, half, leaf), |worker| tree(worker, leaves - half, leaf));
    left + right
}
