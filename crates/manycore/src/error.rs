//! Why a machine cannot be built, or its run cannot go on.

use crate::coherence::CacheCosts;
use crate::costs::SystemCosts;
use crate::ids::Nanos;
use crate::kernel::{Bandwidth, KernelCosts};
use crate::topology::TopologyError;

/// A run cannot begin or go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The machine has no processor, or too many.
    Topology(TopologyError),
    /// The speed of a processor is not between 1 and 1,000 thousandths, or there are more speeds
    /// than processors.
    Speeds,
    /// No thread can ever run again. The text lists what they wait for.
    Deadlock(String),
    /// The program has not ended at this time limit.
    TimeLimit(Nanos),
    /// A quota, its period or its slice is 0.
    Bandwidth(Bandwidth),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Topology(error) => error.fmt(f),
            Self::Speeds => {
                f.write_str("speeds are from 1 to 1,000 thousandths, one for each processor")
            }
            Self::Deadlock(threads) => write!(f, "deadlock: {threads}"),
            Self::TimeLimit(limit) => {
                let seconds = *limit as f64 / 1e9;
                write!(f, "the program has not ended after {seconds} s of virtual time, its limit")
            }
            Self::Bandwidth(bandwidth) => {
                write!(f, "a quota, its period and its slice are more than 0: {bandwidth:?}")
            }
        }
    }
}

impl std::error::Error for RunError {}

/// A name that no cost has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCost(pub(crate) String);

impl std::fmt::Display for UnknownCost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = [CacheCosts::NAMES, SystemCosts::NAMES, KernelCosts::NAMES].concat();
        write!(f, "unknown cost '{}'; there are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownCost {}
