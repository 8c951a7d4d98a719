//! Which processors share a core, a last-level cache and a socket.

use std::ops::Range;

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

impl Distance {
    /// The distances between two processors, from the inside out.
    pub(crate) const LEVELS: [Self; 4] = [Self::Core, Self::Cluster, Self::Socket, Self::Remote];
    /// How many distances there are.
    pub(crate) const COUNT: usize = Self::LEVELS.len() + 1;
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
        self.size(Distance::Remote)
    }

    /// How many processors have at most this distance from each other.
    pub const fn size(&self, distance: Distance) -> usize {
        let Self { sockets, clusters, cores, threads } = *self;
        match distance {
            Distance::Same => 1,
            Distance::Core => threads,
            Distance::Cluster => threads * cores,
            Distance::Socket => threads * cores * clusters,
            Distance::Remote => threads * cores * clusters * sockets,
        }
    }

    /// The number of the processor's core.
    pub const fn core(&self, cpu: Cpu) -> usize {
        cpu.index() / self.size(Distance::Core)
    }

    /// The number of the processor's cluster, in the whole machine.
    pub const fn cluster(&self, cpu: Cpu) -> usize {
        cpu.index() / self.size(Distance::Cluster)
    }

    /// The number of the processor's socket.
    pub const fn socket(&self, cpu: Cpu) -> usize {
        cpu.index() / self.size(Distance::Socket)
    }

    /// The indexes of the processors that have at most this distance from `cpu`.
    pub const fn within(&self, distance: Distance, cpu: Cpu) -> Range<usize> {
        let size = self.size(distance);
        let first = cpu.index() / size * size;
        first..first + size
    }

    /// The distances at which there are processors that are no nearer to `cpu`. With the processors
    /// at most that far, and with those that are nearer.
    pub(crate) fn levels(
        self,
        cpu: Cpu,
    ) -> impl Iterator<Item = (Distance, Range<usize>, Range<usize>)> {
        let mut inside = self.within(Distance::Same, cpu);
        Distance::LEVELS.into_iter().filter_map(move |level| {
            let span = self.within(level, cpu);
            let nearer = std::mem::replace(&mut inside, span.clone());
            (span.len() > nearer.len()).then_some((level, span, nearer))
        })
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
        assert_eq!(topology.within(Distance::Cluster, Cpu(9)), 8..16);
    }

    #[test]
    fn a_topology_has_processors_and_not_too_many() {
        assert_eq!(Topology::new(1, 0, 1, 1), Err(TopologyError { processors: 0 }));
        assert!(Topology::new(4, 1, 1024, 1).is_ok());
        assert!(Topology::new(4, 1, 1025, 1).is_err());
        assert!(Topology::new(usize::MAX, 2, 1, 1).is_err());
    }
}
