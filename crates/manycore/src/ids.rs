//! Numbers with types: processors, threads, programs, and virtual time.

/// Virtual time since the machine started, or a duration, in nanoseconds.
pub type Nanos = u64;

/// One microsecond.
pub(crate) const MICROSECOND: Nanos = 1_000;
/// One millisecond.
pub(crate) const MILLISECOND: Nanos = 1_000_000;

/// A virtual processor, counted from 0 in the order of the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpu(pub u16);

/// A virtual thread, counted from 0 in the order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// A program: threads that share an address space. The closure that `run` is given is program 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProgramId(pub u16);

impl Cpu {
    /// The processor with this index.
    pub(crate) fn new(index: usize) -> Self {
        Self(u16::try_from(index).expect("a machine has at most 4,096 processors"))
    }

    /// Its index in tables of processors.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl ThreadId {
    /// Its index in tables of threads.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl ProgramId {
    /// Its index in tables of programs.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
