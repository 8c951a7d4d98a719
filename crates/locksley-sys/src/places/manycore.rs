//! The topology of a virtual multiprocessor (the crate `manycore`).

use super::{Kind, Region, Topology};
use crate::os;

impl Topology {
    /// The machine that runs this code, with all its processors.
    #[must_use]
    pub fn of_this_machine() -> Self {
        let kinds = [Kind::Core, Kind::L3, Kind::Package];
        let groups = kinds.into_iter().zip(os::shared_hardware());
        let regions = groups.flat_map(|(kind, groups)| {
            groups.into_iter().map(move |group| Region::new(kind, group.into_iter().collect()))
        });
        let processors = 0..os::online_processors().unwrap_or(1);
        Self::of(processors.collect(), regions)
    }
}
