//! What the profiler says of a computation.

use locksley_profile::Report;
use serde::{Deserialize, Serialize};

/// Work and critical path (span). Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Metered {
    /// T1, with what profiling costs.
    pub work: f64,
    /// T∞, with what profiling costs.
    pub critical_path: f64,
    /// The same with 5 µs for each edge that could be one between workers.
    pub burdened_critical_path: f64,
    /// How many times it forked.
    pub forks: u64,
    /// Waits whose order was not followed, by records of the former meter. The profiler has no such
    /// count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncarried: u64,
}

impl Metered {
    /// From the profiler's report.
    pub(in crate::experiments) fn new(report: &Report) -> Metered {
        Metered {
            work: report.work.as_secs_f64(),
            critical_path: report.span.as_secs_f64(),
            burdened_critical_path: report.burdened_span.as_secs_f64(),
            forks: report.tasks,
            uncarried: 0,
        }
    }

    /// Whether work and critical path are times.
    pub(crate) fn is_sound(&self) -> bool {
        [self.work, self.critical_path].into_iter().all(is_time)
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Whether so many seconds can have been measured.
pub(crate) fn is_time(seconds: f64) -> bool {
    seconds.is_finite() && seconds > 0.0
}
