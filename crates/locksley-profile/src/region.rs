//! A measurement, from its start to its report.

use std::time::Duration;

use locksley::Pool;
use locksley::extend::Stamp;
use locksley::stats::PoolStats;
use locksley_sys::primitive::Instant;

use crate::clock::Clock;
use crate::grant::{GrantBasis, GrantMeter, Told};
use crate::proc;
use crate::report::Report;
use crate::slots::Totals;

/// The length of a path to some moment, and the totals of the pool at that moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) path: Stamp,
    pub(crate) totals: Totals,
}

impl Figures {
    pub(crate) fn since(self, earlier: Self) -> Self {
        let (now, then) = (self.totals, earlier.totals);
        let path = [0, 1].map(|it: usize| self.path.0[it].saturating_sub(earlier.path.0[it]));
        // Work can decrease when taken time is subtracted later.
        let totals = Totals {
            work: (now.work - then.work).max(0),
            tasks: now.tasks - then.tasks,
            taken: now.taken.zip(then.taken).map(|(now, then)| now - then),
        };
        Self { path: Stamp(path), totals }
    }
}

/// The state when a measurement began.
#[derive(Debug)]
pub(crate) struct Start {
    /// `None` for a whole pool: the profiler is older than the pool.
    pool: Option<(PoolStats, usize)>,
    throttled: Option<Duration>,
    grant: GrantMeter,
    began: Instant,
}

/// The system counts in ticks of some milliseconds. In less time than this they are useless.
const LONG_ENOUGH: Duration = Duration::from_millis(500);

impl Start {
    pub(crate) fn of_pool() -> Self {
        Self::of(|| None)
    }

    pub(crate) fn of_region(pool: &Pool) -> Self {
        Self::of(|| Some((pool.stats(), pool.size())))
    }

    fn of(pool: impl FnOnce() -> Option<(PoolStats, usize)>) -> Self {
        let (throttled, grant) = (proc::throttled(), GrantMeter::start());
        // Last, so that the workers' times exclude the calls above.
        Self { pool: pool(), throttled, grant, began: Instant::now() }
    }

    /// Ends the measurement.
    pub(crate) fn report(&self, pool: &Pool, clock: Clock, figures: Figures) -> Report {
        let (wall, mut stats, mut workers) = (self.began.elapsed(), pool.stats(), pool.size());
        if let Some((before, workers_before)) = &self.pool {
            stats = stats.since(before);
            workers = workers.max(*workers_before);
        }
        let mut grant = self.grant.so_far(workers);
        let mut grant_basis = GrantBasis::Ticks;
        if grant.others.is_none() || wall < LONG_ENOUGH {
            (grant.processors, grant_basis) = match told(&stats, wall) {
                Some(told) => self.grant.granted_by(workers, told),
                None => (grant.allowed, GrantBasis::Allowance),
            };
        }
        let throttled =
            proc::throttled().map(|now| now.saturating_sub(self.throttled.unwrap_or(now)));
        let Figures { path: Stamp([span, burdened]), totals } = figures;
        let rate = clock.rate();
        let time = |ticks: u64| Duration::from_nanos((ticks as f64 / rate) as u64);
        // Without work, the pool has another observer, and the path is from that one.
        let is_observed = totals.work > 0;
        let path = |ticks: u64| if is_observed { time(ticks) } else { Duration::ZERO };
        Report {
            wall,
            workers,
            // The work includes the path.
            work: time(totals.work as u64).max(path(span)),
            span: path(span),
            burdened_span: path(burdened),
            taken: totals.taken.map(|taken| time(taken.max(0) as u64)),
            tasks: totals.tasks.max(0) as u64,
            is_of_pool: self.pool.is_none(),
            grant,
            grant_basis,
            stats,
            throttled,
        }
    }
}

/// The processor time and the waits of the workers, if the system tells both.
fn told(stats: &PoolStats, wall: Duration) -> Option<Told> {
    let total = stats.total();
    let (used, waited) = total.processor_time.zip(total.off_processor)?;
    let of_wall = |time: Duration| time.as_secs_f64() / wall.as_secs_f64().max(1e-9);
    (!stats.workers.is_empty()).then(|| Told { used: of_wall(used), waited: of_wall(waited) })
}
