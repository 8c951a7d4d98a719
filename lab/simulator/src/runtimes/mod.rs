//! What computes: runtimes by name.

mod classic;
mod directed;
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

use crate::adversaries::{self, set_working};
use crate::computation::{Computation, Knary};

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
    /// In virtual nanoseconds: the mean of all computations.
    pub time: u64,
    /// When the first of them began, and the last one ended.
    pub stretch: Stretch,
    /// What the runtime counts.
    pub counters: BTreeMap<&'static str, f64>,
}

/// Beginning and end.
pub type Stretch = (Instant, Instant);

/// Workers that have started. Each method returns how many leaves, items or tasks were done.
pub trait Crew: Sync {
    /// A balanced tree of joins.
    fn tree(&self, leaves: u64, leaf: u64) -> u64;
    /// Hood's tree. `None` if it is not written for the runtime.
    fn knary(&self, _shape: Knary) -> Option<u64> {
        None
    }
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
    set_working(true);
    os::work(Duration::from_nanos(nanos));
    set_working(false);
}

impl Runtime {
    /// Starts the workers.
    ///
    /// # Errors
    /// If they cannot be started.
    fn start(&self, workers: usize) -> Result<Box<dyn Crew>, String> {
        Ok(match self {
            Self::Locksley => Box::new(locksley::start(workers)?),
            #[cfg(feature = "rayon")]
            Self::Rayon => Box::new(rayon::start(workers)?),
            #[cfg(not(feature = "rayon"))]
            Self::Rayon => {
                return Err("lab/simulator/peers/build makes a program with rayon".to_owned());
            }
            Self::Classic(name) => Box::new(classic::start(name, workers)?),
            Self::Static => Box::new(static_team::Teams { workers }),
            Self::Serial => Box::new(static_team::Teams { workers: 1 }),
        })
    }

    /// Starts the workers, warms them up, and measures the computation, which is repeated for at
    /// least so many nanoseconds.
    ///
    /// # Errors
    /// If the workers cannot be started, if the runtime has no such computation, or if the answer
    /// is wrong.
    pub fn measure(
        &self,
        workers: usize,
        computation: Computation,
        least: u64,
    ) -> Result<Measured, String> {
        let crew = self.start(workers)?;
        warm_up(&*crew, if *self == Self::Serial { 1 } else { workers })?;
        adversaries::begin();
        let before = crew.counters();
        let (start, mut computations) = (Instant::now(), 0);
        while computations == 0 || (start.elapsed().as_nanos() as u64) < least {
            compute(&*crew, computation)?;
            computations += 1;
        }
        let end = Instant::now();
        let mut counters = crew.counters();
        for (name, value) in &mut counters {
            *value -= before.get(name).copied().unwrap_or(0.0);
        }
        let time = (end - start).as_nanos() as u64 / computations;
        Ok(Measured { time, stretch: (start, end), counters })
    }

    /// Computes without an end, and notes when each computation began and ended.
    ///
    /// # Errors
    /// As [`measure`](Self::measure).
    pub fn repeat(
        &self,
        workers: usize,
        computation: Computation,
        mut note: impl FnMut(Stretch),
    ) -> Result<(), String> {
        let crew = self.start(workers)?;
        warm_up(&*crew, workers)?;
        loop {
            let start = Instant::now();
            compute(&*crew, computation)?;
            note((start, Instant::now()));
        }
    }
}

/// How long each worker computes before the measurement, and the leaves of that, in nanoseconds.
const WARM_UP: u64 = 60_000_000;
const WARM_LEAF: u64 = 20_000;

/// The kernel spreads the threads of a new pool over the processors within some ticks.
fn warm_up(crew: &dyn Crew, workers: usize) -> Result<(), String> {
    let warm = WARM_UP / WARM_LEAF * workers as u64;
    check("leaves", crew.tree(warm, WARM_LEAF), warm)
}

fn check(what: &str, done: u64, wanted: u64) -> Result<(), String> {
    if done == wanted {
        Ok(())
    } else {
        Err(format!("wrong: {done} {what}, where there are {wanted}"))
    }
}

/// Does a computation once, and checks the answer.
fn compute(crew: &dyn Crew, computation: Computation) -> Result<(), String> {
    match computation {
        Computation::Tree { leaves, leaf } => check("leaves", crew.tree(leaves, leaf), leaves),
        Computation::Knary(shape) => {
            check("nodes", crew.knary(shape).ok_or("this runtime has no knary")?, shape.nodes())
        }
        Computation::Scatter { processes, rounds, message } => {
            let done = crew.scatter(processes, rounds, message);
            check("answers", done.ok_or("this runtime has no channels")?, processes * rounds)
        }
        Computation::Loop { items, item } => check("items", crew.for_each(items, item), items),
        Computation::Rounds { rounds, serial, chunks, chunk } => {
            let done = crew.rounds(rounds, serial, chunks, chunk);
            check("chunks", done, rounds * chunks)
        }
        Computation::Producer { tasks, task } => check("tasks", crew.produce(tasks, task), tasks),
        Computation::Storm { bursts, tasks, task, pause } => {
            for _ in 0..bursts {
                thread::sleep(Duration::from_nanos(pause));
                check("tasks", crew.for_each(tasks, task), tasks)?;
            }
            Ok(())
        }
        Computation::Callers { threads, calls, work } => {
            let done = thread::scope(|scope| {
                let call = || (0..calls).map(|_| crew.call(work)).sum::<u64>();
                let callers: Vec<_> = (0..threads).map(|_| scope.spawn(call)).collect();
                callers.into_iter().map(|it| it.join().unwrap_or(0)).sum()
            });
            check("calls", done, threads * calls)
        }
        Computation::Idle { time } => {
            thread::sleep(Duration::from_nanos(time));
            Ok(())
        }
    }
}
