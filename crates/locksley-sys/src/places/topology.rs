//! The machine: its processors, and what they have in common.

use std::collections::BTreeMap;
use std::path::Path;

use super::nesting;
use super::tree::Tree;
use super::{Doubt, Kind, Level, ProcessorSet, Region, TopologyError};
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
    pub(super) offline: ProcessorSet,
    pub(super) distances: BTreeMap<(usize, usize), u32>,
    pub(super) core_types: Vec<CoreType>,
    pub(super) doubts: Vec<Doubt>,
}

/// Cores of one design, on a machine that has several.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::Topology;
///
/// for core_type in Topology::of_this_machine().core_types() {
///     println!("{}: {}", core_type.name.as_deref().unwrap_or("cores"), core_type.processors);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoreType {
    /// What the system calls them, if it does.
    pub name: Option<String>,
    /// How much such a processor does in a given time, where the fastest does 1024; of the fastest
    /// of this type. If the system tells.
    pub capacity: Option<u32>,
    /// The processors of this type.
    pub processors: ProcessorSet,
}

impl Topology {
    /// The machine that this process runs on. Where the system does not tell, it is one whose
    /// processors have nothing in common, as far as is known, and [`doubts`](Self::doubts) says
    /// why.
    ///
    /// It has all processors that are online, whether or not this process may use them.
    #[must_use]
    pub fn of_this_machine() -> Self {
        #[cfg(all(target_os = "linux", not(locksley_portable)))]
        let read = Self::read(Path::new("/")).map_err(|error| Doubt::Machine(error.to_string()));
        #[cfg(not(all(target_os = "linux", not(locksley_portable))))]
        let read: Result<Self, _> = Err(Doubt::Machine("not known on this system".to_owned()));
        read.unwrap_or_else(|doubt| {
            let processors = Processors::allowed().ids().iter().copied().collect();
            let mut machine = Self::of(processors, []);
            machine.doubts.push(doubt);
            machine
        })
    }

    /// The Linux machine whose `sys/devices` is below `root`: `/`, or a folder with a copy of
    /// another machine's.
    ///
    /// # Errors
    /// If there are no processors below `root`, or what there is cannot be read. Whatever else is
    /// missing or makes no sense is left out, and told by [`doubts`](Self::doubts).
    ///
    /// # Examples
    /// ```
    /// # use locksley_sys as locksley;
    /// use std::path::Path;
    /// use locksley::places::{Topology, TopologyError};
    ///
    /// let nowhere = Topology::read(Path::new("/nowhere"));
    /// assert!(matches!(nowhere, Err(TopologyError::Unreadable { .. })));
    /// ```
    pub fn read(root: &Path) -> Result<Self, TopologyError> {
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
    /// assert_eq!(machine.doubts()[0].to_string(), "left out: L3: 3-4, which contradicts L3: 0-3");
    /// ```
    #[must_use]
    pub fn of(processors: ProcessorSet, regions: impl IntoIterator<Item = Region>) -> Self {
        let restricted = regions.into_iter().map(|region| region.restricted_to(&processors));
        let (empty, regions): (Vec<_>, Vec<_>) =
            restricted.partition(|region| region.processors().is_empty());
        let (levels, doubts) = nesting::levels(regions);
        let near = levels.iter().filter(|level| level.kind() == Kind::Memory);
        let far = empty.into_iter().filter(|region| region.kind() == Kind::Memory);
        let mut memories: Vec<Region> = near.flat_map(Level::regions).cloned().chain(far).collect();
        memories.sort_by_key(|memory| (memory.number(), memory.processors().first()));
        memories.dedup();
        Self {
            processors,
            levels,
            memories,
            offline: ProcessorSet::new(),
            distances: BTreeMap::new(),
            core_types: Vec::new(),
            doubts,
        }
    }

    /// The machine as those see it who may use no more than `processors`. Its memories are all
    /// still there.
    ///
    /// # Examples
    /// ```
    /// # use locksley_sys as locksley;
    /// use locksley::places::{Kind, ProcessorSet, Region, Topology};
    ///
    /// let machine = Topology::of((0..8).collect(), [Region::new(Kind::L3, (0..4).collect())]);
    /// let part = machine.restricted_to(&"2-5".parse()?);
    /// assert_eq!(part.level(Kind::L3).unwrap().regions()[0].processors().to_string(), "2-3");
    /// # Ok::<(), locksley::places::NoProcessorSet>(())
    /// ```
    #[must_use]
    pub fn restricted_to(&self, processors: &ProcessorSet) -> Self {
        let others = self.levels.iter().filter(|level| level.kind() != Kind::Memory);
        let regions = others.flat_map(Level::regions).chain(&self.memories).cloned();
        let types = self.core_types.iter().map(|core_type| CoreType {
            processors: core_type.processors.intersection(processors),
            ..core_type.clone()
        });
        let part = Self::of(self.processors.intersection(processors), regions);
        Self {
            offline: self.offline.clone(),
            distances: self.distances.clone(),
            core_types: types.filter(|of| !of.processors.is_empty()).collect(),
            doubts: self.doubts.clone(),
            ..part
        }
    }

    /// The processors that are online.
    #[must_use]
    pub fn processors(&self) -> &ProcessorSet {
        &self.processors
    }

    /// The processors that are there, and not online.
    #[must_use]
    pub fn offline(&self) -> &ProcessorSet {
        &self.offline
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

    /// The designs of cores, where there are several; empty where all are alike, as far as is
    /// known.
    #[must_use]
    pub fn core_types(&self) -> &[CoreType] {
        &self.core_types
    }

    /// What the system said that could not be read, made no sense, or contradicted something else.
    #[must_use]
    pub fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    /// The regions as a tree.
    #[must_use]
    pub fn tree(&self) -> Tree {
        Tree::of(self)
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
