//! What was metered, in figures and in words.

use std::fmt;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::course::{KEPT, Part};
use super::grant::{Crew, Grant, GrantBasis, GrantMeter, Told};
use super::region::{BURDEN, Figures};
use super::stats::{PoolStats, WorkerStats};
use super::stretch::{self, Stretch};
use crate::os;

/// What a metered task did, and what the pool did meanwhile; or what a metered pool has done. Made by
/// [`Pool::metered`](crate::Pool::metered) and [`Pool::report`](crate::Pool::report), and printed in words by its `Display`.
///
/// Work and critical path are as Hood has them ("Hood: A User-Level Threads Library for Multiprogrammed Multiprocessors", 1998,
/// sections 3 and 5), measured on the clock of the wall, less the time for which the kernel ran others in the middle of a strand, where it says that
/// ([`taken`](Self::taken)). Where it does not, and [`WorkerStats::off_processor`] says that this was much, they are upper bounds. Where there is something that the meter cannot say, it says that
/// in its [advice](Self::advice).
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
    /// How many of the pool's workers may be at work, its guest included: P. In a pool of a chosen number these are [all](crate::Pool::workers), or as many as it was
    /// [resized](crate::Pool::resize) to. In one that follows what it is allowed, which has more that only sleep, they are as many as were
    /// [allowed](crate::Pool::size) at the end; or at the beginning of what was metered by [`Pool::metered`](crate::Pool::metered), if those were more.
    pub workers: usize,
    /// The time of all strands together: T1.
    pub work: Duration,
    /// The time of the strands along the longest path: T∞.
    pub critical_path: Duration,
    /// The same, where each edge to or from a task that could be stolen costs [`BURDEN`](Self::BURDEN).
    pub burdened_critical_path: Duration,
    /// Through which places in the program the longest path runs, those first through which most of it does: where its strands were forked,
    /// spawned or called. What a loop calls is at the loop, what a scope's or a detached task does where that was spawned, and what comes after a join or a
    /// scope is where that was called from. The two halves of a join are both in the function that joins, or, with the feature `join-lines`, at the join's line:
    /// without it, a join knows nothing of that, and so it costs nothing. Up to 8 places are exact. If the path runs through more, each may have up to an eighth of it more than it says,
    /// and what they lack together to the critical path is at places that are not told.
    pub course: Vec<Stretch>,
    /// For how long strands could have run and the kernel ran others in their place: this is in neither work nor critical path. It is asked where a
    /// strand has gone on for a fifth of a millisecond; what was shorter, and what a hypervisor took, is in both. `None` where the system
    /// does not tell: then all of it is.
    pub taken: Option<Duration>,
    /// How many times a strand forked by a join; a task that is spawned is no such fork.
    pub forks: u64,
    /// Waits and polls whose order is not, or may not be, among the paths, whether anybody had to wait or not: each poll of a future, which may find
    /// without a wait what others have left for it (but not one that waits for something that is followed, or has found such and ends: a join counter, a barrier, a once cell,
    /// signals of a [thread](crate::thread), a task's handle, a channel of a [process](crate::kahn); what else such a poll finds without a wait is neither followed nor counted); signals that come from elsewhere; calls that block; tasks and
    /// intervals that a plain thread has spawned into a metered scope or root; and what tasks that are not metered have sent to a metered pool. If
    /// there are any, the critical path is a lower bound, and so may be the work.
    pub uncarried: u64,
    /// Tasks that had not ended, or not begun. What they have done since they last spawned or waited is missing.
    pub under_way: u64,
    /// Whether strands have run in another pool, too, or this pool's workers have run strands that are metered for another one. Then work and critical path
    /// are as they should be, but P, PA, and the times of workers are those of one pool, and the others' part is not in this pool's report.
    pub is_mixed: bool,
    /// Whether one of the workers is a thread of the program's own ([`PoolBuilder::with_current_thread`](crate::PoolBuilder::with_current_thread)).
    /// Of what that does by itself a metered pool knows only what it runs by [`Pool::run`](crate::Pool::run).
    pub has_guest: bool,
    /// Whether it is of all that a pool has done. Then it is of the time, too, in which nobody asked the pool for anything, and nobody knows how long that was.
    pub(crate) is_of_pool: bool,
    /// The processors that were granted on average, and how they were measured: PA.
    pub grant: Grant,
    /// How PA was found: by the system's clock ticks, if it was long enough for them; otherwise by what the workers waited for; or, where the system does not tell, not
    /// at all.
    pub grant_basis: GrantBasis,
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

    /// T1/T∞: so many processors it can use at most, if both are [known](Self::advice).
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

    /// T1/(PA·T): the part of the granted processors' time that was work. It says nothing where the work [was not of these workers](Self::is_mixed).
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
}

/// 1 if both are nothing.
pub(super) fn ratio(part: Duration, whole: Duration) -> f64 {
    if part == whole {
        return 1.0;
    }
    part.as_secs_f64() / whole.as_secs_f64().max(1e-12)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_whole = self.missing().is_empty();
        let at_least = if is_whole { "" } else { " at least" };
        writeln!(f, "{:.3?} on {} workers ({})", self.wall, self.workers, self.stats.governor)?;
        writeln!(f, "  work T1            {:>12.3?}{at_least}   forks: {}", self.work, self.forks)?;
        writeln!(f, "  critical path T∞   {:>12.3?}{at_least}", self.critical_path)?;
        if let Some(taken) = self.taken.filter(|&taken| ratio(taken, self.work) > 0.01) {
            writeln!(f, "    without        {taken:>16.3?} for which the kernel ran others")?;
        }
        for stretch in stretch::largest(&self.course, self.critical_path) {
            let share = 100.0 * stretch.share(self.critical_path);
            writeln!(f, "    {share:>3.0}% of it spawned {stretch}")?;
        }
        writeln!(
            f,
            "  parallelism        {:>12.1}   burdened {:.1} ({:?} an edge){}",
            self.parallelism(),
            self.burdened_parallelism(),
            Self::BURDEN,
            if is_whole { "" } else { "; of what was followed" }
        )?;
        writeln!(
            f,
            "  processors PA      {:>12.2}{}",
            self.grant.processors,
            match self.grant_basis {
                GrantBasis::Ticks => "",
                GrantBasis::Waits => "   by what the workers waited for",
                GrantBasis::WaitsOfTooMany =>
                    "   at most, by what the workers waited for: they may be more than the processors",
                GrantBasis::Allowance => "   allowed; it is not known what others took",
            }
        )?;
        if self.is_mixed {
            writeln!(f, "  utilization                   ?   of the workers of several pools")?;
        } else {
            writeln!(f, "  utilization        {:>12.3}{at_least}   T1/(PA T)", self.utilization())?;
            writeln!(
                f,
                "  bound              {:>12.3?}{at_least}   T1/PA + T∞ P/PA; the run took {:.2} of it",
                self.bound(),
                self.of_bound()
            )?;
        }
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
    crew: Crew,
    throttled: Option<Duration>,
    grant: GrantMeter,
    began: Instant,
}

impl Surroundings {
    /// For a region that is timed by `clock`. It begins when this returns.
    pub(crate) fn new(clock: Clock, stats: impl FnOnce() -> (PoolStats, Crew)) -> Self {
        clock.get_ready();
        let (throttled, grant) = (os::throttled(), GrantMeter::start());
        // Last, so that what the rest takes is not among the workers' times.
        let (stats, crew) = stats();
        Self { stats, crew, throttled, grant, began: Instant::now() }
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
        crew: Crew,
    ) -> Report {
        let (crew, stats) = (crew.or_more(self.crew), stats.since(&self.stats));
        let workers = crew.size;
        let mut grant = self.grant.so_far(workers);
        let mut grant_basis = GrantBasis::Ticks;
        if grant.others.is_none() || wall < LONG_ENOUGH {
            (grant.processors, grant_basis) = match told(&stats, wall) {
                Some(told) => self.grant.granted_by(crew, told),
                None => (grant.allowed, GrantBasis::Allowance),
            };
        }
        let throttled =
            os::throttled().map(|now| now.saturating_sub(self.throttled.unwrap_or_default()));
        // What a path has come to was done, though the account may lag behind.
        let work = figures.work.max(figures.path.span);
        let figures_of_time =
            [work, figures.path.span, figures.path.burdened, figures.taken.unwrap_or(0)];
        let mut ticks = [0; 4 + KEPT];
        ticks[..4].copy_from_slice(&figures_of_time);
        ticks[4..].copy_from_slice(&figures.course.map(|part| part.ticks));
        let [work, critical_path, burdened_critical_path, taken, times @ ..] =
            figures.clock.durations(ticks);
        let sites = figures.course.map(|Part { site, .. }| site);
        Report {
            wall,
            workers,
            work,
            critical_path,
            burdened_critical_path,
            course: stretch::of(sites.into_iter().zip(times)),
            taken: figures.taken.map(|_| taken),
            forks: figures.forks,
            uncarried: figures.uncarried,
            under_way: figures.under_way,
            is_mixed: figures.is_mixed,
            has_guest: false,
            is_of_pool: false,
            grant,
            grant_basis,
            stats,
            throttled,
        }
    }
}

/// What the workers have used and waited for, if the system says both of all of them.
fn told(stats: &PoolStats, wall: Duration) -> Option<Told> {
    let total = stats.total();
    let (used, waited) = total.processor_time.zip(total.off_processor)?;
    let of_wall = |time: Duration| time.as_secs_f64() / wall.as_secs_f64().max(1e-9);
    (!stats.workers.is_empty()).then(|| Told { used: of_wall(used), waited: of_wall(waited) })
}

#[cfg(all(test, not(loom)))]
pub(super) mod tests;
