//! Static partitioning: threads with a share each, which are made for each computation.

use std::collections::BTreeMap;

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
