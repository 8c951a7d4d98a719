//! Control groups with a quota (`cpu.max`).

use super::config::MILLISECOND;
use crate::ids::Nanos;

/// A control group, counted from 0 in the order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

impl GroupId {
    /// Its index in tables of groups.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The quota of a control group: its threads together run for `quota` in each `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// Run time for each period.
    pub quota: Nanos,
    /// Linux: 100 ms by default.
    pub period: Nanos,
    /// What a processor takes from the quota at once. Linux: `sched_cfs_bandwidth_slice_us`, 5 ms.
    pub slice: Nanos,
}

impl Bandwidth {
    /// A quota of this many thousandths of a processor, with Linux's period and slice.
    pub const fn of_processors(thousandths: u64) -> Self {
        let period = 100 * MILLISECOND;
        Self { quota: period / 1000 * thousandths, period, slice: 5 * MILLISECOND }
    }
}

/// What a group's quota did: `cpu.stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTimes {
    /// Periods in which the group was active (`nr_periods`).
    pub periods: u64,
    /// Those of them in which a processor was throttled (`nr_throttled`).
    pub throttled_periods: u64,
}
