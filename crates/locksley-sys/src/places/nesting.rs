//! Which regions make a tree: any two are apart, or one is in the other.

use std::collections::HashMap;

use super::{Doubt, Kind, Level, Region};

/// The regions of one kind that were taken, and which of them each processor is in.
struct Taken {
    kind: Kind,
    regions: Vec<Region>,
    of: HashMap<usize, usize>,
}

impl Taken {
    fn new(kind: Kind) -> Self {
        Self { kind, regions: Vec::new(), of: HashMap::new() }
    }

    /// A region taken before that the new one contradicts: they have processors in common, and are
    /// of one kind, or neither is in the other.
    fn contradicted_by(&self, new: &Region) -> Option<&Region> {
        let mut touched = new.processors().iter().filter_map(|p| self.of.get(&p));
        touched.find_map(|&index| {
            let old = &self.regions[index];
            let (a, b) = (new.processors(), old.processors());
            let fits = self.kind != new.kind() && (a.is_subset(b) || b.is_subset(a));
            (!fits).then_some(old)
        })
    }

    /// Whether the new region is one that was taken, by what is known of both.
    fn has(&self, new: &Region) -> bool {
        let first = new.processors().first().and_then(|first| self.of.get(&first));
        first.is_some_and(|&index| {
            let old = &self.regions[index];
            let numbers = old.number().zip(new.number());
            old.processors() == new.processors() && numbers.is_none_or(|(old, new)| old == new)
        })
    }

    fn take(&mut self, new: Region) {
        let index = self.regions.len();
        self.of.extend(new.processors().iter().map(|processor| (processor, index)));
        self.regions.push(new);
    }
}

/// Whose word counts more, where two kinds contradict each other: packages and cores come from the
/// processor itself; memories, from tables that firmware gets wrong more often.
fn trust(kind: Kind) -> (u8, u8) {
    match kind {
        Kind::Package => (0, 0),
        Kind::Die => (1, 0),
        Kind::Core => (2, 0),
        Kind::Cache { level, .. } => (3, level),
        Kind::Cluster => (4, 0),
        Kind::Memory => (5, 0),
    }
}

/// The levels that `regions` make, the outer ones first, and what of them does not fit. No region
/// is empty.
pub(super) fn levels(mut regions: Vec<Region>) -> (Vec<Level>, Vec<Doubt>) {
    let mut all: Vec<Taken> = Vec::new();
    let mut doubts = Vec::new();
    // The order among those of a kind is kept: the first one counts.
    regions.sort_by_key(|region| (trust(region.kind()), region.kind().rank()));
    for region in regions {
        if all.last().is_none_or(|last| last.kind != region.kind()) {
            all.push(Taken::new(region.kind()));
        }
        if all.last().is_some_and(|same| same.has(&region)) {
            continue;
        }
        if let Some(against) = all.iter().find_map(|taken| taken.contradicted_by(&region)) {
            let doubt = Doubt::Region { against: against.clone(), region };
            // Each processor says the same of the regions that it is in.
            if !doubts.contains(&doubt) {
                doubts.push(doubt);
            }
        } else if let Some(same) = all.last_mut() {
            same.take(region);
        }
    }
    all.retain(|taken| !taken.regions.is_empty());
    all.sort_by(|a, b| {
        let average = |taken: &Taken, other: &Taken| taken.of.len() * other.regions.len();
        average(b, a).cmp(&average(a, b)).then(a.kind.rank().cmp(&b.kind.rank()))
    });
    (all.into_iter().map(|taken| Level::new(taken.kind, taken.regions)).collect(), doubts)
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
            let sets = level.regions().iter().map(|region| region.processors().to_string());
            format!("{} {}", level.kind(), sets.collect::<Vec<_>>().join(" "))
        };
        (levels.iter().map(text).collect(), doubts.iter().map(ToString::to_string).collect())
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
            (Kind::L1D, "3"),
            (Kind::L1D, "0"),
            (Kind::L1D, "2"),
            (Kind::L1D, "1"),
            (Kind::Package, "0-3"),
            (Kind::Memory, "0-3"),
        ]);
        let expected = ["package 0-3", "memory 0-3", "L3 0-1 2-3", "L1d 0 1 2 3", "core 0 1 2 3"];
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
        assert_eq!(levels[0].regions(), [numbered(4)]);
        assert_eq!(doubts, [Doubt::Region { region: numbered(5), against: numbered(4) }]);
    }
}
