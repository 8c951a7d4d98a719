//! A cluster in virtual time: how a bag scales to many ranks.
//!
//! Each rank is the code that ships, from [`Ranks::turn`](crate::Ranks) downwards: protocol,
//! lifelines, end, serialization, signs of life. Its transport is a [`Port`](port::Port) into a
//! discrete-event simulation, and its pool is a model ([`Workers`](workers::Workers)) of
//! [`Pieces`](crate::local::Pieces). Events are ordered by time, rank, kind and number, so equal
//! seeds give equal runs.

mod events;
mod poller;
mod port;
mod run;
#[cfg(test)]
mod tests;
mod watched;
mod workers;

use std::time::Duration;

use crate::bag::Bag;
use crate::error::Error;
use run::World;

/// A bag whose work can be counted, for a [`Cluster`].
pub trait Counted: Bag {
    /// How many tasks were processed for this output.
    fn done(&self, output: &Self::Output) -> u64;

    /// A lower bound of the number of tasks that are left, or 0, the default, if it is not known.
    ///
    /// A bag that returns more than 0 promises that `process`, with an `n` up to that bound,
    /// processes exactly `n` tasks. Then the simulation skips what happens between messages.
    fn left(&self, _tasks: &Self::Tasks) -> u64 {
        0
    }
}

/// A model of a cluster, which processes a bag in virtual time.
///
/// A message takes `latency` and the time of its bytes at the `bandwidth`, and each end
/// `overhead` of processor time. Contention in the network, placement, shared adapters, and the
/// time to wake threads are not modelled.
///
/// # Examples
/// ```
/// use locksley_mpi::{Bag, Cluster, Counted};
/// use std::time::Duration;
///
/// /// Tasks of 1 µs each.
/// struct Count;
///
/// impl Bag for Count {
///     type Tasks = u64;
///     type Output = u64;
///
///     fn process(&self, tasks: &mut u64, items: usize, done: &mut u64) -> bool {
///         let items = (items as u64).min(*tasks);
///         *tasks -= items;
///         *done += items;
///         *tasks > 0
///     }
///
///     fn split(&self, tasks: &mut u64) -> Option<u64> {
///         let half = *tasks / 2;
///         *tasks -= half;
///         (half > 0).then_some(half)
///     }
///
///     fn merge(&self, done: &mut u64, more: u64) {
///         *done += more;
///     }
/// }
///
/// impl Counted for Count {
///     fn done(&self, output: &u64) -> u64 {
///         *output
///     }
///
///     fn left(&self, tasks: &u64) -> u64 {
///         *tasks
///     }
/// }
///
/// let cluster = Cluster::new(100).task(Duration::from_micros(1));
/// let report = cluster.run(Count, 100_000_000)?;
/// assert_eq!(report.output, 100_000_000);
/// assert!(report.efficiency() > 0.9, "{}", report.efficiency());
/// # Ok::<(), locksley_mpi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cluster {
    ranks: usize,
    workers: usize,
    latency: Duration,
    /// Bytes per second.
    bandwidth: u64,
    overhead: Duration,
    task: Duration,
    has_naps: bool,
    seed: u64,
    /// A message, by its number, that takes so much longer.
    slow: Option<(u64, Duration)>,
}

impl Cluster {
    /// A cluster of `ranks` ranks: one worker each, a latency of 2 µs, 10 GB/s, an overhead of
    /// 500 ns, tasks of 1 µs.
    ///
    /// # Panics
    /// If `ranks` is 0.
    #[must_use]
    pub fn new(ranks: usize) -> Self {
        assert!(ranks > 0, "there is a rank at least");
        Self {
            ranks,
            workers: 1,
            latency: Duration::from_micros(2),
            bandwidth: 10_000_000_000,
            overhead: Duration::from_nanos(500),
            task: Duration::from_micros(1),
            has_naps: true,
            seed: 1,
            slow: None,
        }
    }

    /// Gives each rank `workers` workers, with a processor each.
    ///
    /// # Panics
    /// If it is 0.
    #[must_use]
    pub fn workers(self, workers: usize) -> Self {
        assert!(workers > 0, "there is a worker at least");
        Self { workers, ..self }
    }

    /// The time from the sender to the receiver, of the first byte.
    #[must_use]
    pub fn latency(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// In bytes per second.
    ///
    /// # Panics
    /// If it is 0.
    #[must_use]
    pub fn bandwidth(self, bandwidth: u64) -> Self {
        assert!(bandwidth > 0, "messages arrive");
        Self { bandwidth, ..self }
    }

    /// The processor time to send a message, and to receive one. If a worker is busy, it loses this
    /// time.
    #[must_use]
    pub fn overhead(self, overhead: Duration) -> Self {
        Self { overhead, ..self }
    }

    /// The time that a worker takes for a task.
    ///
    /// # Panics
    /// If it is 0.
    #[must_use]
    pub fn task(self, task: Duration) -> Self {
        assert!(!task.is_zero(), "a task takes time");
        Self { task, ..self }
    }

    /// Has a rank notice each message when it arrives, in place of at the end of a nap.
    #[must_use]
    pub fn without_naps(self) -> Self {
        Self { has_naps: false, ..self }
    }

    /// What the choices of victims follow from. The default is 1, that of a program's first run.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Processes a bag. Rank 0 begins with its tasks.
    ///
    /// # Errors
    /// As [`Ranks::run`](crate::Ranks::run).
    pub fn run<B: Counted>(&self, bag: B, tasks: B::Tasks) -> Result<Report<B::Output>, Error> {
        World::new(self, bag, tasks)?.run()
    }
}

/// What a run on a [`Cluster`] was like. Times are virtual, in nanoseconds from the begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report<R> {
    /// The output on rank 0.
    pub output: R,
    /// Number of ranks.
    pub ranks: u64,
    /// Number of workers on all ranks.
    pub workers: u64,
    /// Number of tasks that were processed.
    pub tasks: u64,
    /// The time that all workers have spent on tasks.
    pub work: u64,
    /// When rank 0 had the output.
    pub end: u64,
    /// When the last task was processed.
    pub last_task: u64,
    /// When half of the ranks had got tasks; `end`, if fewer have.
    pub half_started: u64,
    /// When the last rank that got any tasks got its first ones.
    pub last_started: u64,
    /// Ranks that never got tasks.
    pub never_started: u64,
    /// Requests to random victims.
    pub random_requests: u64,
    /// Requests to random victims that were answered with tasks.
    pub random_steals: u64,
    /// Requests along lifelines.
    pub lifeline_requests: u64,
    /// Requests along lifelines that were answered with tasks.
    pub lifeline_steals: u64,
    /// Waves that looked for the end.
    pub waves: u64,
    /// All messages, signs of life too.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Events that were simulated, with those that had no effect.
    pub events: u64,
    /// A hash of the events that had an effect, in their order: equal for equal runs.
    pub hash: u64,
}

impl<R> Report<R> {
    /// Work, divided by the processor time of all workers until the end: at most 1.
    pub fn efficiency(&self) -> f64 {
        self.work as f64 / (self.workers as f64 * self.end.max(1) as f64)
    }
}
