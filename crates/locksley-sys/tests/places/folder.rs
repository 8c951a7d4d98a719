//! Folders with a machine in them, as Linux describes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley_sys::places::{Kind, ProcessorSet, Region, Topology};

/// A folder that is removed in the end.
pub(crate) struct Folder(PathBuf);

/// How a kernel writes sets of processors.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    /// In the files of kernels before 5.3.
    Old,
    /// In the files of newer kernels.
    New,
}

pub(crate) const PROCESSORS: &str = "sys/devices/system/cpu";
pub(crate) const MEMORIES: &str = "sys/devices/system/node";

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("places-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// With `machine` in it.
    pub(crate) fn with(machine: &Topology, style: Style) -> Self {
        let folder = Self::new();
        let online = machine.processors();
        folder.write(&format!("{PROCESSORS}/online"), &online.to_string());
        for processor in online.iter() {
            folder.write_processor(machine, processor, style);
        }
        for memory in machine.memories() {
            folder.write_memory(machine, memory);
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.to_owned() + "\n").unwrap();
    }

    pub(crate) fn read(&self) -> Topology {
        Topology::read(&self.0).unwrap()
    }

    fn write_processor(&self, machine: &Topology, processor: usize, style: Style) {
        let folder = format!("{PROCESSORS}/cpu{processor}");
        let mut caches = 0;
        for region in machine.levels().iter().filter_map(|level| level.region_of(processor)) {
            let (number, old, new) = match region.kind {
                Kind::Package => ("physical_package_id", "core_siblings", "package_cpus"),
                Kind::Core => ("core_id", "thread_siblings", "core_cpus"),
                Kind::Cache { level } => {
                    let cache = format!("{folder}/cache/index{caches}");
                    caches += 1;
                    self.write_cache(&cache, region, level);
                    continue;
                }
                _ => continue,
            };
            let name = if matches!(style, Style::Old) { old } else { new };
            self.write(&format!("{folder}/topology/{name}"), &mask_of(&region.processors));
            if let Some(value) = region.number {
                self.write(&format!("{folder}/topology/{number}"), &value.to_string());
            }
        }
    }

    fn write_cache(&self, folder: &str, region: &Region, level: u8) {
        self.write(&format!("{folder}/level"), &level.to_string());
        self.write(&format!("{folder}/type"), if level == 1 { "Data" } else { "Unified" });
        if let Some(bytes) = region.bytes {
            self.write(&format!("{folder}/size"), &format!("{}K", bytes / 1024));
        }
        self.write(&format!("{folder}/shared_cpu_map"), &mask_of(&region.processors));
    }

    fn write_memory(&self, machine: &Topology, memory: &Region) {
        let number = memory.number.unwrap();
        let folder = format!("{MEMORIES}/node{number}");
        self.write(&format!("{folder}/cpumap"), &mask_of(&memory.processors));
        if let Some(bytes) = memory.bytes {
            let text =
                format!("Node {number} MemTotal:    {} kB\nNode 0 MemFree: 1 kB", bytes / 1024);
            self.write(&format!("{folder}/meminfo"), &text);
        }
        let others = machine.memories().iter().filter_map(|memory| memory.number);
        let row: Vec<String> = others
            .filter_map(|other| machine.distance(number, other))
            .map(|distance| distance.to_string())
            .collect();
        if !row.is_empty() {
            self.write(&format!("{folder}/distance"), &row.join(" "));
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The kernel's mask format, at least two words wide.
pub(crate) fn mask_of(set: &ProcessorSet) -> String {
    let words = set.iter().last().map_or(2, |last| (last / 32 + 1).max(2));
    let word = |place: usize| {
        let bits = set.iter().filter(|processor| processor / 32 == place);
        bits.fold(0_u32, |word, processor| word | 1 << (processor % 32))
    };
    let words: Vec<String> = (0..words).rev().map(|place| format!("{:08x}", word(place))).collect();
    words.join(",")
}
