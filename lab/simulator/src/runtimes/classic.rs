//! The papers' schedulers.

use std::collections::BTreeMap;

use locksley_classic::deque::{AbpArray, BlockingLock, Deque, Locked, SpinningLock};
use locksley_classic::stealing::{
    Abp, BusyWakes, Bws, Delayed, GlobalInformation, Hood, Lassi, Naive, Nornir, Selective,
};
use locksley_classic::{
    Context, Count, Machine, Placement, Queues, Ready, Scheduler, Stealing, channel,
};
use manycore::os;

use super::directed::Directed;
use super::{Crew, work};
use crate::computation::Knary;

type Named = (&'static str, fn(usize) -> Scheduler);

/// By name, for a number of workers.
const ALL: [Named; 18] = [
    ("classic-hood", |_| with(Hood)),
    ("classic-abp", |_| with(Abp)),
    ("classic-bws", |_| with(Bws::default())),
    ("classic-bws-kernel", |_| with(Directed::default())),
    ("classic-busy-wakes", |_| with(BusyWakes)),
    ("classic-global", |_| with(GlobalInformation::default())),
    ("classic-delayed", |_| with(Delayed)),
    ("classic-selective", |_| with(Selective)),
    ("classic-naive", |_| with(Naive)),
    ("classic-spinlock", |_| Scheduler { deque: spinning, ..with(Naive) }),
    ("classic-blocking", |_| Scheduler { deque: blocking, ..with(Naive) }),
    ("nornir-last", |workers| nornir(workers, Placement::Last)),
    ("nornir-cur", |workers| nornir(workers, Placement::Current)),
    ("lassi-workers", |workers| lassi(workers, blocking, None)),
    ("lassi-spinning", |workers| lassi(workers, spinning, None)),
    ("lassi-array", |workers| lassi(workers, || Box::new(AbpArray::new()), None)),
    ("lassi-places", |workers| lassi(workers, blocking, Some(WORKERS_OF_A_PLACE))),
    ("lassi-queue", |workers| lassi(workers, blocking, Some(workers))),
];

/// LASSI's study has up to so many. The clusters of the model milan have as many cores.
const WORKERS_OF_A_PLACE: usize = 8;

fn with(stealing: impl Stealing + 'static) -> Scheduler {
    Scheduler { stealing: Box::new(stealing), stack_bytes: 64 << 10, ..Scheduler::default() }
}

fn spinning() -> Box<dyn Deque<Ready>> {
    Box::new(Locked::<Ready, SpinningLock>::new())
}

fn blocking() -> Box<dyn Deque<Ready>> {
    Box::new(Locked::<Ready, BlockingLock>::new())
}

/// Run-queues behind mutexes, and workers bound to a processor each, if there are as many.
fn nornir(workers: usize, placement: Placement) -> Scheduler {
    let bound = if workers <= os::processors() { workers } else { 0 };
    let processors = (0..bound).map(|cpu| vec![cpu]).collect();
    Scheduler { deque: blocking, placement, processors, ..with(Nornir) }
}

/// LASSI's thieves, with a queue for each worker, or for so many of them. The workers of a place
/// are bound to its processors, if there are as many.
fn lassi(
    workers: usize,
    deque: fn() -> Box<dyn Deque<Ready>>,
    workers_of_a_queue: Option<usize>,
) -> Scheduler {
    let place = |worker: usize| worker / WORKERS_OF_A_PLACE * WORKERS_OF_A_PLACE;
    let processors = |worker: usize| (place(worker)..place(worker) + WORKERS_OF_A_PLACE).collect();
    let is_bound = workers == os::processors() && workers.is_multiple_of(WORKERS_OF_A_PLACE);
    let bound = if is_bound { workers } else { 0 };
    let queues = workers_of_a_queue.map_or(Queues::OfWorkers, |number| {
        Queues::OfPlaces((0..workers).map(|worker| worker / number).collect())
    });
    Scheduler { deque, queues, processors: (0..bound).map(processors).collect(), ..with(Lassi) }
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

    fn knary(&self, shape: Knary) -> Option<u64> {
        Some(self.0.run(move |context| knary(context, shape)))
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

/// Hood's benchmark. Returns the number of nodes.
fn knary(context: &Context<'_>, shape: Knary) -> u64 {
    work(shape.node);
    if shape.height == 1 {
        return 1;
    }
    let below = Knary { height: shape.height - 1, ..shape };
    let serial: u64 = (0..shape.serial).map(|_| knary(context, below)).sum();
    1 + serial + children(context, below, shape.degree - shape.serial)
}

/// So many trees in parallel.
fn children(context: &Context<'_>, shape: Knary, count: u64) -> u64 {
    match count {
        0 => 0,
        1 => knary(context, shape),
        _ => {
            let half = count / 2;
            let (left, right) = context.join(
                |context| children(context, shape, half),
                |context| children(context, shape, count - half),
            );
            left + right
        }
    }
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
