//! Counters and times of a pool and its workers: see [`Pool::stats`](crate::Pool::stats).
//!
//! Use them to see what a program's tasks do to the pool: how many were stolen, how long workers
//! searched or slept, and how long they had no processor. Counting is always on: a worker writes
//! its own counters, without atomic read-modify-write operations.
//!
//! # Examples
//! ```
//! let pool = locksley::Pool::new(2)?;
//! let before = pool.stats();
//! pool.install(|worker| worker.join(|_| 1, |_| 2));
//! let total = pool.stats().since(&before).total();
//! println!("{} tasks, {} of them stolen, {:?} of work", total.tasks, total.steals, total.working);
//! # Ok::<(), locksley::BuildError>(())
//! ```

mod counters;
mod ledger;

use std::iter::Sum;
use std::ops::{Add, Sub};
use std::time::Duration;

pub(crate) use counters::Counters;
pub(crate) use ledger::{ELSEWHERE, Ledger};

/// The counters and times of one worker since its pool was built. A snapshot of a running pool is
/// not taken at one single moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStats {
    /// Tasks that were taken from a deque or an inbox, and run. A future counts at each poll. The
    /// second half of a join does not count unless another worker stole it.
    pub tasks: u64,
    /// Tasks that were stolen from other workers.
    pub steals: u64,
    /// Attempts to steal that found nothing or lost a race.
    pub failed_steals: u64,
    /// Tasks from the pool's inbox or this worker's own, and tasks that were pinned to this worker.
    pub received: u64,
    /// Calls of `sched_yield`.
    pub yields: u64,
    /// Times the worker went to sleep.
    pub sleeps: u64,
    /// Times the worker woke up.
    pub wakeups: u64,
    /// Times the worker, while searching, gave its processor to a worker that had work and was
    /// preempted.
    pub hand_overs: u64,
    /// Tasks that were taken from a worker or the inbox of another
    /// [place](crate::PoolBuilder::places). Tasks from a replacement worker are not counted.
    pub out_of_place: u64,
    /// Context switches of the worker's thread. `None` where the kernel's records are not available
    /// ([`Assists::SWITCH_RECORDS`](crate::os::Assists::SWITCH_RECORDS)), and for a borrowed
    /// thread.
    pub switches: Option<u64>,
    /// Wall-clock time in and between tasks. This time and the next two include preemption and the
    /// current activity. For a borrowed thread they count only the time of its waits in the pool.
    pub working: Duration,
    /// Wall-clock time of searches for work: attempts and yields, but not sleep.
    pub searching: Duration,
    /// Wall-clock time asleep, parked as an unused replacement worker, or in a
    /// [blocking call](crate::blocking()).
    pub sleeping: Duration,
    /// Time in which the thread was runnable without running, because other threads had the
    /// processor or a quota was used up. On Linux it comes from `schedstat` and includes yields.
    /// `None` where the system does not report it.
    pub off_processor: Option<Duration>,
    /// Processor time of the thread. `None` where the system does not report it.
    pub processor_time: Option<Duration>,
}

impl WorkerStats {
    /// Combines the counters by `count`, and the times by `time`. A field that one of the two does
    /// not have is `None`.
    fn combine(
        self,
        other: Self,
        count: fn(u64, u64) -> u64,
        time: fn(Duration, Duration) -> Duration,
    ) -> Self {
        let time_if = |a: Option<Duration>, b| a.zip(b).map(|(a, b)| time(a, b));
        Self {
            switches: self.switches.zip(other.switches).map(|(a, b)| count(a, b)),
            working: time(self.working, other.working),
            searching: time(self.searching, other.searching),
            sleeping: time(self.sleeping, other.sleeping),
            off_processor: time_if(self.off_processor, other.off_processor),
            processor_time: time_if(self.processor_time, other.processor_time),
            ..self.with_counters(&other, count)
        }
    }

    /// The same, with 0 for what the system does not report.
    pub(crate) fn or_zero(self) -> Self {
        Self {
            switches: self.switches.or(Some(0)),
            off_processor: self.off_processor.or(Some(Duration::ZERO)),
            processor_time: self.processor_time.or(Some(Duration::ZERO)),
            ..self
        }
    }
}

/// The sum. An optional field is `None` if one of the two does not have it.
impl Add for WorkerStats {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.combine(other, |a, b| a + b, |a, b| a + b)
    }
}

/// The difference to an earlier snapshot.
impl Sub for WorkerStats {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        // Its thread may have started since the earlier snapshot.
        self.combine(earlier.or_zero(), u64::saturating_sub, Duration::saturating_sub)
    }
}

impl Sum for WorkerStats {
    fn sum<I: Iterator<Item = Self>>(workers: I) -> Self {
        workers.fold(Self::default().or_zero(), Add::add)
    }
}

/// The counters and times of a pool since it was built.
///
/// # Examples
/// ```
/// let pool = locksley::Pool::new(2)?;
/// pool.install(|w| w.join(|_| (), |_| ()));
/// assert!(pool.stats().total().tasks >= 1);
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStats {
    /// The name of the pool's idle policy.
    pub idle_policy: &'static str,
    /// The number of workers that are bound to the processors of their places.
    ///
    /// It is 0 unless the pool has [`Affinity::Place`](crate::Affinity::Place). It may be less than
    /// the number of workers: the system may refuse, or the process may not run on the processors
    /// of a place. A pool that [starts in the
    /// background](crate::PoolBuilder::start_in_background) counts the workers that have started.
    pub bound_workers: usize,
    /// The number of tasks in all deques at this moment, as thieves see them: an estimate.
    pub queued: usize,
    /// The workers, in the order of [`Worker::index`](crate::Worker::index). After them, threads
    /// outside of the pool that have run its tasks ([`Pool::install`](crate::Pool::install)), and
    /// replacement workers that were started ([`blocking`](crate::blocking())).
    pub workers: Vec<WorkerStats>,
}

impl PoolStats {
    /// The sum over all workers.
    #[must_use]
    pub fn total(&self) -> WorkerStats {
        self.workers.iter().copied().sum()
    }

    /// The difference to an earlier snapshot of the same pool.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(1)?;
    /// pool.install(|_| ());
    /// let before = pool.stats();
    /// pool.install(|_| ());
    /// assert_eq!(pool.stats().since(&before).total().tasks, 1);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        // Replacement workers may have started since then.
        let before =
            earlier.workers.iter().copied().chain(std::iter::repeat(WorkerStats::default()));
        let workers = self.workers.iter().zip(before).map(|(&now, before)| now - before).collect();
        Self { workers, ..*self }
    }
}
