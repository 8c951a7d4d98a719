//! What this machine's processors have in common, as `locksley machine --json` says it.

use locksley::os::Processors;
use locksley::places::{Kind, Places, ProcessorSet, Region, Topology, Tree};
use serde::Serialize;

/// The machine's topology, and the places that a program has on it. Sets of processors are in the kernel's list format:
/// `0-3,8`.
#[derive(Debug, Serialize)]
pub struct Shape {
    /// The processors that are online, with what they share.
    pub topology: Part,
    /// The memories without processors.
    pub far_memories: Vec<Shared>,
    /// What the system said that makes no sense.
    pub doubts: Vec<String>,
    /// The processors that this process may use.
    pub allowed: String,
    /// These divided into places.
    pub places: Vec<String>,
    /// What divides them.
    pub divided: String,
}

/// Some processors of the machine.
#[derive(Debug, Serialize)]
pub struct Part {
    /// Which.
    pub processors: String,
    /// What they all share, the outer things first.
    pub shared: Vec<Shared>,
    /// The parts that share more.
    pub parts: Vec<Part>,
}

/// A package, a memory, a cache, a core.
#[derive(Debug, Serialize)]
pub struct Shared {
    /// What it is.
    pub kind: String,
    /// The system's number of it, if it has one.
    pub number: Option<usize>,
    /// Its size in bytes, if the system tells.
    pub bytes: Option<u64>,
}

/// The processors that this process may use.
pub fn allowed() -> ProcessorSet {
    Processors::allowed().ids().iter().copied().collect()
}

/// The places that a pool finds; or where that is one place, those of private caches, the largest first. `None` if there are none either.
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
        let far = machine.memories().iter().filter(|memory| memory.processors().is_empty());
        Self {
            topology: Part::from(&machine.tree()),
            far_memories: far.map(Shared::from).collect(),
            doubts: machine.doubts().to_vec(),
            allowed: allowed.to_string(),
            places: places.sets().iter().map(ToString::to_string).collect(),
            divided: places.reason().to_string(),
        }
    }
}

impl From<&Tree> for Part {
    fn from(tree: &Tree) -> Self {
        Self {
            processors: tree.processors.to_string(),
            shared: tree.shared.iter().map(Shared::from).collect(),
            parts: tree.parts.iter().map(Part::from).collect(),
        }
    }
}

impl From<&Region> for Shared {
    fn from(region: &Region) -> Self {
        Self { kind: region.kind().to_string(), number: region.number(), bytes: region.bytes() }
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
        let cache = |processors: &str| {
            json!({
                "processors": processors,
                "shared": [{"kind": "L3", "number": null, "bytes": 1 << 20}],
                "parts": [],
            })
        };
        let expected = json!({
            "topology": {
                "processors": "0-3",
                "shared": [{"kind": "package", "number": 0, "bytes": null}],
                "parts": [cache("0-1"), cache("2-3")],
            },
            "far_memories": [{"kind": "memory", "number": 4, "bytes": null}],
            "doubts": [],
            "allowed": "0-3",
            "places": ["0-1", "2-3"],
            "divided": "by L3",
        });
        assert_eq!(serde_json::to_value(shape).unwrap(), expected);
    }
}
