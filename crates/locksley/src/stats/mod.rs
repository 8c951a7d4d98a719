//! What a pool and its workers did, as plain numbers: see [`Pool::stats`](crate::Pool::stats).

mod counters;
mod ledger;

use std::iter::Sum;
use std::ops::{Add, Sub};
use std::time::Duration;

pub(crate) use counters::Counters;
pub(crate) use ledger::Ledger;

/// What one worker did since its pool was built. The worker counts for itself; a snapshot of a
/// running pool is not of one single moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStats {
    /// Tasks taken from a deque or an inbox, and run; a future counts at each poll. The second half
    /// of a join that no other worker took is not counted: its join runs it like any call.
    pub tasks: u64,
    /// Tasks taken from other workers.
    pub steals: u64,
    /// Attempts to take a task from another worker that found nothing or came too late.
    pub failed_steals: u64,
    /// Tasks taken from the pool's inbox or this worker's own, and tasks that were sent to this
    /// worker alone.
    pub received: u64,
    /// Calls of `sched_yield`.
    pub yields: u64,
    /// Times the worker went to sleep.
    pub sleeps: u64,
    /// Times the worker woke up.
    pub wakeups: u64,
    /// Times the worker, searching, gave its processor to a worker that had work and was not
    /// running.
    pub hand_overs: u64,
    /// Times the worker, searching, moved such a worker to its own processor.
    pub pulls: u64,
    /// Times the worker moved to a processor where no other worker was.
    pub moves: u64,
    /// Tasks taken out of another [place](crate::PoolBuilder::places): from a worker there, or out
    /// of what was sent there. Tasks taken from a replacement worker are not counted.
    pub out_of_place: u64,
    /// Context switches of the worker's thread. `None` where the kernel's records are not available
    /// ([`Assists::SWITCH_RECORDS`](crate::os::Assists::SWITCH_RECORDS)), and for a borrowed
    /// thread.
    pub switches: Option<u64>,
    /// Of these switches, those to a worker that searches: after sleep, after a yield, or after
    /// other threads had its processor. A yield with no other awake worker on the same processor
    /// is not counted: it lets another program run. All others took the processor from a worker
    /// that has work, unless a task waited.
    pub to_thief: u64,
    /// Wall-clock time spent on tasks, or between them. This and the next two include time in which
    /// the worker was suspended, and the present activity. For a borrowed thread they count only
    /// the time in which it waits for something in the pool.
    pub working: Duration,
    /// Time spent searching for work: attempts and yields, but not sleep.
    pub searching: Duration,
    /// Time spent asleep, as a replacement worker that is not needed, or in a
    /// [blocking call](crate::Worker::blocking).
    pub sleeping: Duration,
    /// Time in which the thread could have run and had no processor, because other threads had it
    /// or a quota was used up. `None` where the system does not tell (Linux does, in `schedstat`;
    /// it includes yields).
    pub off_processor: Option<Duration>,
    /// Time that workers waited for the lock of this worker's deque.
    pub lock_wait: Duration,
    /// Processor time used; `None` where the system does not tell.
    pub processor_time: Option<Duration>,
}

impl Add for WorkerStats {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tasks: self.tasks + other.tasks,
            steals: self.steals + other.steals,
            failed_steals: self.failed_steals + other.failed_steals,
            received: self.received + other.received,
            yields: self.yields + other.yields,
            sleeps: self.sleeps + other.sleeps,
            wakeups: self.wakeups + other.wakeups,
            hand_overs: self.hand_overs + other.hand_overs,
            pulls: self.pulls + other.pulls,
            moves: self.moves + other.moves,
            out_of_place: self.out_of_place + other.out_of_place,
            switches: self.switches.zip(other.switches).map(|(a, b)| a + b),
            to_thief: self.to_thief + other.to_thief,
            working: self.working + other.working,
            searching: self.searching + other.searching,
            sleeping: self.sleeping + other.sleeping,
            off_processor: self.off_processor.zip(other.off_processor).map(|(a, b)| a + b),
            lock_wait: self.lock_wait + other.lock_wait,
            processor_time: self.processor_time.zip(other.processor_time).map(|(a, b)| a + b),
        }
    }
}

/// What was done since an earlier snapshot.
impl Sub for WorkerStats {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        let since = |now: Duration, then: Duration| now.saturating_sub(then);
        let since_if = |now: Option<Duration>, then: Option<Duration>| {
            now.map(|now| now.saturating_sub(then.unwrap_or_default()))
        };
        Self {
            tasks: self.tasks.saturating_sub(earlier.tasks),
            steals: self.steals.saturating_sub(earlier.steals),
            failed_steals: self.failed_steals.saturating_sub(earlier.failed_steals),
            received: self.received.saturating_sub(earlier.received),
            yields: self.yields.saturating_sub(earlier.yields),
            sleeps: self.sleeps.saturating_sub(earlier.sleeps),
            wakeups: self.wakeups.saturating_sub(earlier.wakeups),
            hand_overs: self.hand_overs.saturating_sub(earlier.hand_overs),
            pulls: self.pulls.saturating_sub(earlier.pulls),
            moves: self.moves.saturating_sub(earlier.moves),
            out_of_place: self.out_of_place.saturating_sub(earlier.out_of_place),
            switches: self.switches.map(|now| now.saturating_sub(earlier.switches.unwrap_or(0))),
            to_thief: self.to_thief.saturating_sub(earlier.to_thief),
            working: since(self.working, earlier.working),
            searching: since(self.searching, earlier.searching),
            sleeping: since(self.sleeping, earlier.sleeping),
            off_processor: since_if(self.off_processor, earlier.off_processor),
            lock_wait: since(self.lock_wait, earlier.lock_wait),
            processor_time: since_if(self.processor_time, earlier.processor_time),
        }
    }
}

impl Sum for WorkerStats {
    fn sum<I: Iterator<Item = Self>>(workers: I) -> Self {
        let (processor_time, switches) = (Some(Duration::ZERO), Some(0));
        let off_processor = Some(Duration::ZERO);
        let start = Self { processor_time, switches, off_processor, ..Self::default() };
        workers.fold(start, Add::add)
    }
}

/// What a pool did since it was built.
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
    /// The pool's idle policy.
    pub idle_policy: &'static str,
    /// By worker, in the order of [`Worker::index`](crate::Worker::index), and then the replacement
    /// workers that there have been ([`Worker::blocking`](crate::Worker::blocking)).
    pub workers: Vec<WorkerStats>,
}

impl PoolStats {
    /// The sum over all workers.
    #[must_use]
    pub fn total(&self) -> WorkerStats {
        self.workers.iter().copied().sum()
    }

    /// What was done since an earlier snapshot of the same pool.
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
        // Replacement workers may have come meanwhile.
        let before =
            earlier.workers.iter().copied().chain(std::iter::repeat(WorkerStats::default()));
        let workers = self.workers.iter().zip(before).map(|(&now, before)| now - before).collect();
        Self { idle_policy: self.idle_policy, workers }
    }
}
