//! The papers' schedulers.

use std::collections::BTreeMap;

use locksley_classic::stealing::{Abp, Bws, Hood, Naive};
use locksley_classic::{Context, Count, Machine, Scheduler, Stealing};

use super::{Crew, work};

type Named = (&'static str, fn() -> Scheduler);

const ALL: [Named; 4] = [
    ("classic-hood", || with(Hood)),
    ("classic-abp", || with(Abp)),
    ("classic-bws", || with(Bws::default())),
    ("classic-naive", || with(Naive)),
];

fn with(stealing: impl Stealing + 'static) -> Scheduler {
    Scheduler { stealing: Box::new(stealing), stack_bytes: 64 << 10, ..Scheduler::default() }
}

/// All names, with commas between them.
pub fn names() -> String {
    ALL.map(|(name, _)| name).join(", ")
}

/// Whether there is a scheduler of that name.
pub fn exists(name: &str) -> bool {
    ALL.iter().any(|(known, _)| *known == name)
}

/// A machine of one of the papers' schedulers.
pub struct Classic(Machine);

/// Starts its workers.
pub fn start(name: &str, workers: usize) -> Result<Classic, String> {
    let scheduler = ALL.iter().find(|(known, _)| *known == name).expect("it exists").1;
    // SAFETY: threads hold numbers and references to what is `Sync` while they wait, and no
    // reference to a thread-local value. The deques are the crate's own.
    let machine = unsafe { Machine::start(workers, scheduler()) };
    machine.map(Classic).map_err(|error| error.to_string())
}

impl Crew for Classic {
    fn tree(&self, leaves: u64, leaf: u64) -> u64 {
        self.0.run(move |context| tree(context, leaves, leaf))
    }

    fn for_each(&self, items: u64, item: u64) -> u64 {
        // The papers have no loops: they are trees.
        self.tree(items.max(1), item);
        items
    }

    fn rounds(&self, rounds: u64, serial: u64, chunks: u64, chunk: u64) -> u64 {
        let round = move |context: &Context<'_>| {
            work(serial);
            tree(context, chunks, chunk)
        };
        self.0.run(move |context| (0..rounds).map(|_| round(context)).sum())
    }

    fn produce(&self, tasks: u64, task: u64) -> u64 {
        self.tree(tasks.max(1), task);
        tasks
    }

    fn call(&self, nanos: u64) -> u64 {
        self.0.run(move |_| work(nanos));
        1
    }

    fn counters(&self) -> BTreeMap<&'static str, f64> {
        let total = |count| self.0.count(count) as f64;
        BTreeMap::from([
            ("steals", total(Count::Steals)),
            ("failed steals", total(Count::FailedSteals)),
            ("yields", total(Count::Yields)),
            ("sleeps", total(Count::Sleeps)),
            ("searching", total(Count::SearchNanos) / 1e9),
        ])
    }
}

fn tree(context: &Context<'_>, leaves: u64, leaf: u64) -> u64 {
    if leaves == 1 {
        work(leaf);
        return 1;
    }
    let half = leaves / 2;
    let (left, right) = context
        .join(|context| tree(context, half, leaf), |context| tree(context, leaves - half, leaf));
    left + right
}
