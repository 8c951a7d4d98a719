//! Cores of several designs.

use std::collections::BTreeMap;

use super::super::{CoreType, ProcessorSet};
use super::PROCESSORS;
use super::files::Files;

/// What is known of a design, but for its name.
#[derive(Default)]
struct Design {
    capacity: Option<u32>,
    processors: Vec<usize>,
}

/// The designs of cores; none where all are alike, as far as is known.
pub(super) fn all(files: &mut Files<'_>, online: &ProcessorSet) -> Vec<CoreType> {
    let named = named(files, online);
    let mut designs: BTreeMap<(Option<String>, Option<u32>), Design> = BTreeMap::new();
    for processor in online.iter() {
        let folder = format!("{PROCESSORS}/cpu{processor}");
        let name = named.iter().find(|(_, processors)| processors.contains(processor));
        let name = name.map(|(name, _)| name.clone()).or_else(|| {
            files.parsed(&format!("{folder}/regs/identification/midr_el1"), arm_design)
        });
        let capacity =
            files.parsed(&format!("{folder}/cpu_capacity"), |text| text.parse::<u32>().ok());
        // Cores of one design differ a little where some may be clocked higher. Where no design is
        // known, capacity is all there is.
        let by_capacity = if name.is_none() { capacity } else { None };
        let design = designs.entry((name, by_capacity)).or_default();
        design.capacity = design.capacity.max(capacity);
        design.processors.push(processor);
    }
    if designs.len() < 2 {
        return Vec::new();
    }
    let core_type = |((name, _), design): ((_, _), Design)| CoreType {
        name,
        capacity: design.capacity,
        processors: design.processors.into_iter().collect(),
    };
    let mut types: Vec<CoreType> = designs.into_iter().map(core_type).collect();
    types.sort_by_key(|core_type| core_type.processors.first());
    types
}

/// Processors whose design has a name: `sys/devices/cpu_core/cpus` and the like are those of the
/// devices that count events, one for each design of an Intel processor; there was a plan for
/// `types`, which some kernels had.
fn named(files: &mut Files<'_>, online: &ProcessorSet) -> Vec<(String, ProcessorSet)> {
    let mut all = Vec::new();
    for name in files.names("sys/devices").into_iter().filter(|name| name.starts_with("cpu_")) {
        all.extend(files.list(&format!("sys/devices/{name}/cpus")).map(|set| (name, set)));
    }
    let types = format!("{PROCESSORS}/types");
    for name in files.names(&types) {
        let (mask, list) = (format!("{types}/{name}/cpumap"), format!("{types}/{name}/cpulist"));
        all.extend(files.set(&mask, &list).map(|set| (name, set)));
    }
    for (_, set) in &mut all {
        *set = set.intersection(online);
    }
    all
}

/// The designer and the part number of an ARM core: the register MIDR_EL1 without variant,
/// architecture and revision.
fn arm_design(text: &str) -> Option<String> {
    let register = u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
    Some(format!("arm-{:02x}-{:03x}", register >> 24 & 0xFF, register >> 4 & 0xFFF))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_design_is_told_by_its_maker_and_part() {
        assert_eq!(arm_design("0x00000000410fd871").as_deref(), Some("arm-41-d87"));
        assert_eq!(arm_design("0x00000000411fd872").as_deref(), Some("arm-41-d87"));
        for wrong in ["410fd871", "0x", "0xg"] {
            assert_eq!(arm_design(wrong), None);
        }
    }
}
