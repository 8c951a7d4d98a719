//! What the meter says of a computation.

use locksley::meter::Report;
use serde::{Deserialize, Serialize};

/// Work and critical path. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Metered {
    /// T1, with what metering costs.
    pub work: f64,
    /// T∞, with what metering costs.
    pub critical_path: f64,
    /// The same with 5 µs for each edge that could be one between workers.
    pub burdened_critical_path: f64,
    /// How many times it forked.
    pub forks: u64,
    /// Waits whose order the meter does not follow.
    pub uncarried: u64,
}

impl Metered {
    /// From the meter's report.
    pub(in crate::experiments) fn new(report: &Report) -> Metered {
        Metered {
            work: report.work.as_secs_f64(),
            critical_path: report.critical_path.as_secs_f64(),
            burdened_critical_path: report.burdened_critical_path.as_secs_f64(),
            forks: report.forks,
            uncarried: report.uncarried,
        }
    }

    /// Whether work and critical path are times.
    pub(crate) fn is_sound(&self) -> bool {
        [self.work, self.critical_path].into_iter().all(is_time)
    }
}

/// Whether so many seconds can have been measured.
pub(crate) fn is_time(seconds: f64) -> bool {
    seconds.is_finite() && seconds > 0.0
}
