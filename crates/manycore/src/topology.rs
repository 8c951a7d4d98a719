//! Which processors share a core, a last-level cache and a socket.

use crate::ids::{Cpu, Id};

/// The shape of the machine. Processors are numbered socket by socket, cluster by cluster, core by
/// core; the threads of a core are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    sockets: usize,
    clusters: usize,
    cores: usize,
    threads: usize,
}

/// What two processors share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// One processor.
    Same,
    /// Two hardware threads of one core.
    Core,
    /// Two cores with the same last-level cache.
    Cluster,
    /// Two clusters of one socket.
    Socket,
    /// Two sockets.
    Remote,
}

/// The most processors that a machine can have.
pub const MAX_PROCESSORS: usize = 4096;

/// A topology without processors, or with too many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopologyError {
    processors: usize,
}

impl std::fmt::Display for TopologyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} processors, where 1 to {MAX_PROCESSORS} are possible", self.processors)
    }
}

impl std::error::Error for TopologyError {}

impl Topology {
    /// `sockets`, each with `clusters` (groups with a last-level cache), each with `cores`, each
    /// with `threads` hardware threads.
    ///
    /// # Errors
    /// If that makes no processor, or more than [`MAX_PROCESSORS`].
    pub fn new(
        sockets: usize,
        clusters: usize,
        cores: usize,
        threads: usize,
    ) -> Result<Self, TopologyError> {
        let count = |n: usize, by: usize| n.saturating_mul(by);
        let processors = count(count(count(sockets, clusters), cores), threads);
        if !(1..=MAX_PROCESSORS).contains(&processors) {
            return Err(TopologyError { processors });
        }
        Ok(Self { sockets, clusters, cores, threads })
    }

    /// How many processors there are.
    pub const fn processors(&self) -> usize {
        self.sockets * self.processors_of_socket()
    }

    /// How many processors a cluster has.
    pub const fn processors_of_cluster(&self) -> usize {
        self.cores * self.threads
    }

    /// How many processors a socket has.
    pub const fn processors_of_socket(&self) -> usize {
        self.clusters * self.processors_of_cluster()
    }

    /// How many hardware threads a core has.
    pub const fn threads_of_core(&self) -> usize {
        self.threads
    }

    /// The number of the processor's core.
    pub const fn core(&self, cpu: Cpu) -> usize {
        cpu.index() / self.threads
    }

    /// The number of the processor's cluster, in the whole machine.
    pub const fn cluster(&self, cpu: Cpu) -> usize {
        cpu.index() / self.processors_of_cluster()
    }

    /// The number of the processor's socket.
    pub const fn socket(&self, cpu: Cpu) -> usize {
        cpu.index() / self.processors_of_socket()
    }

    /// The processors with the same last-level cache as `cpu`.
    pub fn cluster_of(&self, cpu: Cpu) -> impl DoubleEndedIterator<Item = Cpu> + use<> {
        let count = self.processors_of_cluster();
        let first = self.cluster(cpu) * count;
        (first..first + count).map(Cpu::new)
    }

    /// All processors.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = Cpu> + use<> {
        (0..self.processors()).map(Cpu::new)
    }

    /// What two processors share.
    pub const fn distance(&self, a: Cpu, b: Cpu) -> Distance {
        if a.index() == b.index() {
            Distance::Same
        } else if self.core(a) == self.core(b) {
            Distance::Core
        } else if self.cluster(a) == self.cluster(b) {
            Distance::Cluster
        } else if self.socket(a) == self.socket(b) {
            Distance::Socket
        } else {
            Distance::Remote
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_numbered_from_the_inside_out() {
        let topology = Topology::new(2, 2, 4, 2).unwrap();
        assert_eq!(topology.processors(), 32);
        let distance = |a, b| topology.distance(Cpu(a), Cpu(b));
        assert_eq!(distance(5, 5), Distance::Same);
        assert_eq!(distance(4, 5), Distance::Core);
        assert_eq!(distance(5, 6), Distance::Cluster);
        assert_eq!(distance(7, 8), Distance::Socket);
        assert_eq!(distance(15, 16), Distance::Remote);
        assert_eq!(topology.cluster_of(Cpu(9)).next(), Some(Cpu(8)));
        assert_eq!(topology.cluster_of(Cpu(9)).next_back(), Some(Cpu(15)));
    }

    #[test]
    fn a_topology_has_processors_and_not_too_many() {
        assert_eq!(Topology::new(1, 0, 1, 1), Err(TopologyError { processors: 0 }));
        assert!(Topology::new(4, 1, 1024, 1).is_ok());
        assert!(Topology::new(4, 1, 1025, 1).is_err());
        assert!(Topology::new(usize::MAX, 2, 1, 1).is_err());
    }
}
