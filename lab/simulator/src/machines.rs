//! Machines and kernels by name.

use std::str::FromStr;

use manycore::Machine;
use manycore::coherence::CacheCosts;
use manycore::kernel::{CfsYield, EevdfYield, KernelConfig};
use manycore::machine::Builder;

/// The shape and the costs of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// One socket; costs of two virtual processors of an AMD EPYC.
    Guest,
    /// Sockets of 32 cores with one last-level cache.
    IceLake,
    /// Sockets of 64 cores, clusters of 8.
    Milan,
    /// One socket of up to 64 cores; above that, several.
    Graviton,
}

impl Model {
    /// A machine of this kind with that many processors.
    pub fn builder(self, processors: usize) -> Result<Builder, String> {
        let (costs, cluster, socket) = match self {
            Self::Guest => (CacheCosts::epyc_guest(), processors, processors),
            Self::IceLake => (CacheCosts::ice_lake_8375c(), 32, 32),
            Self::Milan => (CacheCosts::milan(), 8, 64),
            Self::Graviton => (CacheCosts::graviton_3(), 64, 64),
        };
        let cores = cluster.min(processors);
        let clusters = (socket.min(processors)).div_ceil(cores.max(1));
        let sockets = processors.div_ceil((cores * clusters).max(1));
        if sockets * clusters * cores != processors {
            return Err(format!(
                "{processors} processors do not fill clusters of {cluster} and sockets of {socket}; \
                 guest has any number"
            ));
        }
        let machine = Machine::builder().sockets(sockets).clusters(clusters).cores(cores);
        Ok(machine.costs(costs))
    }
}

impl FromStr for Model {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "guest" => Self::Guest,
            "ice-lake" => Self::IceLake,
            "milan" => Self::Milan,
            "graviton" => Self::Graviton,
            _ => {
                let known = "guest, ice-lake, milan, graviton";
                return Err(format!("unknown machine '{text}'; there are {known}"));
            }
        })
    }
}

/// A kernel's scheduler.
#[derive(Clone, Copy, Debug)]
pub struct KernelName(fn() -> KernelConfig);

impl KernelName {
    /// Its settings.
    pub fn config(self) -> KernelConfig {
        (self.0)()
    }
}

impl FromStr for KernelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(match text {
            "linux-6.18" => KernelConfig::linux_6_18,
            "linux-6.12-late" => || KernelConfig::linux_6_12(EevdfYield::Forfeit),
            "linux-6.6" => KernelConfig::linux_6_6,
            "linux-5" => KernelConfig::linux_5,
            "linux-2.6" => || KernelConfig::linux_2_6(CfsYield::Stay),
            "linux-2.6-compat" => || KernelConfig::linux_2_6(CfsYield::Compat),
            "round-robin" => || KernelConfig::round_robin(10_000_000),
            _ => {
                let known = "linux-6.18, linux-6.12-late, linux-6.6, linux-5, linux-2.6, \
                             linux-2.6-compat, round-robin";
                return Err(format!("unknown kernel '{text}'; there are {known}"));
            }
        }))
    }
}
