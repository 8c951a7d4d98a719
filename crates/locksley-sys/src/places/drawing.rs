//! A machine's tree, drawn.

use std::fmt::{self, Display};

use super::level::{Bytes, Name};
use super::{Kind, ProcessorSet, Topology, Tree};

/// A machine as [`Topology::drawing`] draws it.
#[derive(Clone, Copy, Debug)]
pub struct Drawing<'a> {
    machine: &'a Topology,
    allowed: &'a ProcessorSet,
}

impl Topology {
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
    /// let drawn = machine.drawing(&"0-3".parse()?).to_string();
    /// let expected = "8 processors: 0-3 (4-7)\n└─ 4 of core: 0 (4) | 1 (5) | 2 (6) | 3 (7)\n";
    /// assert_eq!(drawn, expected);
    /// # Ok::<(), locksley::places::NoProcessorSet>(())
    /// ```
    #[must_use]
    pub fn drawing<'a>(&'a self, allowed: &'a ProcessorSet) -> Drawing<'a> {
        Drawing { machine: self, allowed }
    }
}

/// The tree, drawn.
impl Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.drawing(self.processors()).fmt(f)
    }
}

impl Display for Drawing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tree = self.machine.tree();
        let count = tree.processors.len();
        write!(f, "{count} processor{}", if count == 1 { "" } else { "s" })?;
        if !tree.shared.is_empty() {
            write!(f, ", {}", whole_name(&tree))?;
        }
        writeln!(f, ": {}", self.marked(&tree.processors))?;
        self.parts(f, &tree, "")?;
        self.footnotes(f)
    }
}

impl Drawing<'_> {
    fn parts(&self, f: &mut fmt::Formatter<'_>, tree: &Tree, indentation: &str) -> fmt::Result {
        let mut groups = tree.parts.chunk_by(are_alike).peekable();
        while let Some(group) = groups.next() {
            let (branch, below) =
                if groups.peek().is_some() { ("├─ ", "│  ") } else { ("└─ ", "   ") };
            write!(f, "{indentation}{branch}")?;
            match group {
                [part] => {
                    writeln!(f, "{}: {}", whole_name(part), self.marked(&part.processors))?;
                    self.parts(f, part, &format!("{indentation}{below}"))?;
                }
                _ => {
                    let sets = group.iter().map(|part| self.marked(&part.processors));
                    let sets = sets.collect::<Vec<_>>().join(" | ");
                    writeln!(f, "{} of {}: {sets}", group.len(), common_name(&group[0]))?;
                }
            }
        }
        Ok(())
    }

    /// What does not belong into the tree.
    fn footnotes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.machine.offline().is_empty() {
            writeln!(f, "offline: {}", self.machine.offline())?;
        }
        for memory in self.machine.memories().iter().filter(|m| m.processors().is_empty()) {
            writeln!(f, "without processors: {memory}")?;
        }
        for core_type in self.machine.core_types() {
            write!(f, "{}", core_type.name.as_deref().unwrap_or("cores"))?;
            if let Some(capacity) = core_type.capacity {
                write!(f, " of capacity {capacity}")?;
            }
            writeln!(f, ": {}", self.marked(&core_type.processors))?;
        }
        for doubt in self.machine.doubts() {
            writeln!(f, "doubtful: {doubt}")?;
        }
        Ok(())
    }

    fn marked(&self, processors: &ProcessorSet) -> String {
        let (allowed, forbidden) =
            (processors.intersection(self.allowed), processors.difference(self.allowed));
        match (allowed.is_empty(), forbidden.is_empty()) {
            (_, true) => allowed.to_string(),
            (true, false) => format!("({forbidden})"),
            (false, false) => format!("{allowed} ({forbidden})"),
        }
    }
}

/// Whether two parts are drawn as one: they have no parts, and differ in numbers only.
fn are_alike(a: &Tree, b: &Tree) -> bool {
    a.parts.is_empty() && b.parts.is_empty() && common_name(a) == common_name(b)
}

fn whole_name(tree: &Tree) -> String {
    tree.shared.iter().map(|region| Name(region).to_string()).collect::<Vec<_>>().join(", ")
}

/// The name without the numbers. The numbers of packages and memories are needed: people bind to
/// them.
fn common_name(tree: &Tree) -> String {
    let name = |region: &super::Region| match region.kind() {
        Kind::Package | Kind::Memory => Name(region).to_string(),
        kind => {
            let size = region.bytes().map(|bytes| format!(" ({})", Bytes(bytes)));
            format!("{kind}{}", size.unwrap_or_default())
        }
    };
    tree.shared.iter().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::{Region, Topology};
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
        let mut machine = Topology::of(set("0-8"), regions);
        machine.offline = set("9");
        let expected = "\
9 processors: 0-6 (7-8)
├─ package 0, memory 0 (16 GiB): 0-3
│  └─ 4 of L2 (1 MiB), core: 0 | 1 | 2 | 3
└─ package 1, memory 1 (16 GiB): 4-6 (7)
   ├─ L3 (32 MiB): 4-5
   │  └─ 2 of L2 (1 MiB), core: 4 | 5
   └─ 2 of L2 (1 MiB), core: 6 | (7)
offline: 9
without processors: memory 2 (64 GiB)
doubtful: left out: L3: 0,7, which contradicts package 0: 0-3
";
        assert_eq!(machine.drawing(&set("0-6")).to_string(), expected);
    }
}
