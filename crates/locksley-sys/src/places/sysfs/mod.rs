//! A Linux machine, by what its kernel says below `sys/devices`.

mod caches;
mod files;
mod memories;
mod online;
mod siblings;
mod types;

use std::path::Path;

use super::{Topology, TopologyError};
use files::Files;

const PROCESSORS: &str = "sys/devices/system/cpu";
const MEMORIES: &str = "sys/devices/system/node";

/// Reads the machine below `root`.
pub(super) fn read(root: &Path) -> Result<Topology, TopologyError> {
    let mut files = Files::new(root);
    let (online, offline) = online::processors(&mut files)?;
    let mut regions = Vec::new();
    for processor in online.iter() {
        let near = siblings::of(&mut files, processor);
        regions.extend(caches::of(&mut files, processor, near.core()));
        regions.extend(near.regions());
    }
    let (memories, distances) = memories::all(&mut files, &online);
    regions.extend(memories);
    let core_types = types::all(&mut files, &online);

    let mut machine = Topology::of(online, regions);
    let mut doubts = files.into_doubts();
    doubts.append(&mut machine.doubts);
    machine.doubts = doubts;
    machine.offline = offline;
    machine.distances = distances;
    machine.core_types = core_types;
    Ok(machine)
}
