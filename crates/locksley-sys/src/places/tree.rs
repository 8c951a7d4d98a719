//! A machine's regions as a tree, and a drawing of it.

use std::cmp::Reverse;
use std::fmt::{self, Write};

use super::{Kind, Level, ProcessorSet, Region, Topology};

/// A part of a machine: processors, what they all have in common, and the parts within it.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::{Kind, Region, Topology};
///
/// let cache = |kind, processors| Region::new(kind, processors);
/// let machine = Topology::of(
///     (0..4).collect(),
///     [cache(Kind::L3, (0..4).collect()), cache(Kind::L2, (0..2).collect())],
/// );
/// let tree = machine.tree();
/// assert_eq!(tree.shared[0].kind(), Kind::L3);
/// assert_eq!(tree.parts[0].processors.to_string(), "0-1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tree {
    /// All processors of this part.
    pub processors: ProcessorSet,
    /// What they have in common, and no other processor with them; the outer things first.
    pub shared: Vec<Region>,
    /// The parts within this one, in the order of their first processors. There may be processors
    /// that are in none.
    pub parts: Vec<Tree>,
}

impl Topology {
    /// The regions as a tree.
    #[must_use]
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::leaf(self.processors().clone());
        let mut regions: Vec<&Region> = self.levels().iter().flat_map(Level::regions).collect();
        regions.sort_by_key(|region| {
            (Reverse(region.processors().len()), region.kind().rank(), region.processors().first())
        });
        regions.into_iter().for_each(|region| tree.insert(region));
        tree.sort();
        tree
    }

    /// The machine's tree, in as many lines as it takes; processors that are not `allowed` are in
    /// parentheses. Parts that are alike and have no parts are in one line.
    ///
    /// # Examples
    /// ```
    /// # use locksley_sys as locksley;
    /// use locksley::places::{Kind, Region, Topology};
    ///
    /// let core = |number| Region::new(Kind::Core, [number, number + 4].into_iter().collect());
    /// let machine = Topology::of((0..8).collect(), (0..4).map(core));
    /// let drawn = machine.drawing(&"0-3".parse()?);
    /// let expected = "machine: 0-3 (4-7)\n└─ 4 of core: 0 (4) | 1 (5) | 2 (6) | 3 (7)\n";
    /// assert_eq!(drawn, expected);
    /// # Ok::<(), locksley::places::NoProcessorSet>(())
    /// ```
    #[must_use]
    pub fn drawing(&self, allowed: &ProcessorSet) -> String {
        let tree = self.tree();
        let comma = if tree.shared.is_empty() { "" } else { ", " };
        let processors = marked(&tree.processors, allowed);
        let mut text = format!("machine{comma}{}: {processors}\n", tree.name());
        tree.draw_parts(&mut text, allowed, "");
        for memory in self.memories().iter().filter(|memory| memory.processors().is_empty()) {
            let _ = writeln!(text, "without processors: {memory}");
        }
        for doubt in self.doubts() {
            let _ = writeln!(text, "doubtful: {doubt}");
        }
        text
    }
}

/// The tree, drawn.
impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.drawing(self.processors()))
    }
}

impl Tree {
    fn leaf(processors: ProcessorSet) -> Self {
        Self { processors, shared: Vec::new(), parts: Vec::new() }
    }

    /// The region is within this part, and no larger than any before it.
    fn insert(&mut self, region: &Region) {
        let Some(first) = region.processors().first() else { return };
        if self.processors == *region.processors() {
            self.shared.push(region.clone());
        } else if let Some(part) = self.parts.iter_mut().find(|p| p.processors.contains(first)) {
            part.insert(region);
        } else {
            let part = Self::leaf(region.processors().clone());
            self.parts.push(Self { shared: vec![region.clone()], ..part });
        }
    }

    fn sort(&mut self) {
        self.parts.sort_by_key(|part| part.processors.first());
        self.parts.iter_mut().for_each(Self::sort);
    }

    /// What it shares. Programs are bound to packages and memories by their numbers; the numbers of
    /// others would only tell apart what is alike.
    fn name(&self) -> String {
        let name =
            |region: &Region| region.name(matches!(region.kind(), Kind::Package | Kind::Memory));
        self.shared.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    fn draw_parts(&self, text: &mut String, allowed: &ProcessorSet, indentation: &str) {
        let are_alike =
            |a: &Tree, b: &Tree| a.parts.is_empty() && b.parts.is_empty() && a.name() == b.name();
        let mut groups = self.parts.chunk_by(are_alike).peekable();
        while let Some(group) = groups.next() {
            let is_last = groups.peek().is_none();
            let (branch, below) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let count =
                if group.len() > 1 { format!("{} of ", group.len()) } else { String::new() };
            let sets = group.iter().map(|part| marked(&part.processors, allowed));
            let sets = sets.collect::<Vec<_>>().join(" | ");
            let _ = writeln!(text, "{indentation}{branch}{count}{}: {sets}", group[0].name());
            group[0].draw_parts(text, allowed, &format!("{indentation}{below}"));
        }
    }
}

fn marked(processors: &ProcessorSet, allowed: &ProcessorSet) -> String {
    let (free, forbidden) = (processors.intersection(allowed), processors.difference(allowed));
    match (free.is_empty(), forbidden.is_empty()) {
        (_, true) => free.to_string(),
        (true, false) => format!("({forbidden})"),
        (false, false) => format!("{free} ({forbidden})"),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_drawn() {
        let set = |list: &str| list.parse::<ProcessorSet>().unwrap();
        let region = |kind, list: &str| Region::new(kind, set(list));
        let mut regions = Vec::new();
        for package in 0..2 {
            let first = 4 * package;
            let list = format!("{first}-{}", first + 3);
            regions.push(region(Kind::Package, &list).with_number(package));
            regions.push(region(Kind::Memory, &list).with_number(package).with_bytes(16 << 30));
            for core in first..first + 4 {
                let list = core.to_string();
                regions.push(region(Kind::Core, &list).with_number(core));
                regions.push(region(Kind::L2, &list).with_bytes(1 << 20));
            }
        }
        regions.push(region(Kind::L3, "4-5").with_bytes(32 << 20));
        regions.push(region(Kind::Memory, "").with_number(2).with_bytes(64 << 30));
        regions.push(region(Kind::L3, "0,7"));
        let machine = Topology::of(set("0-8"), regions);
        let expected = "\
machine: 0-6 (7-8)
├─ package 0, memory 0 (16 GiB): 0-3
│  └─ 4 of L2 (1 MiB), core: 0 | 1 | 2 | 3
└─ package 1, memory 1 (16 GiB): 4-6 (7)
   ├─ L3 (32 MiB): 4-5
   │  └─ 2 of L2 (1 MiB), core: 4 | 5
   └─ 2 of L2 (1 MiB), core: 6 | (7)
without processors: memory 2 (64 GiB)
doubtful: left out: L3: 0,7, which contradicts package 0: 0-3
";
        assert_eq!(machine.drawing(&set("0-6")), expected);
    }
}
