//! What processors may have in common, and the groups of processors that have it.

use std::fmt;

use super::ProcessorSet;
use super::sort::sort_by_key;

/// What a group of processors may have in common.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::Kind;
///
/// assert_eq!(Kind::L3, Kind::Cache { level: 3 });
/// assert_eq!(format!("{}, {}, {}", Kind::Package, Kind::L3, Kind::Core), "package, L3, core");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// What is plugged into one socket.
    Package,
    /// A memory that is near: a NUMA node.
    Memory,
    /// A cache that keeps data.
    Cache {
        /// 1 is the one next to the core.
        level: u8,
    },
    /// One core: its processors are hardware threads.
    Core,
}

impl Kind {
    /// The first cache.
    pub const L1: Self = Self::Cache { level: 1 };
    /// The second cache.
    pub const L2: Self = Self::Cache { level: 2 };
    /// The third cache.
    pub const L3: Self = Self::Cache { level: 3 };

    /// Whether data lie in it, so that it matters for them where a task runs.
    pub(super) fn keeps_data(self) -> bool {
        matches!(self, Self::Memory | Self::Cache { .. })
    }

    /// Where processors have several things in common, they are listed in this order: the outer
    /// ones first.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::Package => 0,
            Self::Memory => 1,
            Self::Cache { level } => (u8::MAX - 1).saturating_sub(level),
            Self::Core => u8::MAX,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Package => f.pad("package"),
            Self::Memory => f.pad("memory"),
            Self::Core => f.pad("core"),
            Self::Cache { level } => f.pad(&format!("L{level}")),
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
#[non_exhaustive]
pub struct Region {
    /// What the processors have in common.
    pub kind: Kind,
    /// The number that the system gives it, if it has one. Numbers need not be dense, nor
    /// different: cores of different packages may have the same.
    pub number: Option<usize>,
    /// The size of the cache or memory in bytes, if the system tells. A memory may have 0 bytes.
    pub bytes: Option<u64>,
    /// The processors, those that are online.
    pub processors: ProcessorSet,
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

    /// The same region on a machine that has no other `processors`.
    pub(super) fn restricted_to(&self, processors: &ProcessorSet) -> Self {
        Self { processors: self.processors.intersection(processors), ..self.clone() }
    }

    /// Its kind and size, with its number where `numbered`.
    pub(super) fn name(&self, numbered: bool) -> String {
        let number = self.number.filter(|_| numbered).map(|number| format!(" {number}"));
        let size = self.bytes.map(|bytes| format!(" ({})", size(bytes)));
        format!("{}{}{}", self.kind, number.unwrap_or_default(), size.unwrap_or_default())
    }
}

/// With its number, its size and its processors, as far as it has them.
impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.processors.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.name(true), self.processors)
    }
}

/// A size to one decimal: `32 MiB`, `1.2 MiB`.
fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].into_iter();
    let (mut amount, mut unit) = (bytes as f64 / 1024.0, units.next());
    // Where one decimal would make 1024.0 of it, it is the next unit's 1.
    while amount >= 1023.95 {
        (amount, unit) = (amount / 1024.0, units.next());
    }
    let text = format!("{amount:.1}");
    format!("{} {}", text.trim_end_matches(".0"), unit.unwrap_or_default())
}

/// All regions of a kind: no processor is in two of them.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::Topology;
///
/// for level in Topology::of_this_machine().levels() {
///     println!("{} times {}", level.regions.len(), level.kind);
///     assert!(level.regions.iter().all(|region| region.kind == level.kind));
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Level {
    /// What the processors of each region have in common.
    pub kind: Kind,
    /// The regions, in the order of their first processors. Each has at least one processor; there
    /// may be processors that are in none.
    pub regions: Vec<Region>,
}

impl Level {
    /// No region is empty.
    pub(super) fn new(kind: Kind, mut regions: Vec<Region>) -> Self {
        sort_by_key(&mut regions, |region| (0, region.processors.as_slice()[0]));
        Self { kind, regions }
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
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn a_region_says_what_is_known_of_it() {
        let region = Region::new(Kind::Memory, ProcessorSet::new()).with_number(3);
        assert_eq!(region.to_string(), "memory 3");
        let region = Region::new(Kind::L1, "1,5".parse().unwrap()).with_bytes(32 << 10);
        assert_eq!(region.to_string(), "L1 (32 KiB): 1,5");
        assert_eq!(region.restricted_to(&"0-3".parse().unwrap()).to_string(), "L1 (32 KiB): 1");
    }
}
