//! A machine's regions as a tree.

use super::{ProcessorSet, Region, Topology};

/// A part of a machine: processors, what they all have in common, and the parts within it.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::{Kind, Region, Topology};
///
/// let cache = |kind, processors| Region::new(kind, processors);
/// let machine = Topology::of(
///     (0..4).collect(),
///     [cache(Kind::L3, (0..4).collect()), cache(Kind::L2, (0..2).collect())],
/// );
/// let tree = machine.tree();
/// assert_eq!(tree.shared[0].kind(), Kind::L3);
/// assert_eq!(tree.parts[0].processors.to_string(), "0-1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tree {
    /// All processors of this part.
    pub processors: ProcessorSet,
    /// What they have in common, and no other processor with them; the outer things first.
    pub shared: Vec<Region>,
    /// The parts within this one, in the order of their first processors. There may be processors
    /// that are in none.
    pub parts: Vec<Tree>,
}

impl Tree {
    pub(super) fn of(topology: &Topology) -> Self {
        let mut tree = Self::leaf(topology.processors().clone());
        let mut regions: Vec<&Region> =
            topology.levels().iter().flat_map(|level| level.regions()).collect();
        regions.sort_by_key(|region| {
            (std::cmp::Reverse(region.processors().len()), region.kind().rank())
        });
        for region in regions {
            tree.insert(region);
        }
        tree.sort();
        tree
    }

    fn leaf(processors: ProcessorSet) -> Self {
        Self { processors, shared: Vec::new(), parts: Vec::new() }
    }

    /// The region is within this part, and no larger than any before it.
    fn insert(&mut self, region: &Region) {
        let Some(first) = region.processors().first() else { return };
        if self.processors == *region.processors() {
            self.shared.push(region.clone());
        } else if let Some(part) = self.parts.iter_mut().find(|p| p.processors.contains(first)) {
            part.insert(region);
        } else {
            let part = Self::leaf(region.processors().clone());
            self.parts.push(Self { shared: vec![region.clone()], ..part });
        }
    }

    fn sort(&mut self) {
        self.parts.sort_by_key(|part| part.processors.first());
        self.parts.iter_mut().for_each(Self::sort);
    }
}
