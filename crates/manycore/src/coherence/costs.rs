//! What an access costs.

use crate::costs::costs;
use crate::ids::{Cpu, Nanos};
use crate::topology::{Distance, Topology};

/// What an operation does to its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes as one operation: also a compare-exchange that fails.
    ReadModifyWrite,
}

costs! {
    /// The costs of a machine's caches. All are times in nanoseconds.
    ///
    /// The presets name the source of each group of values. Values without a source are
    /// assumptions, and are said to be.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CacheCosts {
        /// A load or store of a line that the processor has in the state that it needs.
        hit = 1,
        /// A read-modify-write of a line that the processor owns, instead of `hit`. One that misses
        /// takes the transfer and then this.
        read_modify_write = 8,
        /// A sequentially consistent fence, once earlier stores are done.
        fence = 8,
        /// One `spin_loop`.
        pause = 16,
        /// Transfer of a line between two hardware threads of a core.
        core = 10,
        /// Transfer between two cores with the same last-level cache.
        cluster = 38,
        /// Transfer between two clusters of a socket.
        socket = 107,
        /// Transfer between two sockets.
        remote = 197,
        /// First access to a line that no processor has touched.
        memory = 90,
        /// Added to a store or read-modify-write of a shared line for each other sharer.
        invalidation = 1,
        /// How long one read of a shared line occupies it: the next request starts that much later.
        /// Every other transfer occupies its line until it has arrived.
        shared_occupancy = 10,
        /// How long a processor keeps a line that a read-modify-write brought, counted from its
        /// arrival. Requests by others are served afterwards. 0: until the operation is over.
        lease = 40,
        /// How long a transfer between sockets occupies the link of the socket that it goes to. 0:
        /// the link has no limit.
        link = 1,
    }
}

impl CacheCosts {
    /// Xeon Platinum 8375C (Ice Lake, 32 cores, `c6i.metal`).
    ///
    /// Core to core 51 ns, socket to socket 108 ns, hyper-threads 8.1 ns: medians of
    /// <https://github.com/nviennot/core-to-core-latency>. Pause: 140 cycles (Intel's optimization
    /// manual) at 2.9 GHz. A socket is one cluster. The others are assumptions.
    pub const fn ice_lake_8375c() -> Self {
        let (read_modify_write, pause) = (6, 48);
        let (core, cluster, socket, remote, memory) = (8, 51, 51, 108, 85);
        let assumed = Self::DEFAULT;
        Self { read_modify_write, pause, core, cluster, socket, remote, memory, ..assumed }
    }

    /// EPYC 7R13 (Milan, 48 cores in clusters of 8, two sockets: `c6a.metal`).
    ///
    /// In a cluster 23 ns, between clusters 107 ns, between sockets 197 ns, hyper-threads 9.8 ns:
    /// medians of <https://github.com/nviennot/core-to-core-latency>. Pause, read-modify-write and
    /// lease as in [`epyc_guest`](Self::epyc_guest). The others are assumptions.
    pub const fn milan() -> Self {
        Self { cluster: 23, memory: 100, ..Self::DEFAULT }
    }

    /// Graviton 3 (64 cores, one socket, one cluster, no hardware threads, `c7g.16xlarge`).
    ///
    /// Core to core 46 ns: the median of <https://github.com/nviennot/core-to-core-latency>. The
    /// others are assumptions; there is no second socket, so `remote` is twice `cluster`.
    pub const fn graviton_3() -> Self {
        let (read_modify_write, pause, link) = (5, 15, 0);
        let (core, cluster, socket, remote, memory) = (46, 46, 46, 92, 115);
        let assumed = Self::DEFAULT;
        Self { read_modify_write, pause, core, cluster, socket, remote, memory, link, ..assumed }
    }

    /// A virtual machine with two EPYC processors, which have one last-level cache: the default.
    ///
    /// `cluster`, `read_modify_write`, `pause` and `lease` are fitted: a ping-pong between the two
    /// then takes 162 ns (173 to 187 measured), a contended add 31 ns (31 measured). The other
    /// distances are those of [`milan`](Self::milan). The remaining values are assumptions.
    pub const fn epyc_guest() -> Self {
        Self::DEFAULT
    }

    /// The time of an access by a processor that has the line.
    pub(super) const fn access(&self, access: Access) -> Nanos {
        match access {
            Access::Load | Access::Store => self.hit,
            Access::ReadModifyWrite => self.read_modify_write,
        }
    }

    /// The latency of a transfer over this distance.
    pub const fn transfer(&self, distance: Distance) -> Nanos {
        match distance {
            Distance::Same => self.hit,
            Distance::Core => self.core,
            Distance::Cluster => self.cluster,
            Distance::Socket => self.socket,
            Distance::Remote => self.remote,
        }
    }

    /// The least time that a miss takes on such a machine: how far a processor may run ahead of
    /// the others. See [the module](super).
    pub fn min_transfer(&self, topology: &Topology) -> Nanos {
        let levels = topology.levels(Cpu(0));
        levels.map(|(distance, ..)| self.transfer(distance)).fold(self.memory, Nanos::min)
    }
}
