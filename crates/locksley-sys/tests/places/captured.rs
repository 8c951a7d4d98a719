//! Real machines, captured by the hwloc project, as it sees them.
//! `crates/locksley-sys/captured-machines` fetches them, and runs this.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use locksley_sys::places::{Kind, Places, ProcessorSet, Topology};

use crate::hwloc::{Answer, Object};
use crate::machines::check_nesting;

/// The folder with a folder for each answer: `machine/` is the captured one, `answer` what hwloc
/// says of it, and `options` what lstopo was told.
const FOLDER: &str = "LOCKSLEY_CAPTURED_MACHINES";

#[test]
#[ignore = "needs captured machines: run crates/locksley-sys/captured-machines"]
fn machines_are_as_hwloc_says() {
    let folder =
        PathBuf::from(env::var_os(FOLDER).unwrap_or_else(|| panic!("{FOLDER} is not set")));
    let mut names: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert!(names.len() >= 10, "{} machines are too few", names.len());
    let mut wrong = 0;
    for capture in &names {
        let (summary, differences) = compare(capture);
        println!("{:<38} {summary}", capture.file_name().unwrap().to_string_lossy());
        for doubt in Topology::read(&capture.join("machine")).unwrap().doubts().iter().take(3) {
            println!("    doubt: {doubt}");
        }
        for difference in &differences {
            println!("    {difference}");
        }
        wrong += usize::from(!differences.is_empty());
    }
    println!("{} of {} machines are as hwloc says", names.len() - wrong, names.len());
    assert_eq!(wrong, 0);
}

/// A line about the machine, and what differs.
fn compare(capture: &Path) -> (String, Vec<String>) {
    let root = capture.join("machine");
    name_online(&root);
    let answer = Answer::parse(&fs::read_to_string(capture.join("answer")).unwrap());
    let options = fs::read_to_string(capture.join("options")).unwrap_or_default();
    let begun = Instant::now();
    let whole = Topology::read(&root).unwrap();
    let time = begun.elapsed();
    check_nesting(&whole);
    let group = ControlGroup::of(&root);
    // What is forbidden is still there for lstopo, if it is told so.
    let all = options.contains("--disallowed");
    let allowed = group.processors.filter(|_| !all);
    let machine = match &allowed {
        Some(allowed) => restricted(&whole, allowed),
        None => whole.clone(),
    };
    let mut differences = Vec::new();
    let processors: ProcessorSet = answer.named("PU").filter_map(|pu| pu.number).collect();
    if *machine.processors() != processors {
        differences.push(format!("processors {} and not {processors}", machine.processors()));
    }
    for kind in kinds(&machine, &answer) {
        differences.extend(compare_level(&machine, &answer, kind));
    }
    let memories = group.memories.filter(|_| !all);
    differences.extend(compare_memories(&machine, memories.as_ref(), &answer));
    let summary = format!(
        "{:>3} processors, {:>2} memories, {:>2} doubts, {} places {}, \
         read in {:.1} ms",
        machine.processors().len(),
        machine.memories().len(),
        machine.doubts().len(),
        Places::found(&whole, machine.processors()).count(),
        Places::found(&whole, machine.processors()).reason(),
        time.as_secs_f64() * 1e3,
    );
    (summary, differences)
}

/// What a process sees of the machine that may use no more than these processors.
fn restricted(machine: &Topology, processors: &ProcessorSet) -> Topology {
    let others = machine.levels().iter().filter(|level| level.kind != Kind::Memory);
    let regions = others.flat_map(|level| &level.regions).chain(machine.memories()).cloned();
    Topology::of(machine.processors().intersection(processors), regions)
}

/// Kernels before 2.6.26 have no list of the processors that are online.
fn name_online(root: &Path) {
    let folder = root.join("sys/devices/system/cpu");
    if folder.join("online").exists() {
        return;
    }
    let number = |name: String| name.strip_prefix("cpu")?.parse::<usize>().ok();
    let entries = fs::read_dir(&folder).unwrap();
    let numbers = entries.filter_map(|e| number(e.unwrap().file_name().into_string().unwrap()));
    let is_off = |number: &usize| {
        fs::read_to_string(folder.join(format!("cpu{number}/online")))
            .is_ok_and(|text| text.trim() == "0")
    };
    let online: ProcessorSet = numbers.filter(|number| !is_off(number)).collect();
    fs::write(folder.join("online"), online.to_string()).unwrap();
}

/// The kinds that are compared region by region: those that either of both knows of.
fn kinds(machine: &Topology, answer: &Answer) -> Vec<Kind> {
    let caches = (1..=5).map(|level| Kind::Cache { level });
    let kinds = [Kind::Package, Kind::Core].into_iter().chain(caches);
    let is_known = |&kind: &Kind| {
        machine.level(kind).is_some()
            || answer.objects.iter().any(|object| names_of(kind).contains(&object.name))
    };
    kinds.filter(is_known).collect()
}

fn names_of(kind: Kind) -> Vec<String> {
    match kind {
        Kind::Package => vec!["Package".to_owned()],
        Kind::Core => vec!["Core".to_owned()],
        cache => vec![cache.to_string(), format!("{cache}d")],
    }
}

fn compare_level(machine: &Topology, answer: &Answer, kind: Kind) -> Vec<String> {
    let names = names_of(kind);
    // One that hwloc makes of what it knows of that processor, while the kernel says nothing.
    let expected = answer.objects.iter().filter(|object| names.contains(&object.name));
    let expected = expected.filter(|object| object.subtype != "MemorySideCache");
    // Where no processor is allowed but the memory is, hwloc has them without processors.
    let expected = expected.filter(|object| !object.processors.is_empty());
    let mut expected: BTreeMap<Vec<usize>, &Object> =
        expected.map(|object| (object.processors.as_slice().to_vec(), object)).collect();
    let regions = machine.level(kind).map(|level| &level.regions[..]).unwrap_or_default();
    let mut differences = Vec::new();
    for region in regions {
        let Some(object) = expected.remove(region.processors.as_slice()) else {
            differences.push(format!("{region} is not there"));
            continue;
        };
        let is_numbered = matches!(kind, Kind::Package | Kind::Core);
        let numbers = region.number.zip(object.number);
        if is_numbered && numbers.is_some_and(|(ours, theirs)| ours != theirs) {
            differences.push(format!("{region} has number {:?}", object.number));
        }
        if !object.may_have(region.bytes) {
            differences.push(format!("{region} has {:?} bytes", object.bytes));
        }
    }
    differences.extend(expected.values().map(|object| format!("{object:?} is missing")));
    differences
}

/// Memories are compared by their numbers. One without processors is shown by hwloc near to some;
/// one without bytes is not shown, nor one that the control group forbids; and a kernel that knows
/// of none has one.
fn compare_memories(
    machine: &Topology,
    allowed: Option<&ProcessorSet>,
    answer: &Answer,
) -> Vec<String> {
    let mut differences = Vec::new();
    let mut expected: BTreeMap<usize, &Object> =
        answer.named("NUMANode").map(|memory| (memory.number.unwrap(), memory)).collect();
    if machine.memories().is_empty() {
        let only = expected.remove(&0);
        if only.is_none_or(|only| only.processors != *machine.processors()) {
            differences.push(format!("no memory for {}", machine.processors()));
        }
    }
    for memory in machine.memories() {
        let number = memory.number.unwrap();
        if memory.bytes == Some(0) || allowed.is_some_and(|allowed| !allowed.contains(number)) {
            continue;
        }
        match expected.remove(&number) {
            None => differences.push(format!("{memory} is not there")),
            Some(object) => {
                if !memory.processors.is_empty() && memory.processors != object.processors {
                    differences.push(format!("{memory} is near {}", object.processors));
                }
                if !object.may_have(memory.bytes) {
                    differences.push(format!("{memory} has {:?} bytes", object.bytes));
                }
            }
        }
    }
    differences.extend(expected.values().map(|object| format!("{object:?} is missing")));
    differences
}

/// What the captured machine's control group allowed when it was captured. On the machine that it
/// runs on, the library asks the kernel for its affinity, which is within that.
#[derive(Default)]
struct ControlGroup {
    processors: Option<ProcessorSet>,
    memories: Option<ProcessorSet>,
}

impl ControlGroup {
    fn of(root: &Path) -> Self {
        let text = |path: &str| fs::read_to_string(root.join(path)).ok();
        let Some(name) = text("proc/self/cpuset") else { return Self::default() };
        let mounts = text("proc/mounts").unwrap_or_default();
        for line in mounts.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, folder, system, options, ..] = fields[..] else { continue };
            let has = |option| options.split(',').any(|other| other == option);
            let suffixes = match system {
                "cpuset" => ["cpus", "mems"],
                "cgroup" if has("cpuset") && has("noprefix") => ["cpus", "mems"],
                "cgroup" if has("cpuset") => ["cpuset.cpus", "cpuset.mems"],
                "cgroup2" => ["cpuset.cpus.effective", "cpuset.mems.effective"],
                _ => continue,
            };
            let set = |suffix: &str| {
                let path = format!("{folder}{}/{suffix}", name.trim());
                text(path.trim_start_matches('/'))?.trim().parse().ok()
            };
            let [processors, memories] = suffixes.map(set);
            if processors.is_some() {
                return Self { processors, memories };
            }
        }
        Self::default()
    }
}
