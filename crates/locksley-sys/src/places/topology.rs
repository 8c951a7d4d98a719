//! The machine: its processors, and what they have in common.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::{Kind, Level, ProcessorSet, Region, nesting};
use crate::os::Processors;

/// The processors of a machine that are online, and what they have in common: packages, memories,
/// caches, cores.
///
/// Any two regions are either apart, or one is in the other: that is what makes it a
/// [tree](Self::tree). Whatever the system says that does not fit is left out, and told by
/// [`doubts`](Self::doubts).
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::{Kind, Topology};
///
/// let machine = Topology::of_this_machine();
/// println!("{machine}");
/// assert!(!machine.processors().is_empty());
/// if let Some(cores) = machine.level(Kind::Core) {
///     println!("{} cores", cores.regions().len());
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    processors: ProcessorSet,
    /// The outer ones first.
    levels: Vec<Level>,
    memories: Vec<Region>,
    pub(super) distances: BTreeMap<(usize, usize), u32>,
    pub(super) doubts: Vec<String>,
}

impl Topology {
    /// The machine that this process runs on. Where the system does not tell, its
    /// processors have nothing in common, as far as is known, and [`doubts`](Self::doubts) says
    /// why.
    ///
    /// It has all processors that are online, whether or not this process may use them.
    #[must_use]
    pub fn of_this_machine() -> Self {
        let read = if cfg!(all(target_os = "linux", not(locksley_portable))) {
            Self::read(Path::new("/"))
        } else {
            Err(io::Error::new(io::ErrorKind::Unsupported, "not known on this system"))
        };
        read.unwrap_or_else(|error| {
            let processors = Processors::allowed().ids().iter().copied().collect();
            Self { doubts: vec![error.to_string()], ..Self::of(processors, []) }
        })
    }

    /// The Linux machine with its `sys/devices` below `root`: `/`, or a folder with a copy of
    /// another machine's.
    ///
    /// # Errors
    /// If it is not said there which processors are online. Whatever else is missing or makes no
    /// sense is left out, and told by [`doubts`](Self::doubts).
    ///
    /// # Examples
    /// ```
    /// # use locksley_sys as locksley;
    /// use std::path::Path;
    /// use locksley::places::Topology;
    ///
    /// let error = Topology::read(Path::new("/nowhere")).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// ```
    pub fn read(root: &Path) -> io::Result<Self> {
        super::sysfs::read(root)
    }

    /// A machine made by hand. Regions that are named twice are one; a region that contradicts
    /// another one is left out (see [`doubts`](Self::doubts)), and so are processors that are not
    /// among `processors`. A memory may have none.
    ///
    /// # Examples
    /// ```
    /// # use locksley_sys as locksley;
    /// use locksley::places::{Kind, ProcessorSet, Region, Topology};
    ///
    /// let cache = |processors| Region::new(Kind::L3, ProcessorSet::from_iter(processors));
    /// let machine = Topology::of((0..8).collect(), [cache(0..4), cache(4..8), cache(3..5)]);
    /// assert_eq!(machine.level(Kind::L3).unwrap().regions(), [cache(0..4), cache(4..8)]);
    /// assert_eq!(machine.doubts(), ["left out: L3: 3-4, which contradicts L3: 0-3"]);
    /// ```
    #[must_use]
    pub fn of(processors: ProcessorSet, regions: impl IntoIterator<Item = Region>) -> Self {
        let restricted = regions.into_iter().map(|region| region.restricted_to(&processors));
        let (empty, regions): (Vec<_>, Vec<_>) =
            restricted.partition(|region| region.processors().is_empty());
        let (levels, doubts) = nesting::levels(regions);
        let near = levels.iter().flat_map(Level::regions).cloned();
        let memories = near.chain(empty).filter(|region| region.kind() == Kind::Memory);
        let mut memories: Vec<Region> = memories.collect();
        memories.sort_by_key(|memory| (memory.number(), memory.processors().first()));
        memories.dedup();
        Self { processors, levels, memories, distances: BTreeMap::new(), doubts }
    }

    /// The processors that are online.
    #[must_use]
    pub fn processors(&self) -> &ProcessorSet {
        &self.processors
    }

    /// What the processors have in common, the outer levels first: those with the larger regions,
    /// on average.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The level of this kind, if the machine has it.
    #[must_use]
    pub fn level(&self, kind: Kind) -> Option<&Level> {
        self.levels.iter().find(|level| level.kind() == kind)
    }

    /// The memories (NUMA nodes) by their numbers: also those without processors, and those of no
    /// bytes, next to which there are only processors.
    #[must_use]
    pub fn memories(&self) -> &[Region] {
        &self.memories
    }

    /// How far the memory with number `to` is from the one with number `from`, where 10 is how far
    /// it is from itself. If the system tells.
    #[must_use]
    pub fn distance(&self, from: usize, to: usize) -> Option<u32> {
        self.distances.get(&(from, to)).copied()
    }

    /// What the system said that could not be read, made no sense, or contradicted something else.
    #[must_use]
    pub fn doubts(&self) -> &[String] {
        &self.doubts
    }

    /// How far apart two processors are: how many processors have something in common that these
    /// have in common, and how far their memories are from each other. Less is nearer.
    pub(super) fn separation(&self, a: usize, b: usize) -> (usize, u32) {
        let common = self.levels.iter().filter_map(|level| {
            level.region_of(a).filter(|region| region.processors().contains(b))
        });
        let smallest = common.map(|region| region.processors().len()).min();
        let memory_of = |processor| self.level(Kind::Memory)?.region_of(processor)?.number();
        let distance = memory_of(a).zip(memory_of(b)).and_then(|(a, b)| self.distance(a, b));
        (smallest.unwrap_or(usize::MAX), distance.unwrap_or(u32::MAX))
    }
}
