//! The memories: NUMA nodes.

use std::collections::BTreeMap;

use super::super::{Kind, ProcessorSet, Region};
use super::MEMORIES;
use super::files::Files;

/// The memories, and how far they are from each other. One that has neither bytes nor processors is
/// none.
pub(super) fn all(
    files: &mut Files<'_>,
    online: &ProcessorSet,
) -> (Vec<Region>, BTreeMap<(usize, usize), u32>) {
    let numbers = files.numbered(MEMORIES, "node");
    let mut memories = Vec::new();
    let mut distances = BTreeMap::new();
    for &number in &numbers {
        let folder = format!("{MEMORIES}/node{number}");
        let near = files.set(&format!("{folder}/cpumap"), &format!("{folder}/cpulist"));
        let near = near.unwrap_or_default().intersection(online);
        let bytes = files.parsed(&format!("{folder}/meminfo"), total);
        if near.is_empty() && bytes == Some(0) {
            continue;
        }
        let memory = Region::new(Kind::Memory, near).with_number(number);
        memories.push(match bytes {
            Some(bytes) => memory.with_bytes(bytes),
            None => memory,
        });
        // A row has one number for each memory that is online, as there is one folder for each.
        let row = files.parsed(&format!("{folder}/distance"), |text| row(text, numbers.len()));
        let row = row.unwrap_or_default();
        distances.extend(numbers.iter().zip(row).map(|(&to, distance)| ((number, to), distance)));
    }
    (memories, distances)
}

/// `Node 0 MemTotal:       16314920 kB`, in units of 1024 bytes.
fn total(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("MemTotal:")?;
    rest.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

fn row(text: &str, length: usize) -> Option<Vec<u32>> {
    let row: Vec<u32> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    (row.len() == length).then_some(row)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_kernels_write_them() {
        let text = "\nNode 1 MemTotal:        1024 kB\nNode 1 MemFree: 3 kB";
        assert_eq!(total(text), Some(1 << 20));
        for wrong in ["", "MemTotal:", "MemTotal: -1 kB", "MemTotal: 18446744073709551615 kB"] {
            assert_eq!(total(wrong), None, "{wrong}");
        }
        assert_eq!(row("10 21", 2), Some(vec![10, 21]));
        for wrong in ["10", "10 21 21", "10 -1", "10 x"] {
            assert_eq!(row(wrong, 2), None, "{wrong}");
        }
    }
}
