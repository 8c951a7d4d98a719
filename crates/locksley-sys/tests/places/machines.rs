//! Machines made up for tests.

use locksley_sys::places::{Kind, ProcessorSet, Region, Topology};

/// A linear congruential generator: enough to vary tests, and the same each time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }

    /// Some of `set`, at least one.
    pub(crate) fn part_of(&mut self, set: &ProcessorSet) -> ProcessorSet {
        let mut part: ProcessorSet = set.iter().filter(|_| self.coin()).collect();
        if part.is_empty() {
            part = [set.as_slice()[self.below(set.len())]].into_iter().collect();
        }
        part
    }
}

pub(crate) fn set(list: &str) -> ProcessorSet {
    list.parse().unwrap()
}

/// A machine of which each part is like any other of its kind, with processors that are numbered in
/// any way.
#[derive(Debug)]
pub(crate) struct Even {
    /// The kinds that it has, with the number of processors of each region.
    pub(crate) sizes: Vec<(Kind, usize)>,
    /// The processors, those near to each other side by side.
    pub(crate) numbers: Vec<usize>,
    pub(crate) regions: Vec<Region>,
}

impl Even {
    pub(crate) fn new(random: &mut Random) -> Self {
        let threads = 1 + random.below(2);
        let second = threads * (1 + random.below(2));
        let third = second * (1 + random.below(3));
        let memory = third * (1 + random.below(3));
        let package = memory * (1 + random.below(3));
        let all = package * (1 + random.below(3));
        let mut sizes = vec![
            (Kind::Package, package),
            (Kind::Memory, memory),
            (Kind::L3, third),
            (Kind::L2, second),
            (Kind::L1, threads),
            (Kind::Core, threads),
        ];
        sizes.retain(|_| random.below(5) > 0);
        let mut numbers: Vec<usize> = (0..all + random.below(70)).collect();
        random.shuffle(&mut numbers);
        numbers.truncate(all);
        let mut regions = Vec::new();
        for &(kind, size) in &sizes {
            for (index, processors) in numbers.chunks(size).enumerate() {
                let region = Region::new(kind, processors.iter().copied().collect());
                regions.push(match kind {
                    Kind::Package | Kind::Core => region.with_number(3 * index),
                    Kind::Memory => region.with_number(2 * index).with_bytes(1 << 30),
                    _ => region.with_bytes(48 << 10),
                });
            }
        }
        Self { sizes, numbers, regions }
    }

    pub(crate) fn topology(&self) -> Topology {
        Topology::of(self.numbers.iter().copied().collect(), self.regions.clone())
    }

    pub(crate) fn size(&self, kind: Kind) -> Option<usize> {
        self.sizes.iter().find(|size| size.0 == kind).map(|size| size.1)
    }
}

/// Panics if regions overlap, or name processors that are not there.
pub(crate) fn check_nesting(machine: &Topology) {
    let levels = machine.levels();
    for (index, level) in levels.iter().enumerate() {
        for region in &level.regions {
            let processors = &region.processors;
            assert_eq!(region.kind, level.kind);
            assert!(!processors.is_empty() && processors.is_subset(machine.processors()));
            for other in &levels[index..] {
                for other in other.regions.iter().filter(|other| *other != region) {
                    let nested = other.kind != region.kind
                        && (other.processors.is_subset(processors)
                            || processors.is_subset(&other.processors));
                    assert!(nested || other.processors.is_disjoint(processors), "{machine}");
                }
            }
        }
    }
    assert!(!machine.to_string().is_empty());
}
