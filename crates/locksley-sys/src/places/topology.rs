//! The machine: its processors, and what they have in common.

use std::fmt;

use super::sort::sort_by_key;
use super::{Kind, Level, ProcessorSet, Region, nesting};

/// The processors of a machine that are online, and what they have in common: packages, memories,
/// caches, cores.
///
/// Any two regions are either apart, or one is in the other. Whatever the system says that does not
/// fit is left out, and told by [`doubts`](Self::doubts).
///
/// Its text has a line for each group of regions of one level that are alike.
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
///     println!("{} cores", cores.regions.len());
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    processors: ProcessorSet,
    /// The outer ones first.
    levels: Vec<Level>,
    memories: Vec<Region>,
    pub(super) distances: Distances,
    pub(super) doubts: Vec<String>,
}

/// How far it is from one memory to another one. In ascending order of both.
pub(super) type Distances = Vec<((usize, usize), u32)>;

impl Topology {
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
    /// assert_eq!(machine.level(Kind::L3).unwrap().regions, [cache(0..4), cache(4..8)]);
    /// assert_eq!(machine.doubts(), ["left out: L3: 3-4, which contradicts L3: 0-3"]);
    /// ```
    #[must_use]
    pub fn of(processors: ProcessorSet, regions: impl IntoIterator<Item = Region>) -> Self {
        Self::of_regions(processors, regions.into_iter().collect())
    }

    pub(super) fn of_regions(processors: ProcessorSet, regions: Vec<Region>) -> Self {
        let restricted = regions.iter().map(|region| region.restricted_to(&processors));
        let (empty, regions): (Vec<_>, Vec<_>) =
            restricted.partition(|region| region.processors.is_empty());
        let (levels, doubts) = nesting::levels(regions);
        let near = levels.iter().flat_map(|level| &level.regions).cloned();
        let memories = near.chain(empty).filter(|region| region.kind == Kind::Memory);
        let mut memories: Vec<Region> = memories.collect();
        // Memories without a number, or without processors, come first.
        let key = |key: Option<usize>| key.map_or(0, |key| key.saturating_add(1));
        sort_by_key(&mut memories, |it| (key(it.number), key(it.processors.first())));
        memories.dedup();
        Self { processors, levels, memories, distances: Vec::new(), doubts }
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
        self.levels.iter().find(|level| level.kind == kind)
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
        let found = self.distances.binary_search_by_key(&(from, to), |&(memories, _)| memories);
        found.ok().map(|found| self.distances[found].1)
    }

    /// What the system said that could not be read, made no sense, or contradicted something else.
    #[must_use]
    pub fn doubts(&self) -> &[String] {
        &self.doubts
    }

    /// How far apart two processors are: how many processors have something in common that these
    /// have in common, and how far their memories are from each other. Less is nearer.
    pub(super) fn separation(&self, a: usize, b: usize) -> (usize, u32) {
        let common = self.levels.iter().filter_map(|level| level.region_of(a));
        let common = common.filter(|region| region.processors.contains(b));
        let smallest = common.map(|region| region.processors.len()).min();
        let memory_of = |processor| self.level(Kind::Memory)?.region_of(processor)?.number;
        let distance = memory_of(a).zip(memory_of(b)).and_then(|(a, b)| self.distance(a, b));
        (smallest.unwrap_or(usize::MAX), distance.unwrap_or(u32::MAX))
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "processors: {}", self.processors)?;
        for level in &self.levels {
            // Programs are bound to packages and memories by their numbers.
            let numbered = matches!(level.kind, Kind::Package | Kind::Memory);
            for alike in level.regions.chunk_by(|a, b| a.name(numbered) == b.name(numbered)) {
                let sets = alike.iter().map(|region| region.processors.to_string());
                let sets = sets.collect::<Vec<_>>().join(" | ");
                writeln!(f, "{}: {sets}", alike[0].name(numbered))?;
            }
        }
        for memory in self.memories.iter().filter(|memory| memory.processors.is_empty()) {
            writeln!(f, "without processors: {memory}")?;
        }
        self.doubts.iter().try_for_each(|doubt| writeln!(f, "doubtful: {doubt}"))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_described() {
        let set = |list: &str| list.parse::<ProcessorSet>().unwrap();
        let region = |kind, list: &str| Region::new(kind, set(list));
        let mut regions = Vec::new();
        for package in 0..2 {
            let first = 4 * package;
            let list = format!("{first}-{}", first + 3);
            regions.push(region(Kind::Package, &list).with_number(package));
            regions.push(region(Kind::Memory, &list).with_number(package).with_bytes(16 << 30));
            for core in first..first + 4 {
                let list = core.to_string();
                regions.push(region(Kind::Core, &list).with_number(core));
                regions.push(region(Kind::L2, &list).with_bytes(1 << 20));
            }
        }
        regions.push(region(Kind::L3, "4-5").with_bytes(32 << 20));
        regions.push(region(Kind::Memory, "").with_number(2).with_bytes(64 << 30));
        regions.push(region(Kind::L3, "0,7"));
        let machine = Topology::of(set("0-8"), regions);
        let expected = "\
processors: 0-8
package 0: 0-3
package 1: 4-7
memory 0 (16 GiB): 0-3
memory 1 (16 GiB): 4-7
L3 (32 MiB): 4-5
L2 (1 MiB): 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7
core: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7
without processors: memory 2 (64 GiB)
doubtful: left out: L3: 0,7, which contradicts package 0: 0-3
";
        assert_eq!(machine.to_string(), expected);
    }
}
