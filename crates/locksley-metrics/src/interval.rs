//! What a pool did in an interval.

use std::time::{Duration, Instant};

use locksley::Pool;
use locksley::stats::{PoolStats, WorkerStats};

/// Reads the metrics of a pool, interval by interval.
///
/// # Examples
/// A thread that prints them each second, for ever:
/// ```no_run
/// use locksley_metrics::PoolMonitor;
///
/// for metrics in PoolMonitor::new(locksley::Pool::global()).intervals() {
///     println!("{metrics:?}");
///     std::thread::sleep(std::time::Duration::from_secs(1));
/// }
/// ```
#[derive(Debug)]
pub struct PoolMonitor<'p> {
    pool: &'p Pool,
    before: PoolStats,
    at: Instant,
}

impl<'p> PoolMonitor<'p> {
    /// Begins an interval.
    #[must_use]
    pub fn new(pool: &'p Pool) -> Self {
        Self { pool, before: pool.stats(), at: Instant::now() }
    }

    /// Ends the interval, and begins the next one. Reads a file for each worker, where the system
    /// tells how long it waited for a processor.
    pub fn next_interval(&mut self) -> PoolMetrics {
        let (now, at) = (self.pool.stats(), Instant::now());
        let metrics = PoolMetrics::new(&now.since(&self.before), at - self.at, self.pool.workers());
        (self.before, self.at) = (now, at);
        metrics
    }

    /// The intervals from one call of `next` to the following one. It has no end.
    pub fn intervals(mut self) -> impl Iterator<Item = PoolMetrics> {
        std::iter::repeat_with(move || self.next_interval())
    }
}

/// What a pool did in an interval. Names and meanings are those of `RuntimeMetrics` of
/// `tokio-metrics`, up to `elapsed`; the rest has no counterpart there.
///
/// Minima and maxima are over workers. Replacement workers count for the totals and the maxima.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PoolMetrics {
    /// The number of workers.
    pub workers_count: usize,
    /// How often workers parked.
    pub total_park_count: u64,
    /// The most parks of a worker.
    pub max_park_count: u64,
    /// The fewest parks of a worker.
    pub min_park_count: u64,
    /// Tasks that were stolen.
    pub total_steal_count: u64,
    /// The most of a worker.
    pub max_steal_count: u64,
    /// The fewest of a worker.
    pub min_steal_count: u64,
    /// How often workers stole. A steal takes one task.
    pub total_steal_operations: u64,
    /// Tasks that were sent to the pool, a place or a worker, and not pushed to a deque.
    pub num_remote_schedules: u64,
    /// Tasks in the workers' deques at the end of the interval, as thieves see them: an estimate.
    pub total_local_queue_depth: usize,
    /// Tasks that were run; a future counts at each poll. Second halves of joins count if they were
    /// stolen.
    pub total_polls_count: u64,
    /// The most of a worker.
    pub max_polls_count: u64,
    /// The fewest of a worker.
    pub min_polls_count: u64,
    /// Time in and between tasks, including preemption.
    pub total_busy_duration: Duration,
    /// The most of a worker.
    pub max_busy_duration: Duration,
    /// The least of a worker.
    pub min_busy_duration: Duration,
    /// The length of the interval.
    pub elapsed: Duration,
    /// Time of searches for work.
    pub total_search_duration: Duration,
    /// Time asleep, or in blocking calls.
    pub total_sleep_duration: Duration,
    /// Time in which workers could have run and had no processor. `None` if the system does not
    /// tell.
    pub total_off_processor_duration: Option<Duration>,
    /// Attempts to steal that took nothing.
    pub total_failed_steal_count: u64,
    /// How often a thief gave its processor to a worker that was preempted.
    pub total_hand_over_count: u64,
}

impl PoolMetrics {
    fn new(stats: &PoolStats, elapsed: Duration, workers: usize) -> Self {
        let total = stats.total();
        let all = &stats.workers[..];
        // Of the workers only: most replacements have done nothing.
        let own = &all[..workers.min(all.len())];
        let most = |count: fn(&WorkerStats) -> u64| all.iter().map(count).max().unwrap_or(0);
        let fewest = |count: fn(&WorkerStats) -> u64| own.iter().map(count).min().unwrap_or(0);
        let busy = |workers: &[WorkerStats]| -> Vec<Duration> {
            workers.iter().map(|it| it.working).collect()
        };
        Self {
            workers_count: workers,
            total_park_count: total.sleeps,
            max_park_count: most(|it| it.sleeps),
            min_park_count: fewest(|it| it.sleeps),
            total_steal_count: total.steals,
            max_steal_count: most(|it| it.steals),
            min_steal_count: fewest(|it| it.steals),
            total_steal_operations: total.steals,
            num_remote_schedules: total.received,
            total_local_queue_depth: stats.queued,
            total_polls_count: total.tasks,
            max_polls_count: most(|it| it.tasks),
            min_polls_count: fewest(|it| it.tasks),
            total_busy_duration: total.working,
            max_busy_duration: busy(all).into_iter().max().unwrap_or_default(),
            min_busy_duration: busy(own).into_iter().min().unwrap_or_default(),
            elapsed,
            total_search_duration: total.searching,
            total_sleep_duration: total.sleeping,
            total_off_processor_duration: total.off_processor,
            total_failed_steal_count: total.failed_steals,
            total_hand_over_count: total.hand_overs,
        }
    }

    /// The busy time as a part of the time of all workers, from 0 to 1.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(1)?;
    /// let mut monitor = locksley_metrics::PoolMonitor::new(&pool);
    /// assert!(monitor.next_interval().busy_ratio() <= 1.0);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn busy_ratio(&self) -> f64 {
        let all = self.elapsed.as_secs_f64() * self.workers_count as f64;
        if all > 0.0 { (self.total_busy_duration.as_secs_f64() / all).min(1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_what_happened_in_it() {
        let pool = Pool::builder().workers(3).own_threads_only().build().unwrap();
        let mut monitor = PoolMonitor::new(&pool);
        (0..5).for_each(|_| pool.install(|_| ()));
        let first = monitor.next_interval();
        assert_eq!((first.total_polls_count, first.num_remote_schedules), (5, 5));
        assert!(first.min_polls_count <= first.max_polls_count && first.max_polls_count <= 5);
        assert_eq!(first.workers_count, 3);
        assert!(first.elapsed > Duration::ZERO);
        assert_eq!(monitor.next_interval().total_polls_count, 0);
        pool.install(|_| ());
        assert_eq!(monitor.intervals().next().unwrap().total_polls_count, 1);
    }

    #[test]
    fn tasks_that_wait_are_the_queue_depth() {
        let pool = Pool::builder().workers(1).own_threads_only().build().unwrap();
        let depth = || PoolMonitor::new(&pool).next_interval().total_local_queue_depth;
        let found = pool.install(|_| {
            locksley::scope(|scope| {
                (0..3).for_each(|_| scope.spawn(|_| ()));
                depth()
            })
        });
        assert_eq!((found, depth()), (3, 0));
    }

    #[test]
    fn replacements_do_not_count_for_minima() {
        let worker = |tasks| {
            let mut stats = WorkerStats::default();
            stats.tasks = tasks;
            stats
        };
        let mut stats = PoolStats::default();
        stats.workers = vec![worker(4), worker(2), worker(0), worker(9)];
        let metrics = PoolMetrics::new(&stats, Duration::from_secs(1), 2);
        let polls = (metrics.min_polls_count, metrics.max_polls_count, metrics.total_polls_count);
        assert_eq!(polls, (2, 9, 15));
        assert_eq!(metrics.busy_ratio(), 0.0);
    }

    #[test]
    fn failed_steals_are_no_steal_operations() {
        let mut worker = WorkerStats::default();
        (worker.steals, worker.failed_steals) = (3, 5);
        let mut stats = PoolStats::default();
        stats.workers = vec![worker];
        let metrics = PoolMetrics::new(&stats, Duration::from_secs(1), 1);
        assert_eq!((metrics.total_steal_operations, metrics.total_failed_steal_count), (3, 5));
    }
}
