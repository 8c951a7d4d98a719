//! What was metered, in figures and in words.

use std::fmt;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::grant::{Grant, GrantMeter};
use super::region::{BURDEN, Figures};
use super::stats::{PoolStats, WorkerStats};
use crate::os;

/// What a metered task did, and what the pool did meanwhile; or what a metered pool has done. Made by
/// [`Pool::metered`](crate::Pool::metered) and [`Pool::report`](crate::Pool::report), and printed in words by its `Display`.
///
/// Work and critical path are as Hood has them ("Hood: A User-Level Threads Library for Multiprogrammed Multiprocessors", 1998,
/// sections 3 and 5), measured on the clock of the wall: what a worker was suspended in the middle of a task is in both. Where
/// [`WorkerStats::off_processor`] says that this was much, they are upper bounds.
///
/// # Examples
/// ```
/// let pool = locksley::Pool::new(2)?;
/// let ((), report) = pool.metered(|worker| {
///     worker.join(|_| (), |_| ());
/// });
/// assert!(report.parallelism() <= 2.1);
/// assert!(report.to_string().contains("critical path"));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// How long it took, on the clock of the wall: T.
    pub wall: Duration,
    /// How many workers the pool has: P.
    pub workers: usize,
    /// The time of all strands together: T1.
    pub work: Duration,
    /// The time of the strands along the longest path: T∞.
    pub critical_path: Duration,
    /// The same, where each edge to or from a task that could be stolen costs [`BURDEN`](Self::BURDEN).
    pub burdened_critical_path: Duration,
    /// How many times a strand forked by a join; a task that is spawned is no such fork.
    pub forks: u64,
    /// Waits and polls whose order is not among the paths, whether anybody had to wait or not: for futures and handles, in channels, at edges
    /// and locks of intervals, and in calls that block; and tasks that a plain thread has spawned into a metered scope. If there are any, the
    /// critical path is a lower bound, and so is the work, since what such tasks did later may be missing.
    pub uncarried: u64,
    /// The processors that were granted on average, and how they were measured: PA.
    pub grant: Grant,
    /// Whether the system could tell what others took: the time was long enough for its clock ticks. If not, PA is as if nobody took
    /// anything.
    pub is_grant_measured: bool,
    /// What the pool's workers did meanwhile, and where their time went.
    pub stats: PoolStats,
    /// For how long a quota kept the process from running; `None` where the system does not tell.
    pub throttled: Option<Duration>,
}

/// The system counts in ticks of some milliseconds: below this, they say nothing about what others took.
const LONG_ENOUGH: Duration = Duration::from_millis(500);

impl Report {
    /// What an edge to or from a task that could be stolen costs in the burdened critical path: 5 µs, the 15 000 instructions of
    /// Cilkview (He, Leiserson and Leiserson, "The Cilkview scalability analyzer", SPAA 2010) at three a nanosecond.
    pub const BURDEN: Duration = Duration::from_nanos(BURDEN as u64);

    /// T1/T∞: so many processors it can use at most.
    #[must_use]
    pub fn parallelism(&self) -> f64 {
        ratio(self.work, self.critical_path)
    }

    /// The same with the burdened critical path: so many it can use if each task that could be stolen is. Where that is much
    /// less, tasks are small.
    #[must_use]
    pub fn burdened_parallelism(&self) -> f64 {
        ratio(self.work, self.burdened_critical_path)
    }

    /// T1/(PA·T): the part of the granted processors' time that was work.
    #[must_use]
    pub fn utilization(&self) -> f64 {
        self.work.as_secs_f64() / (self.grant.processors * self.wall.as_secs_f64()).max(1e-12)
    }

    /// T1/PA + T∞·P/PA: with both of its constants 1, the time that Hood's model allows.
    #[must_use]
    pub fn bound(&self) -> Duration {
        let (work, path) = (self.work.as_secs_f64(), self.critical_path.as_secs_f64());
        Duration::from_secs_f64((work + path * self.workers as f64) / self.grant.processors)
    }

    /// What it took, as a part of the [bound](Self::bound): below 1 it was faster.
    #[must_use]
    pub fn of_bound(&self) -> f64 {
        self.wall.as_secs_f64() / self.bound().as_secs_f64().max(1e-12)
    }

    /// What the figures mean, a sentence for each thing that stands out.
    ///
    /// # Examples
    /// ```
    /// use std::thread::sleep;
    /// use std::time::Duration;
    ///
    /// // Work that is all one strand.
    /// let ((), report) = locksley::Pool::new(4)?.metered(|_| sleep(Duration::from_millis(1)));
    /// assert!(report.advice()[0].starts_with("Parallelism 1.0 on 4 workers"));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        let (workers, total) = (self.workers as f64, self.stats.total());
        let (parallelism, burdened) = (self.parallelism(), self.burdened_parallelism());
        if self.uncarried > 0 {
            advice.push(format!(
                "{} waits and polls were for what the meter does not follow: work and critical path are at least what it says.",
                self.uncarried
            ));
        }
        if parallelism < SLACK * workers {
            advice.push(format!(
                "Parallelism {parallelism:.1} on {workers} workers: the critical path bounds the speedup; more of the work along it has to be forked{}.",
                if parallelism < workers { ", or fewer workers do as well" } else { "" }
            ));
        } else if burdened < SLACK * workers {
            advice.push(format!(
                "Parallelism {parallelism:.1}, but {burdened:.1} if each task that could be stolen costs {:?}: tasks are small for so many workers.",
                Self::BURDEN
            ));
        }
        let share = |time: Duration| ratio(time, self.wall * self.workers as u32);
        if let Some(off) = total.off_processor.map(share).filter(|&off| off > 0.05) {
            advice.push(format!(
                "For {:.0}% of their time workers could have run and had no processor: T1 and T∞ are upper bounds.",
                off * 100.0
            ));
        }
        if let Some(throttled) = self.throttled.filter(|&time| ratio(time, self.wall) > 0.01) {
            advice.push(format!("A quota kept the process from running for {throttled:.1?}."));
        }
        if advice.is_empty() {
            advice.push(format!("Parallelism {parallelism:.1} is enough for {workers} workers."));
        }
        advice
    }
}

/// So many times as many as workers: from there on the work outweighs the critical path by far. (Cilkview's rule of thumb is 10.)
const SLACK: f64 = 10.0;

/// 1 if both are nothing.
fn ratio(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64().max(1e-12) / whole.as_secs_f64().max(1e-12)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_least = if self.uncarried > 0 { " at least" } else { "" };
        writeln!(f, "{:.3?} on {} workers ({})", self.wall, self.workers, self.stats.governor)?;
        writeln!(f, "  work T1            {:>12.3?}{at_least}   forks: {}", self.work, self.forks)?;
        writeln!(f, "  critical path T∞   {:>12.3?}{at_least}", self.critical_path)?;
        writeln!(
            f,
            "  parallelism        {:>12.1}   burdened {:.1} ({:?} an edge)",
            self.parallelism(),
            self.burdened_parallelism(),
            Self::BURDEN
        )?;
        writeln!(
            f,
            "  processors PA      {:>12.2}{}",
            self.grant.processors,
            if self.is_grant_measured {
                ""
            } else {
                "   allowed; too short to see what others took"
            }
        )?;
        writeln!(f, "  utilization        {:>12.3}   T1/(PA T)", self.utilization())?;
        writeln!(
            f,
            "  bound              {:>12.3?}   T1/PA + T∞ P/PA; the run took {:.2} of it",
            self.bound(),
            self.of_bound()
        )?;
        let total = self.stats.total();
        writeln!(
            f,
            "  {} tasks, {} steals, {} attempts in vain, {} yields, {} sleeps",
            total.tasks, total.steals, total.failed_steals, total.yields, total.sleeps
        )?;
        write_times(f, &self.stats)?;
        self.advice().iter().try_for_each(|sentence| writeln!(f, "  {sentence}"))
    }
}

/// Where the workers' time went.
fn write_times(f: &mut fmt::Formatter<'_>, stats: &PoolStats) -> fmt::Result {
    writeln!(f, "  worker       working      hunting     sleeping  off processor")?;
    let line = |f: &mut fmt::Formatter<'_>, name: &str, stats: &WorkerStats| {
        let off = stats.off_processor.map_or("?".to_owned(), |time| format!("{time:.1?}"));
        let [working, hunting, sleeping] =
            [stats.working, stats.hunting, stats.sleeping].map(|time| format!("{time:.1?}"));
        writeln!(f, "  {name:>6} {working:>13} {hunting:>12} {sleeping:>12}  {off:>13}")
    };
    for (index, worker) in stats.workers.iter().enumerate().take(SHOWN) {
        line(f, &index.to_string(), worker)?;
    }
    line(f, "all", &stats.total())
}

/// So many workers are shown one by one.
const SHOWN: usize = 16;

/// What there was when a region began.
#[derive(Debug)]
pub(crate) struct Surroundings {
    stats: PoolStats,
    throttled: Option<Duration>,
    grant: GrantMeter,
    began: Instant,
}

impl Surroundings {
    /// For a region that is timed by `clock`. It begins when this returns.
    pub(crate) fn new(clock: Clock, stats: PoolStats) -> Self {
        clock.get_ready();
        let (throttled, grant) = (os::throttled(), GrantMeter::start());
        Self { stats, throttled, grant, began: Instant::now() }
    }

    /// How long ago that was.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// What has become of it after so long a time, when the pool's workers have done that much.
    pub(crate) fn report(
        &self,
        wall: Duration,
        figures: &Figures,
        stats: PoolStats,
        workers: usize,
    ) -> Report {
        let mut grant = self.grant.so_far(workers);
        let is_grant_measured = grant.others.is_some() && wall >= LONG_ENOUGH;
        if !is_grant_measured {
            grant.processors = self.grant.allowed(workers);
        }
        let throttled =
            os::throttled().map(|now| now.saturating_sub(self.throttled.unwrap_or_default()));
        Report {
            wall,
            workers,
            work: figures.clock.duration(figures.work),
            critical_path: figures.clock.duration(figures.path.span),
            burdened_critical_path: figures.clock.duration(figures.path.burdened),
            forks: figures.forks,
            uncarried: figures.uncarried,
            grant,
            is_grant_measured,
            stats: stats.since(&self.stats),
            throttled,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// On 4 workers, in milliseconds.
    fn report(work: u64, path: u64, burdened: u64) -> Report {
        let [work, critical_path, burdened_critical_path] =
            [work, path, burdened].map(Duration::from_millis);
        let wall = Duration::from_millis(300);
        let grant = Grant { wall, own: None, others: None, processors: 2.0 };
        Report {
            wall,
            workers: 4,
            work,
            critical_path,
            burdened_critical_path,
            forks: 10,
            uncarried: 0,
            grant,
            is_grant_measured: true,
            stats: PoolStats { governor: "some", workers: vec![WorkerStats::default(); 4] },
            throttled: None,
        }
    }

    #[test]
    fn figures_are_those_of_the_papers() {
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
    fn advice_names_what_stands_out() {
        let only = |report: Report| {
            let advice = report.advice();
            assert_eq!(advice.len(), 1, "{advice:?}");
            advice[0].clone()
        };
        assert!(only(report(480, 200, 200)).starts_with("Parallelism 2.4 on 4 workers"));
        assert!(only(report(480, 200, 200)).contains("fewer workers"));
        assert!(!only(report(480, 60, 60)).contains("fewer workers"));
        assert!(only(report(480, 2, 200)).contains("tasks are small"));
        assert!(only(report(480, 2, 3)).contains("is enough for 4 workers"));
        let off = |share: u64| {
            let mut report = report(480, 2, 3);
            for worker in &mut report.stats.workers {
                worker.off_processor = Some(Duration::from_millis(300 * share / 100));
            }
            report
        };
        assert!(only(off(50)).contains("For 50% of their time"));
        assert!(only(off(1)).contains("is enough"));
        let throttled = Some(Duration::from_millis(100));
        assert!(only(Report { throttled, ..report(480, 2, 3) }).contains("A quota"));
        let both = Report { uncarried: 7, ..report(480, 200, 200) }.advice();
        assert!(both.len() == 2 && both[0].starts_with("7 waits and polls"), "{both:?}");
    }

    #[test]
    fn what_is_a_lower_bound_is_said_to_be_one() {
        let said = report(480, 60, 60).to_string();
        assert!(said.contains("critical path T∞") && !said.contains("at least"), "{said}");
        assert!(Report { uncarried: 1, ..report(480, 60, 60) }.to_string().contains("at least"));
        assert!(said.contains("forks: 10") && said.contains("0.83 of it"), "{said}");
        let unknown = Report { is_grant_measured: false, ..report(480, 60, 60) }.to_string();
        assert!(unknown.contains("too short"), "{unknown}");
    }
}
