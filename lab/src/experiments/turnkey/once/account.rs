//! How a quota was kept while something was measured.

use std::time::Instant;

use super::groups::{Group, Kept};
use crate::corunner::processor_seconds;
use crate::experiments::turnkey::record::Throttling;
use crate::fault::Outcome;

/// Begun, and not ended.
pub(super) struct Account<'g> {
    group: &'g Group<'g>,
    begun: Instant,
    kept: Kept,
    worked: f64,
}

impl<'g> Account<'g> {
    /// Of this process, in that group.
    pub(super) fn begin(group: &'g Group<'g>) -> Outcome<Self> {
        Ok(Account { group, begun: Instant::now(), kept: group.kept()?, worked: worked() })
    }

    /// What has come of it.
    pub(super) fn end(self) -> Outcome<Throttling> {
        let (kept, wall) = (self.group.kept()?, self.begun.elapsed().as_secs_f64());
        let periods = kept.periods - self.kept.periods;
        let used_up = kept.used_up - self.kept.used_up;
        Ok(Throttling {
            used_up_per_s: used_up as f64 / wall,
            // The kernel counts a period when it ends: in a short time there may have been none.
            share_of_periods: used_up as f64 / periods.max(used_up).max(1) as f64,
            stopped: kept.stopped.saturating_sub(self.kept.stopped).as_secs_f64() / wall,
            worked: (worked() - self.worked).max(0.0) / wall,
        })
    }
}

/// Processor time of all threads, in seconds.
fn worked() -> f64 {
    processor_seconds().unwrap_or_default()
}
