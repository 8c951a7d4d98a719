//! What computes: runtimes by name.

mod classic;
mod locksley;
#[cfg(feature = "rayon")]
mod rayon;
mod static_team;

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use manycore::sync::atomic::AtomicU64;
use manycore::time::Instant;
use manycore::{os, thread};

use crate::computation::Computation;

/// A runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runtime {
    Locksley,
    Rayon,
    Classic(String),
    Static,
    Serial,
}

impl FromStr for Runtime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "locksley" => Ok(Self::Locksley),
            "rayon" => Ok(Self::Rayon),
            "static" => Ok(Self::Static),
            "serial" => Ok(Self::Serial),
            _ if classic::exists(text) => Ok(Self::Classic(text.to_owned())),
            _ => {
                let classic = classic::names();
                Err(format!(
                    "unknown runtime '{text}'; there are locksley, rayon, static, serial, {classic}"
                ))
            }
        }
    }
}

/// What a computation took.
#[derive(Debug)]
pub struct Measured {
    /// In virtual nanoseconds.
    pub time: u64,
    /// What the runtime counts.
    pub counters: BTreeMap<&'static str, f64>,
}

/// Workers that have started. Each method returns how many leaves, items or tasks were done.
pub trait Crew: Sync {
    /// A balanced tree of joins.
    fn tree(&self, leaves: u64, leaf: u64) -> u64;
    /// Nornir's network. `None` if the runtime has no channels.
    fn scatter(&self, _processes: u64, _rounds: u64, _message: u64) -> Option<u64> {
        None
    }
    /// A parallel loop.
    fn for_each(&self, items: u64, item: u64) -> u64;
    /// A serial part and then a tree of joins, again and again, in one call.
    fn rounds(&self, rounds: u64, serial: u64, chunks: u64, chunk: u64) -> u64;
    /// One task starts all others.
    fn produce(&self, tasks: u64, task: u64) -> u64;
    /// A short call from a thread outside.
    fn call(&self, work: u64) -> u64;
    /// Counters since the start.
    fn counters(&self) -> BTreeMap<&'static str, f64>;
}

/// A count of what is done, alone in its line.
#[repr(align(128))]
struct Padded(AtomicU64);

/// Computes for that many nanoseconds.
pub fn work(nanos: u64) {
    os::work(Duration::from_nanos(nanos));
}

impl Runtime {
    /// Starts the workers, warms them up, and measures the computation.
    ///
    /// # Errors
    /// If the workers cannot be started, if the runtime has no such computation, or if the answer
    /// is wrong.
    pub fn measure(&self, workers: usize, computation: Computation) -> Result<Measured, String> {
        match self {
            Self::Locksley => measure(&locksley::start(workers)?, workers, computation),
            #[cfg(feature = "rayon")]
            Self::Rayon => measure(&rayon::start(workers)?, workers, computation),
            #[cfg(not(feature = "rayon"))]
            Self::Rayon => Err("lab/simulator/peers/build makes a program with rayon".to_owned()),
            Self::Classic(name) => measure(&classic::start(name, workers)?, workers, computation),
            Self::Static => measure(&static_team::Teams { workers }, workers, computation),
            Self::Serial => measure(&static_team::Teams { workers: 1 }, 1, computation),
        }
    }
}

/// How long each worker computes before the measurement, and the leaves of that, in nanoseconds.
const WARM_UP: u64 = 60_000_000;
const WARM_LEAF: u64 = 20_000;

fn measure(crew: &dyn Crew, workers: usize, computation: Computation) -> Result<Measured, String> {
    let check = |what: &str, done: u64, wanted: u64| {
        if done == wanted {
            Ok(())
        } else {
            Err(format!("wrong: {done} {what}, where there are {wanted}"))
        }
    };
    // The kernel spreads the threads of a new pool over the processors within some ticks.
    let warm = WARM_UP / WARM_LEAF * workers as u64;
    check("leaves", crew.tree(warm, WARM_LEAF), warm)?;
    let before = crew.counters();
    let start = Instant::now();
    match computation {
        Computation::Tree { leaves, leaf } => check("leaves", crew.tree(leaves, leaf), leaves)?,
        Computation::Scatter { processes, rounds, message } => {
            let done = crew.scatter(processes, rounds, message);
            check("answers", done.ok_or("this runtime has no channels")?, processes * rounds)?;
        }
        Computation::Loop { items, item } => check("items", crew.for_each(items, item), items)?,
        Computation::Rounds { rounds, serial, chunks, chunk } => {
            let done = crew.rounds(rounds, serial, chunks, chunk);
            check("chunks", done, rounds * chunks)?;
        }
        Computation::Producer { tasks, task } => check("tasks", crew.produce(tasks, task), tasks)?,
        Computation::Storm { bursts, tasks, task, pause } => {
            for _ in 0..bursts {
                thread::sleep(Duration::from_nanos(pause));
                check("tasks", crew.for_each(tasks, task), tasks)?;
            }
        }
        Computation::Callers { threads, calls, work } => {
            let done = thread::scope(|scope| {
                let call = || (0..calls).map(|_| crew.call(work)).sum::<u64>();
                let callers: Vec<_> = (0..threads).map(|_| scope.spawn(call)).collect();
                callers.into_iter().map(|it| it.join().unwrap_or(0)).sum()
            });
            check("calls", done, threads * calls)?;
        }
        Computation::Idle { time } => thread::sleep(Duration::from_nanos(time)),
    }
    let time = start.elapsed().as_nanos() as u64;
    let mut counters = crew.counters();
    for (name, value) in &mut counters {
        *value -= before.get(name).copied().unwrap_or(0.0);
    }
    Ok(Measured { time, counters })
}
