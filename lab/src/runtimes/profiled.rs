//! A pool with a profiler.

use ::locksley::{Pool, PoolBuilder};
use locksley_profile::{Profiler, Report};

use super::locksley;
use crate::apps::Instance;

/// A Locksley pool with its workers started, and its profiler; dropping it ends the workers.
pub struct Profiled {
    pool: Pool,
    profiler: Profiler,
}

impl Profiled {
    /// A pool of `workers` with these options and a profiler.
    pub(super) fn start(
        workers: usize,
        options: impl FnOnce(PoolBuilder) -> PoolBuilder,
    ) -> Result<Profiled, String> {
        let profiler = Profiler::new();
        let observed = |builder| options(builder).observer(profiler.clone());
        let pool = locksley::pool(workers, observed)?;
        Ok(Profiled { pool, profiler })
    }

    /// Resets `instance`, computes its answer and reports work and span.
    pub fn compute(&self, instance: &mut dyn Instance) -> Report {
        instance.reset();
        self.profiler.measure(&self.pool, |_| instance.locksley(&self.pool)).1
    }
}
