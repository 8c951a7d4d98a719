//! A processor's caches.

use super::super::{Holds, Kind, ProcessorSet, Region};
use super::PROCESSORS;
use super::files::Files;

/// The caches that `processor` has, alone or with others. `core` are the processors of its core.
pub(super) fn of(
    files: &mut Files<'_>,
    processor: usize,
    core: Option<&ProcessorSet>,
) -> Vec<Region> {
    let folder = format!("{PROCESSORS}/cpu{processor}/cache");
    let mut caches: Vec<Region> = Vec::new();
    for index in files.numbered(&folder, "index") {
        let folder = format!("{folder}/index{index}");
        let Some(cache) = one(files, &folder, processor, core) else { continue };
        if caches.iter().any(|other| other.kind() == cache.kind()) {
            files.doubt(&folder, format!("another {}", cache.kind()));
        } else {
            caches.push(cache);
        }
    }
    caches
}

fn one(
    files: &mut Files<'_>,
    folder: &str,
    processor: usize,
    core: Option<&ProcessorSet>,
) -> Option<Region> {
    let level = files.parsed(&format!("{folder}/level"), level)?;
    let holds = files.parsed(&format!("{folder}/type"), holds)?;
    let mask = format!("{folder}/shared_cpu_map");
    let shared = files.set(&mask, &format!("{folder}/shared_cpu_list"));
    // Itanium kernels left it empty for some caches, which a core has for itself.
    let processors = match shared.filter(|set| !set.is_empty()) {
        Some(set) => set,
        None => core.cloned().unwrap_or_else(|| [processor].into_iter().collect()),
    };
    if !processors.contains(processor) {
        files.doubt(&mask, format!("processor {processor} is not among its own: {processors}"));
        return None;
    }
    let cache = Region::new(Kind::Cache { level, holds }, processors);
    Some(match files.parsed(&format!("{folder}/size"), size) {
        Some(bytes) => cache.with_bytes(bytes),
        None => cache,
    })
}

fn level(text: &str) -> Option<u8> {
    text.parse().ok().filter(|level| (1..=9).contains(level))
}

fn holds(text: &str) -> Option<Holds> {
    match text {
        "Unified" => Some(Holds::Everything),
        "Data" => Some(Holds::Data),
        "Instruction" => Some(Holds::Instructions),
        _ => None,
    }
}

/// Kernels write all sizes in units of 1024 bytes: `512K`.
fn size(text: &str) -> Option<u64> {
    let amount = text.strip_suffix('K')?;
    amount.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_kernels_write_them() {
        assert_eq!([level("1"), level("9")], [Some(1), Some(9)]);
        for wrong in ["0", "10", "-1", "L2", ""] {
            assert_eq!(level(wrong), None, "{wrong}");
        }
        assert_eq!(holds("Instruction"), Some(Holds::Instructions));
        assert_eq!(holds("Unknown"), None);
        assert_eq!(size("107520K"), Some(105 << 20));
        for wrong in ["12", "K", "-1K", "1M", "99999999999999999999K", "18446744073709551615K"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
