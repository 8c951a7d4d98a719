//! Static partitioning: threads with a share each, which are made for each computation.

use std::collections::BTreeMap;

use manycore::sync::Barrier;
use manycore::thread;

use super::{Crew, work};

/// Makes a team for each computation.
pub struct Teams {
    pub workers: usize,
}

impl Crew for Teams {
    fn tree(&self, leaves: u64, leaf: u64) -> u64 {
        self.for_each(leaves, leaf)
    }

    fn for_each(&self, items: u64, item: u64) -> u64 {
        let workers = self.workers as u64;
        let share = |index: u64| items / workers + u64::from(index < items % workers);
        let run = move |index: u64| {
            work(share(index) * item);
            share(index)
        };
        thread::scope(|scope| {
            let others: Vec<_> =
                (1..workers).map(|index| scope.spawn(move || run(index))).collect();
            run(0) + others.into_iter().map(|it| it.join().unwrap_or(0)).sum::<u64>()
        })
    }

    /// The threads are made once, and meet at a barrier after each part.
    fn rounds(&self, rounds: u64, serial: u64, chunks: u64, chunk: u64) -> u64 {
        let workers = self.workers as u64;
        let all = Barrier::new(self.workers);
        let run = |index: u64| {
            let share = chunks / workers + u64::from(index < chunks % workers);
            for _ in 0..rounds {
                if serial > 0 {
                    if index == 0 {
                        work(serial);
                    }
                    all.wait();
                }
                work(share * chunk);
                all.wait();
            }
            rounds * share
        };
        let run = &run;
        thread::scope(|scope| {
            let others: Vec<_> =
                (1..workers).map(|index| scope.spawn(move || run(index))).collect();
            run(0) + others.into_iter().map(|it| it.join().unwrap_or(0)).sum::<u64>()
        })
    }

    fn produce(&self, tasks: u64, task: u64) -> u64 {
        self.for_each(tasks, task)
    }

    fn call(&self, nanos: u64) -> u64 {
        work(nanos);
        1
    }

    fn counters(&self) -> BTreeMap<&'static str, f64> {
        BTreeMap::new()
    }
}
