//! Files of the kernel with any contents: the topology and the quota that are read make sense.

#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use locksley_sys::os::QuotaWatch;
use locksley_sys::places::{Places, ProcessorSet, Topology};

/// What a file of the machine has instead of its usual text; nothing removes it.
#[derive(Arbitrary, Debug)]
struct Change<'a> {
    file: u8,
    text: Option<Vec<Piece<'a>>>,
}

#[derive(Arbitrary, Debug)]
enum Piece<'a> {
    Bytes(&'a [u8]),
    Word(u8),
    Number(u64),
    Small(u8),
}

const WORDS: [&str; 24] = [
    " ",
    "\n",
    ",",
    "-",
    ":",
    "/",
    "\\040",
    "..",
    "a",
    "max",
    "-1",
    "100000",
    "cpu",
    "cpuset",
    "0::/a/b",
    "\n4:cpu,cpuacct:/a",
    "\n30 22 0:25 / /m rw - cgroup2 cgroup2 rw",
    "\n31 22 0:26 /.. /m rw - cgroup cgroup rw,cpu",
    "ffffffff",
    "Unified",
    "K",
    "MemTotal: ",
    " kB",
    "0-3",
];

/// A usual machine: two cores of two processors, two memories, a group in a group.
fn usual() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    let mut file = |path: String, text: &str| files.push((path, text.to_owned()));
    file("sys/devices/system/cpu/online".into(), "0-3\n");
    for processor in 0..4 {
        let folder = format!("sys/devices/system/cpu/cpu{processor}");
        let core = ["3", "c"][processor / 2];
        for (name, text) in [
            ("topology/physical_package_id", "0"),
            ("topology/package_cpus", "f"),
            ("topology/core_siblings", "f"),
            ("topology/core_id", ["0", "1"][processor / 2]),
            ("topology/core_cpus", core),
            ("topology/thread_siblings", core),
            ("cache/index0/type", "Data"),
            ("cache/index0/level", "1"),
            ("cache/index0/size", "32K"),
            ("cache/index0/shared_cpu_map", core),
            ("cache/index3/type", "Unified"),
            ("cache/index3/level", "3"),
            ("cache/index3/size", "8192K"),
            ("cache/index3/shared_cpu_map", "f"),
        ] {
            file(format!("{folder}/{name}"), text);
        }
    }
    for node in 0..2 {
        let folder = format!("sys/devices/system/node/node{node}");
        file(format!("{folder}/cpumap"), ["3", "c"][node]);
        file(format!("{folder}/meminfo"), &format!("Node {node} MemTotal: 1024 kB\n"));
        file(format!("{folder}/distance"), ["10 21", "21 10"][node]);
    }
    file("proc/self/mountinfo".into(), "30 22 0:25 / /m rw - cgroup2 cgroup2 rw\n");
    file("proc/self/cgroup".into(), "0::/a/b\n");
    for folder in ["m", "m/a", "m/a/b"] {
        file(format!("{folder}/cpu.max"), "150000 100000\n");
        file(format!("{folder}/cpu.cfs_quota_us"), "150000\n");
        file(format!("{folder}/cpu.cfs_period_us"), "100000\n");
        file(format!("{folder}/cpu.stat"), "nr_throttled 4\n");
    }
    files
}

/// The folder of the usual machine, and its files.
static MACHINE: LazyLock<(PathBuf, Vec<(String, String)>)> = LazyLock::new(|| {
    let root = std::env::temp_dir().join(format!("locksley-fuzz-{}", std::process::id()));
    let files = usual();
    for (path, text) in &files {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    (root, files)
});

fuzz_target!(|changes: Vec<Change<'_>>| {
    let (root, files) = &*MACHINE;
    let changed = |change: &Change<'_>| &files[usize::from(change.file) % files.len()];
    for change in &changes {
        let path = root.join(&changed(change).0);
        match &change.text {
            Some(pieces) => {
                fs::write(path, pieces.iter().flat_map(bytes).collect::<Vec<_>>()).unwrap()
            }
            None => drop(fs::remove_file(path)),
        }
    }
    check_topology(root);
    check_quota(root);
    for change in &changes {
        let (path, text) = changed(change);
        fs::write(root.join(path), text).unwrap();
    }
});

fn bytes(piece: &Piece<'_>) -> Vec<u8> {
    match piece {
        Piece::Bytes(bytes) => bytes.to_vec(),
        Piece::Word(word) => WORDS[usize::from(*word) % WORDS.len()].into(),
        Piece::Number(number) => number.to_string().into(),
        Piece::Small(number) => number.to_string().into(),
    }
}

fn check_topology(root: &Path) {
    let Ok(machine) = Topology::read(root) else { return };
    let regions: Vec<_> = machine.levels().iter().flat_map(|level| &level.regions).collect();
    for (n, a) in regions.iter().enumerate() {
        assert!(!a.processors.is_empty() && a.processors.is_subset(machine.processors()), "{a}");
        for b in &regions[..n] {
            let (a, b) = (&a.processors, &b.processors);
            assert!(a.is_disjoint(b) || a.is_subset(b) || b.is_subset(a), "{machine}");
        }
    }
    let allowed: ProcessorSet = "0-5".parse().unwrap();
    let by_level = machine.levels().iter().map(|it| Places::by_level(&machine, &allowed, it.kind));
    for places in by_level.flatten().chain([Places::found(&machine, &allowed)]) {
        let in_all: usize = places.sets().iter().map(ProcessorSet::len).sum();
        let all: ProcessorSet = places.sets().iter().flat_map(ProcessorSet::iter).collect();
        assert_eq!((in_all, &all), (6, &allowed), "{machine}{places}");
    }
}

fn check_quota(root: &Path) {
    let watch = QuotaWatch::below(root);
    let (quota, faults) = watch.quota();
    if let Some(quota) = quota {
        assert!(quota.processors > 0.0 && quota.processors.is_finite(), "{quota:?}");
        assert!(!quota.period.is_zero(), "{quota:?}");
        watch.periods_used_up(&quota);
    }
    faults.iter().for_each(|fault| drop(fault.to_string()));
}
