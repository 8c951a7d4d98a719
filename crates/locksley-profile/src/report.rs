//! The figures of a measurement.

use std::fmt;
use std::time::Duration;

use locksley::stats::{PoolStats, WorkerStats};

use crate::grant::{Grant, GrantBasis};
use crate::slots::burden;

/// The figures of a region or a pool. Made by [`Profiler::measure`](crate::Profiler::measure) and
/// [`Profiler::report`](crate::Profiler::report). Its `Display` is a table, and the
/// [advice](Self::advice).
///
/// Work and span are as in Hood ("Hood: A User-Level Threads Library for Multiprogrammed
/// Multiprocessors", 1998, sections 3 and 5): elapsed time, less the time during tasks in which
/// other threads had the processor ([`taken`](Self::taken)).
///
/// # Examples
/// ```
/// let profiler = locksley_profile::Profiler::new();
/// let pool = locksley::Pool::builder().workers(2).observer(profiler.clone()).build()?;
/// let ((), report) = profiler.measure(&pool, |worker| {
///     worker.join(|_| (), |_| ());
/// });
/// assert!(report.parallelism() <= 2.1);
/// assert!(report.to_string().contains("span"));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The elapsed time: T.
    pub wall: Duration,
    /// The [size](locksley::Pool::size) of the pool at the end, or at the beginning of a region if
    /// it was larger then: P.
    pub workers: usize,
    /// The time of all tasks together: T1.
    pub work: Duration,
    /// The time of the longest path of tasks that come after each other: T∞.
    pub span: Duration,
    /// The same, if each task that could be stolen costs 5 µs more, and each that was
    /// stolen twice that. These are the 15,000 instructions of Cilkview (He, Leiserson and
    /// Leiserson, "The Cilkview scalability analyzer", SPAA 2010) at three a nanosecond.
    pub burdened_span: Duration,
    /// The time during tasks in which other threads had the processor. Work and span do not include
    /// it. It is measured for tasks that run for 0.2 ms without another event. Work and span
    /// include shorter waits, and the time of a hypervisor. `None` if the system does not tell:
    /// then they include all of it.
    pub taken: Option<Duration>,
    /// The number of tasks that began, including second halves of joins. A future counts at each
    /// poll.
    pub tasks: u64,
    /// True for the report of a whole pool. Then the time includes that in which the program had no
    /// tasks for the pool.
    pub(crate) is_of_pool: bool,
    /// The processors that were granted on average (PA).
    pub grant: Grant,
    /// How PA was computed.
    pub grant_basis: GrantBasis,
    /// The counters and times of the pool's workers.
    pub stats: PoolStats,
    /// The time in which a quota stopped the process. `None` if the system does not tell.
    pub throttled: Option<Duration>,
}

impl Report {
    /// T1/T∞: the most processors that it can use.
    #[must_use]
    pub fn parallelism(&self) -> f64 {
        ratio(self.work, self.span)
    }

    /// T1 over the burdened span. If it is much less than the parallelism, tasks are too small.
    #[must_use]
    pub fn burdened_parallelism(&self) -> f64 {
        ratio(self.work, self.burdened_span)
    }

    /// T1/(PA·T): the part of the granted processors' time that was work.
    #[must_use]
    pub fn utilization(&self) -> f64 {
        self.work.as_secs_f64() / (self.grant.processors * self.wall.as_secs_f64()).max(1e-12)
    }

    /// T1/PA + T∞·P/PA: the time that Hood's model allows, with both of its constants 1.
    #[must_use]
    pub fn bound(&self) -> Duration {
        let (work, span) = (self.work.as_secs_f64(), self.span.as_secs_f64());
        Duration::from_secs_f64((work + span * self.workers as f64) / self.grant.processors)
    }

    /// The elapsed time divided by the [bound](Self::bound).
    pub(crate) fn of_bound(&self) -> f64 {
        self.wall.as_secs_f64() / self.bound().as_secs_f64().max(1e-12)
    }
}

/// 1 if both are zero.
pub(crate) fn ratio(part: Duration, whole: Duration) -> f64 {
    if part == whole {
        return 1.0;
    }
    part.as_secs_f64() / whole.as_secs_f64().max(1e-12)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.stats.total();
        writeln!(f, "{:.3?} on {} workers ({})", self.wall, self.workers, self.stats.idle_policy)?;
        write!(f, "  work T1         {:>12.3?}   ", self.work)?;
        writeln!(f, "{} tasks, {} steals", self.tasks, total.steals)?;
        if let Some(taken) = self.taken.filter(|&taken| ratio(taken, self.work) > 0.01) {
            writeln!(f, "    without       {taken:>12.3?}   in which the kernel ran others")?;
        }
        writeln!(
            f,
            "  span T∞         {:>12.3?}   burdened {:.3?}",
            self.span, self.burdened_span
        )?;
        write!(f, "  parallelism     {:>12.1}   ", self.parallelism())?;
        writeln!(f, "burdened {:.1} ({:?} a task)", self.burdened_parallelism(), burden())?;
        writeln!(f, "  processors PA   {:>12.2}{}", self.grant.processors, self.basis())?;
        writeln!(f, "  utilization     {:>12.3}   T1/(PA T)", self.utilization())?;
        write!(f, "  bound           {:>12.3?}   T1/PA + T∞ P/PA; ", self.bound())?;
        writeln!(f, "the run took {:.2} of it", self.of_bound())?;
        writeln!(f, "  worker       working    searching     sleeping  off processor")?;
        for (index, worker) in self.stats.workers.iter().enumerate().take(SHOWN) {
            write_times(f, &index.to_string(), worker)?;
        }
        write_times(f, "all", &total)?;
        self.advice().iter().try_for_each(|sentence| writeln!(f, "  {sentence}"))
    }
}

impl Report {
    fn basis(&self) -> &'static str {
        match self.grant_basis {
            GrantBasis::Ticks => "",
            GrantBasis::Waits => "   by what the workers waited for",
            GrantBasis::WaitsOfTooMany => "   at most: more workers than processors",
            GrantBasis::Allowance => "   allowed; the system does not tell what others took",
        }
    }
}

fn write_times(f: &mut fmt::Formatter<'_>, name: &str, stats: &WorkerStats) -> fmt::Result {
    let off = stats.off_processor.map_or("?".to_owned(), |time| format!("{time:.1?}"));
    let [working, searching, sleeping] =
        [stats.working, stats.searching, stats.sleeping].map(|time| format!("{time:.1?}"));
    writeln!(f, "  {name:>6} {working:>13} {searching:>12} {sleeping:>12}  {off:>13}")
}

/// At most this many workers are listed.
const SHOWN: usize = 16;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// On 4 workers, in milliseconds.
    pub(crate) fn report(work: u64, span: u64, burdened: u64) -> Report {
        let [work, span, burdened_span] = [work, span, burdened].map(Duration::from_millis);
        let wall = Duration::from_millis(300);
        let mut grant = crate::GrantMeter::start().finish(4);
        (grant.wall, grant.allowed, grant.affinity, grant.processors) = (wall, 4.0, 4, 2.0);
        let mut worker = WorkerStats::default();
        (worker.off_processor, worker.processor_time) = (Some(Duration::ZERO), Some(wall / 2));
        let mut stats = PoolStats::default();
        stats.workers = vec![worker; 4];
        Report {
            wall,
            workers: 4,
            work,
            span,
            burdened_span,
            taken: Some(Duration::ZERO),
            tasks: 10,
            is_of_pool: false,
            grant,
            grant_basis: GrantBasis::Ticks,
            stats,
            throttled: None,
        }
    }

    #[test]
    fn figures_follow_the_definitions_of_the_papers() {
        let report = report(480, 60, 120);
        assert!((report.parallelism() - 8.0).abs() < 1e-9);
        assert!((report.burdened_parallelism() - 4.0).abs() < 1e-9);
        // 480 / (2 * 300)
        assert!((report.utilization() - 0.8).abs() < 1e-9);
        // 480 / 2 + 60 * 4 / 2
        assert_eq!(report.bound(), Duration::from_millis(360));
        assert!((report.of_bound() - 300.0 / 360.0).abs() < 1e-9);
    }

    #[test]
    fn the_table_says_how_processors_were_found() {
        let said = report(480, 60, 60).to_string();
        assert!(said.contains("span T∞") && said.contains("10 tasks, 0 steals"), "{said}");
        assert!(said.contains("0.83 of it") && !said.contains("in which the kernel"), "{said}");
        for (grant_basis, label) in [
            (GrantBasis::Waits, "by what the workers waited for\n"),
            (GrantBasis::WaitsOfTooMany, "at most: more workers"),
            (GrantBasis::Allowance, "does not tell what others took"),
        ] {
            let told = Report { grant_basis, ..report(480, 60, 60) }.to_string();
            assert!(told.contains(label) && !said.contains(label), "{told}");
        }
        let taken = Some(Duration::from_millis(400));
        let taken = Report { taken, ..report(480, 60, 60) }.to_string();
        assert!(taken.contains("400.000ms   in which the kernel ran others"), "{taken}");
    }
}
