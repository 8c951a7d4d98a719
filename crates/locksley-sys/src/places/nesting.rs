//! Which regions make a tree: any two are apart, or one is in the other.

use super::sort::sort_by_key;
use super::{Kind, Level, Region};

/// The levels that `regions` make, the outer ones first, and what of them does not fit. No region
/// is empty.
pub(super) fn levels(mut regions: Vec<Region>) -> (Vec<Level>, Vec<String>) {
    // Where two kinds contradict each other, packages and cores count more, since they come from
    // the processor itself, and memories less, since firmware gets their tables wrong more often.
    // The order among those of a kind is kept: the first one counts.
    sort_by_key(&mut regions, |region| {
        (usize::from(region.kind != Kind::Package), usize::from(u8::MAX - region.kind.rank()))
    });
    let mut taken: Vec<Region> = Vec::new();
    let mut doubts: Vec<String> = Vec::new();
    for region in regions {
        if taken.iter().rev().any(|old| is_named_again(old, &region)) {
            continue;
        }
        match taken.iter().find(|old| contradict(old, &region)) {
            None => taken.push(region),
            Some(old) => {
                let doubt = format!("left out: {region}, which contradicts {old}");
                // Each processor names the regions that it is in.
                if !doubts.contains(&doubt) {
                    doubts.push(doubt);
                }
            }
        }
    }
    let mut levels: Vec<Level> = Vec::new();
    for regions in taken.chunk_by(|a, b| a.kind == b.kind) {
        let level = Level::new(regions[0].kind, regions.to_vec());
        let place = levels.iter().position(|other| is_outside(&level, other));
        levels.insert(place.unwrap_or(levels.len()), level);
    }
    (levels, doubts)
}

/// Whether the regions of `a` are larger than those of `b`, on average. If not, their kinds decide.
fn is_outside(a: &Level, b: &Level) -> bool {
    let size = |level: &Level| -> usize {
        level.regions.iter().map(|region| region.processors.len()).sum()
    };
    let (average_a, average_b) = (size(a) * b.regions.len(), size(b) * a.regions.len());
    average_b.cmp(&average_a).then(a.kind.rank().cmp(&b.kind.rank())).is_lt()
}

/// Whether both are the same, by what is known of them.
fn is_named_again(old: &Region, new: &Region) -> bool {
    let numbers = old.number.zip(new.number);
    old.kind == new.kind
        && old.processors == new.processors
        && numbers.is_none_or(|(old, new)| old == new)
}

/// Whether both have a processor, and are of one kind, or neither is in the other.
fn contradict(old: &Region, new: &Region) -> bool {
    let (a, b) = (&old.processors, &new.processors);
    let is_nested = || old.kind != new.kind && (a.is_subset(b) || b.is_subset(a));
    !b.is_disjoint(a) && !is_nested()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn region(kind: Kind, list: &str) -> Region {
        Region::new(kind, list.parse().unwrap())
    }

    /// The kinds of the levels with their regions, and the doubts.
    fn sorted(regions: &[(Kind, &str)]) -> (Vec<String>, Vec<String>) {
        let (levels, doubts) =
            levels(regions.iter().map(|(kind, list)| region(*kind, list)).collect());
        let text = |level: &Level| {
            let sets = level.regions.iter().map(|region| region.processors.to_string());
            format!("{} {}", level.kind, sets.collect::<Vec<_>>().join(" "))
        };
        (levels.iter().map(text).collect(), doubts)
    }

    #[test]
    fn outer_levels_come_first() {
        let (levels, doubts) = sorted(&[
            (Kind::Core, "0"),
            (Kind::Core, "1"),
            (Kind::L3, "0-1"),
            (Kind::Core, "2"),
            (Kind::Core, "3"),
            (Kind::L3, "2-3"),
            (Kind::L1, "3"),
            (Kind::L1, "0"),
            (Kind::L1, "2"),
            (Kind::L1, "1"),
            (Kind::Package, "0-3"),
            (Kind::Memory, "0-3"),
        ]);
        let expected = ["package 0-3", "memory 0-3", "L3 0-1 2-3", "L1 0 1 2 3", "core 0 1 2 3"];
        assert_eq!(levels, expected);
        assert!(doubts.is_empty());
    }

    #[test]
    fn what_crosses_is_left_out_and_said() {
        let (levels, doubts) = sorted(&[
            (Kind::Memory, "0-2"),
            (Kind::Memory, "3"),
            (Kind::L3, "0-1"),
            (Kind::L3, "1-3"),
            (Kind::L3, "2-3"),
            (Kind::L3, "0-1"),
            (Kind::L2, "1-2"),
        ]);
        // The second cache is nearer to the core, and counts before the third.
        assert_eq!(levels, ["L3 1-3", "L2 1-2", "memory 3"]);
        let expected = [
            "left out: L3: 0-1, which contradicts L2: 1-2",
            "left out: L3: 2-3, which contradicts L2: 1-2",
            "left out: memory: 0-2, which contradicts L3: 1-3",
        ];
        assert_eq!(doubts, expected);
    }

    #[test]
    fn of_one_kind_no_region_is_in_another() {
        let (levels, doubts) = sorted(&[(Kind::Memory, "0-7"), (Kind::Memory, "0-3")]);
        assert_eq!(levels, ["memory 0-7"]);
        assert_eq!(doubts, ["left out: memory: 0-3, which contradicts memory: 0-7"]);
    }

    #[test]
    fn a_region_that_is_named_again_is_the_same_unless_its_number_is_another() {
        let memory = region(Kind::Memory, "0-1");
        let numbered = |number| memory.clone().with_number(number);
        let (levels, doubts) = levels(vec![numbered(4), memory.clone(), numbered(4), numbered(5)]);
        assert_eq!(levels[0].regions, [numbered(4)]);
        assert_eq!(doubts, ["left out: memory 5: 0-1, which contradicts memory 4: 0-1"]);
    }
}
