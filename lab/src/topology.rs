//! What this machine's processors have in common, as `locksley machine --json` says it.

use locksley::os::Processors;
use locksley::places::{Kind, Places, ProcessorSet, Region, Topology};
use serde_json::{Value, json};

/// The processors that this process may use.
pub fn allowed() -> ProcessorSet {
    Processors::allowed().ids().iter().copied().collect()
}

/// Binds the calling thread to a processor; false if the system does not let it.
#[cfg(target_os = "linux")]
pub fn bind(processor: usize) -> bool {
    use rustix::thread::{CpuSet, sched_setaffinity};

    let mut one = CpuSet::new();
    let is_known = processor < CpuSet::MAX_CPU;
    if is_known {
        one.set(processor);
    }
    is_known && sched_setaffinity(None, &one).is_ok()
}

/// Does nothing.
#[cfg(not(target_os = "linux"))]
pub fn bind(_processor: usize) -> bool {
    false
}

/// The places that a pool finds; or where that is one place, those of private caches, the largest
/// first. `None` if there are none either.
pub fn several_places(machine: &Topology, allowed: &ProcessorSet) -> Option<Places> {
    let by_level = |kind| Places::by_level(machine, allowed, kind).ok();
    let private = [Kind::L3, Kind::L2, Kind::L1].into_iter().filter_map(by_level);
    let found = [Places::found(machine, allowed)].into_iter();
    found.chain(private).find(|places| places.count() > 1)
}

/// The topology of `machine`, and the places of a program that may use the `allowed` processors.
/// Sets of processors are in the kernel's list format: `0-3,8`.
pub fn shape(machine: &Topology, allowed: &ProcessorSet) -> Value {
    let places = Places::found(machine, allowed);
    let near = machine.levels().iter().flat_map(|level| &level.regions);
    let far = machine.memories().iter().filter(|memory| memory.processors.is_empty());
    let region = |it: &Region| {
        json!({
            "kind": it.kind.to_string(),
            "processors": it.processors.to_string(),
            "number": it.number,
            "bytes": it.bytes,
        })
    };
    json!({
        "online": machine.processors().to_string(),
        // What processors share, the outer things first; then the memories without processors.
        "shared": near.chain(far).map(region).collect::<Vec<_>>(),
        // What the system said that makes no sense.
        "doubts": machine.doubts(),
        "allowed": allowed.to_string(),
        "places": places.sets().iter().map(ToString::to_string).collect::<Vec<_>>(),
        // What divides them.
        "divided": places.reason().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let shape = shape(&Topology::of(set("0-3"), regions), &set("0-3"));
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
        assert_eq!(shape, expected);
    }
}
