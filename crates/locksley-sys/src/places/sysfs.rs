//! Reading a machine: by what a Linux kernel says below `sys/devices`.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::topology::Distances;
use super::{Kind, ProcessorSet, Region, Topology};
#[cfg(not(manycore))]
use crate::os::Processors;

const PROCESSORS: &str = "sys/devices/system/cpu";
const MEMORIES: &str = "sys/devices/system/node";

impl Topology {
    /// The machine that this process runs on. Where the system does not tell, its processors have
    /// nothing in common, as far as is known, and [`doubts`](Self::doubts) says why.
    ///
    /// It has all processors that are online, whether or not this process may use them.
    #[cfg(not(manycore))]
    #[must_use]
    pub fn of_this_machine() -> Self {
        let read = if cfg!(all(target_os = "linux", not(any(locksley_portable, shuttle)))) {
            Self::read(Path::new("/"))
        } else {
            Err(io::Error::new(ErrorKind::Unsupported, "not known on this system"))
        };
        read.unwrap_or_else(|error| {
            let processors = Processors::allowed().ids().iter().copied().collect();
            let mut machine = Self::of_regions(processors, Vec::new());
            machine.doubts.push(error.to_string());
            machine
        })
    }

    /// The Linux machine with its `sys/devices` below `root`: `/`, or a folder with a copy of
    /// another machine's.
    ///
    /// # Errors
    /// If it is not said there which processors are online. Whatever else is missing or makes no
    /// sense is left out, and told by [`doubts`](Self::doubts).
    ///
    /// # Examples
    /// ```
    /// # use locksley_sys as locksley;
    /// use std::path::Path;
    /// use locksley::places::Topology;
    ///
    /// let error = Topology::read(Path::new("/nowhere")).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// ```
    pub fn read(root: &Path) -> io::Result<Self> {
        let online = online(root)?;
        let mut files = Files { root, doubts: Vec::new() };
        let mut regions = Vec::new();
        for processor in online.iter() {
            regions.extend(files.siblings(processor));
            regions.extend(files.caches(processor));
        }
        let (memories, distances) = files.memories(&online);
        regions.extend(memories);
        let mut machine = Self::of_regions(online, regions);
        machine.doubts.splice(..0, files.doubts);
        machine.distances = distances;
        Ok(machine)
    }
}

fn online(root: &Path) -> io::Result<ProcessorSet> {
    let path = root.join(PROCESSORS).join("online");
    let at =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let text = fs::read_to_string(&path).map_err(at)?;
    let online: Option<ProcessorSet> = text.trim().parse().ok();
    online
        .filter(|online| !online.is_empty())
        .ok_or_else(|| at(io::Error::new(ErrorKind::InvalidData, "no processors are named")))
}

/// Small files below a root, of which any may be missing, unreadable, or full of nonsense; and what
/// was wrong with them so far.
struct Files<'a> {
    root: &'a Path,
    doubts: Vec<String>,
}

impl Files<'_> {
    /// The package and the core of a processor.
    fn siblings(&mut self, processor: usize) -> Vec<Region> {
        // The second name is that of kernels before 5.3.
        let kinds = [
            (Kind::Package, "physical_package_id", ["package_cpus", "core_siblings"]),
            (Kind::Core, "core_id", ["core_cpus", "thread_siblings"]),
        ];
        let folder = format!("{PROCESSORS}/cpu{processor}/topology");
        let region = |(kind, number, names): (_, _, [&str; 2])| {
            let mut set = |name| self.mask_with(processor, &format!("{folder}/{name}"));
            let processors = names.into_iter().find_map(&mut set)?;
            let number = self.parsed(&format!("{folder}/{number}"), |text| text.parse().ok());
            // Kernels write -1 where there is no number.
            let number = number.and_then(|number: i64| usize::try_from(number).ok());
            Some(Region { kind, number, bytes: None, processors })
        };
        kinds.into_iter().filter_map(region).collect()
    }

    /// The caches of data that a processor has, alone or with others.
    fn caches(&mut self, processor: usize) -> Vec<Region> {
        let folder = format!("{PROCESSORS}/cpu{processor}/cache");
        let indices = self.numbered(&folder, "index");
        let cache = |index| {
            let folder = format!("{folder}/index{index}");
            if !self.parsed(&format!("{folder}/type"), keeps_data)? {
                return None;
            }
            let level = self.parsed(&format!("{folder}/level"), level)?;
            let processors = self.mask_with(processor, &format!("{folder}/shared_cpu_map"))?;
            let bytes = self.parsed(&format!("{folder}/size"), size);
            Some(Region { bytes, ..Region::new(Kind::Cache { level }, processors) })
        };
        indices.into_iter().filter_map(cache).collect()
    }

    /// The memories (NUMA nodes), and how far they are from each other.
    fn memories(&mut self, online: &ProcessorSet) -> (Vec<Region>, Distances) {
        let numbers = self.numbered(MEMORIES, "node");
        let mut memories = Vec::new();
        let mut distances = Vec::new();
        for &number in &numbers {
            let folder = format!("{MEMORIES}/node{number}");
            let near = self.mask(&format!("{folder}/cpumap")).unwrap_or_default();
            let processors = near.intersection(online);
            let bytes = self.parsed(&format!("{folder}/meminfo"), total);
            if processors.is_empty() && bytes == Some(0) {
                continue; // It is none.
            }
            memories.push(Region { kind: Kind::Memory, number: Some(number), bytes, processors });
            // A row has one number for each memory that is online, as there is one folder for each.
            let row = |text: &str| row(text, numbers.len());
            let row = self.parsed(&format!("{folder}/distance"), row).unwrap_or_default();
            distances.extend(numbers.iter().zip(row).map(|(&to, far)| ((number, to), far)));
        }
        (memories, distances)
    }

    /// What the file says, where `parse` understands it; `None` where there is no such file, or
    /// nothing in it.
    fn parsed<T>(&mut self, path: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text = self.text(path)?;
        let value = parse(&text);
        if value.is_none() && !text.is_empty() {
            self.doubt_text(path, &text);
        }
        value
    }

    /// What the file says, without white space around it.
    fn text(&mut self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path));
        let text = self.unless_missing(path, text)?;
        // Some kernels end a file with a zero.
        Some(text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
    }

    fn doubt_text(&mut self, path: &str, text: &str) {
        let start: String = text.chars().take(40).collect();
        self.doubt(path, format!("not understood: {start:?}"));
    }

    fn mask(&mut self, path: &str) -> Option<ProcessorSet> {
        self.parsed(path, ProcessorSet::from_mask)
    }

    /// A set that `processor` must be in.
    fn mask_with(&mut self, processor: usize, path: &str) -> Option<ProcessorSet> {
        let set = self.mask(path)?;
        if !set.contains(processor) {
            self.doubt(path, format!("processor {processor} is not among its own: {set}"));
            return None;
        }
        Some(set)
    }

    /// The numbers N of the entries `prefixN` of a folder, in ascending order.
    fn numbered(&mut self, folder: &str, prefix: &str) -> Vec<usize> {
        let names = fs::read_dir(self.root.join(folder)).and_then(|entries| {
            entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
        });
        let names: Vec<String> = self.unless_missing(folder, names).unwrap_or_default();
        let number = |name: &String| name.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<usize> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    fn unless_missing<T>(&mut self, path: &str, result: io::Result<T>) -> Option<T> {
        let is_missing = |error: &io::Error| {
            matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        };
        match result {
            Ok(value) => return Some(value),
            Err(error) if is_missing(&error) => {}
            Err(error) => self.doubt(path, error.to_string()),
        }
        None
    }

    fn doubt(&mut self, path: &str, problem: String) {
        self.doubts.push(format!("{path}: {problem}"));
    }
}

fn level(text: &str) -> Option<u8> {
    text.parse().ok().filter(|level| (1..=9).contains(level))
}

fn keeps_data(text: &str) -> Option<bool> {
    match text {
        "Unified" | "Data" => Some(true),
        "Instruction" => Some(false),
        _ => None,
    }
}

/// Kernels write all sizes in units of 1024 bytes: `512K`.
fn size(text: &str) -> Option<u64> {
    text.strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
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
        assert_eq!([level("1"), level("9")], [Some(1), Some(9)]);
        for wrong in ["0", "10", "-1", "L2", ""] {
            assert_eq!(level(wrong), None, "{wrong}");
        }
        assert_eq!([keeps_data("Instruction"), keeps_data("Data")], [Some(false), Some(true)]);
        assert_eq!(keeps_data("Unknown"), None);
        assert_eq!(size("107520K"), Some(105 << 20));
        for wrong in ["12", "K", "-1K", "1M", "99999999999999999999K", "18446744073709551615K"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
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
