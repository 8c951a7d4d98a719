//! What this machine's processors have in common, as `locksley machine --json` says it.

use locksley::os::Processors;
use locksley::places::{Kind, Places, ProcessorSet, Region, Topology};
use serde::Serialize;

/// The machine's topology, and the places that a program has on it. Sets of processors are in the
/// kernel's list format: `0-3,8`.
#[derive(Debug, Serialize)]
pub struct Shape {
    /// The processors that are online.
    pub online: String,
    /// What they share, the outer things first; then the memories without processors.
    pub shared: Vec<Shared>,
    /// What the system said that makes no sense.
    pub doubts: Vec<String>,
    /// The processors that this process may use.
    pub allowed: String,
    /// These divided into places.
    pub places: Vec<String>,
    /// What divides them.
    pub divided: String,
}

/// A package, a memory, a cache, a core.
#[derive(Debug, Serialize)]
pub struct Shared {
    /// What it is.
    pub kind: String,
    /// The processors that share it.
    pub processors: String,
    /// The system's number of it, if it has one.
    pub number: Option<usize>,
    /// Its size in bytes, if the system tells.
    pub bytes: Option<u64>,
}

/// The processors that this process may use.
pub fn allowed() -> ProcessorSet {
    Processors::allowed().ids().iter().copied().collect()
}

/// Binds the calling thread to a processor, where the system lets it.
#[cfg(target_os = "linux")]
pub fn bind(processor: usize) {
    use rustix::thread::{CpuSet, sched_setaffinity};

    let mut one = CpuSet::new();
    if processor < CpuSet::MAX_CPU {
        one.set(processor);
        let _ = sched_setaffinity(None, &one);
    }
}

/// Does nothing.
#[cfg(not(target_os = "linux"))]
pub fn bind(_processor: usize) {}

/// The places that a pool finds; or where that is one place, those of private caches, the largest
/// first. `None` if there are none either.
pub fn several_places(machine: &Topology, allowed: &ProcessorSet) -> Option<Places> {
    let by_level = |kind| Places::by_level(machine, allowed, kind).ok();
    let private = [Kind::L3, Kind::L2, Kind::L1].into_iter().filter_map(by_level);
    let found = [Places::found(machine, allowed)].into_iter();
    found.chain(private).find(|places| places.count() > 1)
}

impl Shape {
    /// The shape of `machine` for a program that may use the `allowed` processors.
    pub fn of(machine: &Topology, allowed: &ProcessorSet) -> Self {
        let places = Places::found(machine, allowed);
        let near = machine.levels().iter().flat_map(|level| &level.regions);
        let far = machine.memories().iter().filter(|memory| memory.processors.is_empty());
        Self {
            online: machine.processors().to_string(),
            shared: near.chain(far).map(Shared::from).collect(),
            doubts: machine.doubts().to_vec(),
            allowed: allowed.to_string(),
            places: places.sets().iter().map(ToString::to_string).collect(),
            divided: places.reason().to_string(),
        }
    }
}

impl From<&Region> for Shared {
    fn from(region: &Region) -> Self {
        let Region { kind, number, bytes, ref processors, .. } = *region;
        Self { kind: kind.to_string(), processors: processors.to_string(), number, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_shape_says_what_is_shared_and_what_is_divided() {
        let set = |list: &str| list.parse::<ProcessorSet>().unwrap();
        let region = |kind, list| Region::new(kind, set(list));
        let regions = [
            region(Kind::L3, "0-1").with_bytes(1 << 20),
            region(Kind::L3, "2-3").with_bytes(1 << 20),
            region(Kind::Package, "0-3").with_number(0),
            region(Kind::Memory, "").with_number(4),
        ];
        let shape = Shape::of(&Topology::of(set("0-3"), regions), &set("0-3"));
        let expected = json!({
            "online": "0-3",
            "shared": [
                {"kind": "package", "processors": "0-3", "number": 0, "bytes": null},
                {"kind": "L3", "processors": "0-1", "number": null, "bytes": 1 << 20},
                {"kind": "L3", "processors": "2-3", "number": null, "bytes": 1 << 20},
                {"kind": "memory", "processors": "", "number": 4, "bytes": null},
            ],
            "doubts": [],
            "allowed": "0-3",
            "places": ["0-1", "2-3"],
            "divided": "by L3",
        });
        assert_eq!(serde_json::to_value(shape).unwrap(), expected);
    }
}
