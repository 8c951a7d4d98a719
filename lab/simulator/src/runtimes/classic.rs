//! The papers' schedulers.

use std::collections::BTreeMap;

use locksley_classic::deque::{BlockingLock, Deque, Locked};
use locksley_classic::stealing::{Abp, Bws, Hood, Naive, Nornir};
use locksley_classic::{Context, Count, Machine, Placement, Ready, Scheduler, Stealing, channel};
use manycore::os;

use super::{Crew, work};

type Named = (&'static str, fn(usize) -> Scheduler);

/// By name, for a number of workers.
const ALL: [Named; 6] = [
    ("classic-hood", |_| with(Hood)),
    ("classic-abp", |_| with(Abp)),
    ("classic-bws", |_| with(Bws::default())),
    ("classic-naive", |_| with(Naive)),
    ("nornir-last", |workers| nornir(workers, Placement::Last)),
    ("nornir-cur", |workers| nornir(workers, Placement::Current)),
];

fn with(stealing: impl Stealing + 'static) -> Scheduler {
    Scheduler { stealing: Box::new(stealing), stack_bytes: 64 << 10, ..Scheduler::default() }
}

/// Run-queues behind mutexes, and workers bound to a processor each, if there are as many.
fn nornir(workers: usize, placement: Placement) -> Scheduler {
    let bound = if workers <= os::processors() { workers } else { 0 };
    let processors = (0..bound).map(|cpu| vec![cpu]).collect();
    Scheduler { deque: blocking, placement, processors, ..with(Nornir) }
}

fn blocking() -> Box<dyn Deque<Ready>> {
    Box::new(Locked::<Ready, BlockingLock>::new())
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
    // SAFETY: threads hold numbers, ends of channels and references to what is `Sync` while they
    // wait, and no reference to a thread-local value. Each channel is used on one machine. The
    // deques are the crate's own.
    let machine = unsafe { Machine::start(workers, scheduler(workers)) };
    machine.map(Classic).map_err(|error| error.to_string())
}

impl Crew for Classic {
    fn tree(&self, leaves: u64, leaf: u64) -> u64 {
        self.0.run(move |context| tree(context, leaves, leaf))
    }

    fn scatter(&self, processes: u64, rounds: u64, message: u64) -> Option<u64> {
        Some(self.0.run(move |context| scatter(context, processes, rounds, message)))
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

/// Nornir's network. Returns the number of right answers.
fn scatter(context: &Context<'_>, processes: u64, rounds: u64, message: u64) -> u64 {
    let start = |_| {
        let (to, mut todo) = channel::<u64>(1);
        let (mut done, from) = channel::<u64>(1);
        context.create(move |context| {
            for _ in 0..rounds {
                let number = todo.receive(context);
                work(message);
                done.send(context, number + 1);
            }
        });
        (to, from)
    };
    let (mut messages, mut answers): (Vec<_>, Vec<_>) = (0..processes).map(start).unzip();
    let mut round = |number| {
        messages.iter_mut().for_each(|message| message.send(context, number));
        let received = answers.iter_mut().map(|answer| answer.receive(context));
        received.filter(|&answer| answer == number + 1).count() as u64
    };
    (0..rounds).map(&mut round).sum()
}
