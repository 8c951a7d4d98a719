//! What processors may have in common, and the groups of processors that have it.

use std::fmt;

use super::ProcessorSet;

/// What a group of processors may have in common.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::{Holds, Kind};
///
/// assert_eq!(Kind::L3, Kind::Cache { level: 3, holds: Holds::Everything });
/// assert_eq!(format!("{}, {}, {}", Kind::L3, Kind::L1D, Kind::Memory), "L3, L1d, memory");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// What is plugged into one socket.
    Package,
    /// A memory that is near: a NUMA node.
    Memory,
    /// A part of a package.
    Die,
    /// A cache.
    Cache {
        /// 1 is the one next to the core.
        level: u8,
        /// What is kept in it.
        holds: Holds,
    },
    /// A few cores that share something below the last cache: a cache of tags on some ARM servers.
    Cluster,
    /// One core: its processors are hardware threads.
    Core,
}

/// What is kept in a cache. There is an example at [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holds {
    /// Instructions and data.
    Everything,
    /// Data.
    Data,
    /// Instructions.
    Instructions,
}

impl Kind {
    /// The first cache of data.
    pub const L1D: Self = Self::Cache { level: 1, holds: Holds::Data };
    /// The first cache of instructions.
    pub const L1I: Self = Self::Cache { level: 1, holds: Holds::Instructions };
    /// The second cache.
    pub const L2: Self = Self::Cache { level: 2, holds: Holds::Everything };
    /// The third cache.
    pub const L3: Self = Self::Cache { level: 3, holds: Holds::Everything };

    /// Whether data lie in it, so that it matters for them where a task runs.
    #[must_use]
    pub fn keeps_data(self) -> bool {
        match self {
            Self::Memory => true,
            Self::Cache { holds, .. } => holds != Holds::Instructions,
            Self::Package | Self::Die | Self::Cluster | Self::Core => false,
        }
    }

    /// Where processors have several things in common, they are told in this order: the outer ones
    /// first.
    pub(super) fn rank(self) -> (u8, u8, u8) {
        match self {
            Self::Package => (0, 0, 0),
            Self::Memory => (1, 0, 0),
            Self::Die => (2, 0, 0),
            Self::Cache { level, holds } => (3, u8::MAX - level, holds as u8),
            Self::Cluster => (4, 0, 0),
            Self::Core => (5, 0, 0),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Package => f.pad("package"),
            Self::Memory => f.pad("memory"),
            Self::Die => f.pad("die"),
            Self::Cluster => f.pad("cluster"),
            Self::Core => f.pad("core"),
            Self::Cache { level, holds } => {
                let suffix = match holds {
                    Holds::Everything => "",
                    Holds::Data => "d",
                    Holds::Instructions => "i",
                };
                f.pad(&format!("L{level}{suffix}"))
            }
        }
    }
}

/// Processors that have something in common: one package, one cache, one core.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::{Kind, ProcessorSet, Region};
///
/// let region = Region::new(Kind::L3, ProcessorSet::from_iter(0..4)).with_bytes(32 << 20);
/// assert_eq!(region.to_string(), "L3 (32 MiB): 0-3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    kind: Kind,
    number: Option<usize>,
    bytes: Option<u64>,
    processors: ProcessorSet,
}

impl Region {
    /// `processors` have one thing of this kind in common.
    #[must_use]
    pub fn new(kind: Kind, processors: ProcessorSet) -> Self {
        Self { kind, number: None, bytes: None, processors }
    }

    /// The number that the system gives it.
    #[must_use]
    pub fn with_number(self, number: usize) -> Self {
        Self { number: Some(number), ..self }
    }

    /// Its size in bytes.
    #[must_use]
    pub fn with_bytes(self, bytes: u64) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    /// What the processors have in common.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The number that the system gives it, if it has one. Numbers need not be dense, nor
    /// different: cores of different packages may have the same.
    #[must_use]
    pub fn number(&self) -> Option<usize> {
        self.number
    }

    /// The size of the cache or memory in bytes, if the system tells. A memory may have 0 bytes.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// The processors, those that are online.
    #[must_use]
    pub fn processors(&self) -> &ProcessorSet {
        &self.processors
    }

    /// The same region as those see it who may use no more than `processors`.
    pub(super) fn restricted_to(&self, processors: &ProcessorSet) -> Self {
        Self { processors: self.processors.intersection(processors), ..self.clone() }
    }
}

/// With its number, its size and its processors, as far as it has them.
impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Name(self))?;
        if !self.processors.is_empty() {
            write!(f, ": {}", self.processors)?;
        }
        Ok(())
    }
}

/// A region without its processors.
pub(super) struct Name<'a>(pub(super) &'a Region);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.kind)?;
        if let Some(number) = self.0.number {
            write!(f, " {number}")?;
        }
        if let Some(bytes) = self.0.bytes {
            write!(f, " ({})", Bytes(bytes))?;
        }
        Ok(())
    }
}

/// A size as people say it, to one decimal: `32 MiB`, `1.2 MiB`.
pub(super) struct Bytes(pub(super) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return write!(f, "{} bytes", self.0);
        }
        let mut amount = self.0 as f64 / 1024.0;
        let mut unit = 0;
        // Where one decimal would make 1024.0 of it, it is the next unit's 1.
        while amount >= 1023.95 && unit + 1 < UNITS.len() {
            amount /= 1024.0;
            unit += 1;
        }
        let text = format!("{amount:.1}");
        write!(f, "{} {}", text.strip_suffix(".0").unwrap_or(&text), UNITS[unit])
    }
}

/// All regions of a kind: no processor is in two of them.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::Topology;
///
/// for level in Topology::of_this_machine().levels() {
///     println!("{} times {}", level.regions().len(), level.kind());
///     assert!(level.regions().iter().all(|region| region.kind() == level.kind()));
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    kind: Kind,
    /// In the order of their first processors. None is empty.
    regions: Vec<Region>,
}

impl Level {
    pub(super) fn new(kind: Kind, mut regions: Vec<Region>) -> Self {
        regions.retain(|region| !region.processors.is_empty());
        regions.sort_by_key(|region| region.processors.first());
        Self { kind, regions }
    }

    /// What the processors of each region have in common.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The regions, in the order of their first processors. Each has at least one processor; there
    /// may be processors that are in none.
    #[must_use]
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The region that `processor` is in.
    #[must_use]
    pub fn region_of(&self, processor: usize) -> Option<&Region> {
        self.regions.iter().find(|region| region.processors.contains(processor))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_to_one_decimal() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (1280 << 10, "1.2 MiB"),
            (107_520 << 10, "105 MiB"),
            ((1 << 30) - 1, "1 GiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn a_region_says_what_is_known_of_it() {
        let region = Region::new(Kind::Memory, ProcessorSet::new()).with_number(3);
        assert_eq!(region.to_string(), "memory 3");
        let region = Region::new(Kind::L1I, "1,5".parse().unwrap()).with_bytes(32 << 10);
        assert_eq!(region.to_string(), "L1i (32 KiB): 1,5");
        assert_eq!(region.restricted_to(&"0-3".parse().unwrap()).to_string(), "L1i (32 KiB): 1");
    }
}
