//! What is read of a machine's files.

use std::fs;
use std::path::Path;

use locksley_sys::os::Processors;
use locksley_sys::places::{Kind, Places, Topology, TopologyError};

use crate::folder::{Folder, MEMORIES, PROCESSORS, Style, mask_of};
use crate::machines::{Even, Random, check_tree, set};

/// The processors of each region.
fn lists(machine: &Topology, kind: Kind) -> Vec<String> {
    let regions = machine.level(kind).map(|level| level.regions()).unwrap_or_default();
    regions.iter().map(|region| region.processors().to_string()).collect()
}

/// A test for each style, since they take a while.
fn are_read_again(style: Style, seed: u64) {
    let mut random = Random(seed);
    for _ in 0..20 {
        let machine = Even::new(&mut random).topology();
        let read = Folder::with(&machine, style).read();
        assert_eq!(read, machine, "{style:?}\n{machine}\n{read}");
        check_tree(&read);
    }
}

#[test]
fn machines_that_were_written_in_old_masks_are_read_again() {
    are_read_again(Style::OldMasks, 1);
}

#[test]
fn machines_that_were_written_in_masks_are_read_again() {
    are_read_again(Style::Masks, 2);
}

#[test]
fn machines_that_were_written_in_lists_are_read_again() {
    are_read_again(Style::Lists, 3);
}

#[test]
fn offline_processors_are_told_apart() {
    let folder = Folder::new();
    folder.write(&format!("{PROCESSORS}/online"), "0-2,5");
    for processor in [0, 1, 2, 3, 5] {
        let topology = format!("{PROCESSORS}/cpu{processor}/topology");
        folder.write(&format!("{topology}/package_cpus"), &mask_of(&set("0-3,5")));
    }
    // The list may be older than the switch.
    folder.write(&format!("{PROCESSORS}/cpu5/online"), "0");
    folder.write(&format!("{PROCESSORS}/cpufreq/boost"), "1");
    fs::create_dir_all(folder.path().join(PROCESSORS).join("cpu07")).unwrap();
    let machine = folder.read();
    assert_eq!(machine.processors(), &set("0-2"));
    assert_eq!(machine.offline(), &set("3,5"));
    assert_eq!(lists(&machine, Kind::Package), ["0-2"]);
    assert!(machine.to_string().ends_with("offline: 3,5\n"), "{machine}");
}

#[test]
fn without_a_list_processors_are_online_but_for_those_switched_off() {
    let folder = Folder::new();
    for (processor, text) in [(0, None), (1, Some("1")), (2, Some("0"))] {
        let path = format!("{PROCESSORS}/cpu{processor}");
        folder.write(&format!("{path}/crash_notes"), "0");
        if let Some(text) = text {
            folder.write(&format!("{path}/online"), text);
        }
    }
    assert_eq!(folder.read().processors(), &set("0-1"));
    assert_eq!(folder.read().offline(), &set("2"));
    assert!(folder.read().levels().is_empty());
}

#[test]
fn no_folder_and_no_processor_are_errors() {
    let folder = Folder::new();
    let error = Topology::read(folder.path()).unwrap_err();
    assert!(matches!(&error, TopologyError::Unreadable { path, .. } if path.ends_with(PROCESSORS)));
    assert!(error.to_string().starts_with("cannot read "), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    folder.write(&format!("{PROCESSORS}/cpu0/online"), "0");
    let error = Topology::read(folder.path()).unwrap_err();
    assert!(matches!(&error, TopologyError::NoProcessors { path } if path.ends_with(PROCESSORS)));
    assert!(error.to_string().starts_with("no processor is online in "), "{error}");
    folder.write(&format!("{PROCESSORS}/cpu0/online"), "1");
    assert!(Topology::read(folder.path()).is_ok());
}

#[test]
fn memories_may_lack_processors_or_bytes_but_not_both() {
    let folder = Folder::new();
    folder.write(&format!("{PROCESSORS}/online"), "0-3");
    for (number, list, kilobytes) in [(0, "0-1", 1024), (2, "2-3", 0), (3, "", 64), (7, "", 0)] {
        let node = format!("{MEMORIES}/node{number}");
        folder.write(&format!("{node}/cpulist"), list);
        folder
            .write(&format!("{node}/meminfo"), &format!("Node {number} MemTotal: {kilobytes} kB"));
        folder.write(&format!("{node}/distance"), "10 20 17 21");
    }
    let machine = folder.read();
    assert_eq!(lists(&machine, Kind::Memory), ["0-1", "2-3"]);
    let bytes: Vec<_> = machine.memories().iter().map(|m| (m.number(), m.bytes())).collect();
    assert_eq!(bytes, [(Some(0), Some(1 << 20)), (Some(2), Some(0)), (Some(3), Some(1 << 16))]);
    assert_eq!((machine.distance(0, 3), machine.distance(0, 4)), (Some(17), None));
    assert!(machine.to_string().contains("without processors: memory 3 (64 KiB)\n"), "{machine}");
    // Restricted, a memory may lose its processors, and is still there.
    let part = machine.restricted_to(&set("0"));
    assert_eq!(part.memories().len(), 3);
    assert_eq!(lists(&part, Kind::Memory), ["0"]);
}

#[test]
fn two_memories_do_not_share_a_processor() {
    let folder = Folder::new();
    folder.write(&format!("{PROCESSORS}/online"), "0-3");
    for number in 0..3 {
        folder.write(&format!("{MEMORIES}/node{number}/cpumap"), "f");
    }
    let machine = folder.read();
    assert_eq!(lists(&machine, Kind::Memory), ["0-3"]);
    assert_eq!((machine.memories().len(), machine.doubts().len()), (1, 2));
    folder.write(&format!("{MEMORIES}/node2/cpumap"), "3");
    assert_eq!(lists(&folder.read(), Kind::Memory), ["0-3"]);
    let doubt = folder.read().doubts()[1].to_string();
    assert_eq!(doubt, "left out: memory 2: 0-1, which contradicts memory 0: 0-3");
}

#[test]
fn a_cache_that_nobody_is_said_to_share_is_the_cores() {
    let folder = Folder::new();
    folder.write(&format!("{PROCESSORS}/online"), "0-3");
    for processor in 0..4 {
        let path = format!("{PROCESSORS}/cpu{processor}");
        let core = if processor < 2 { "3" } else { "c" };
        folder.write(&format!("{path}/topology/thread_siblings"), core);
        folder.write(&format!("{path}/cache/index4/level"), "3");
        folder.write(&format!("{path}/cache/index4/type"), "Unified");
        folder.write(&format!("{path}/cache/index4/shared_cpu_map"), "00000000");
    }
    assert_eq!(lists(&folder.read(), Kind::L3), ["0-1", "2-3"]);
    for processor in 0..4 {
        folder.remove(&format!("{PROCESSORS}/cpu{processor}/topology/thread_siblings"));
    }
    assert_eq!(lists(&folder.read(), Kind::L3), ["0", "1", "2", "3"]);
}

#[test]
fn dies_and_clusters_are_told_where_they_are_news() {
    let folder = Folder::new();
    folder.write(&format!("{PROCESSORS}/online"), "0-3");
    let write = |name: &str, texts: [&str; 4]| {
        for (processor, text) in texts.into_iter().enumerate() {
            folder.write(&format!("{PROCESSORS}/cpu{processor}/topology/{name}"), text);
        }
    };
    write("package_cpus", ["f"; 4]);
    write("core_cpus", ["1", "2", "4", "8"]);
    write("die_cpus", ["f"; 4]);
    write("die_id", ["0"; 4]);
    write("cluster_cpus", ["1", "2", "c", "c"]);
    write("cluster_id", ["0", "1", "2", "2"]);
    let machine = folder.read();
    assert_eq!(machine.level(Kind::Die), None);
    assert_eq!(lists(&machine, Kind::Cluster), ["2-3"]);
    write("die_cpus", ["3", "3", "c", "c"]);
    assert_eq!(lists(&folder.read(), Kind::Die), ["0-1", "2-3"]);
    write("die_id", ["-1"; 4]);
    assert_eq!(folder.read().level(Kind::Die), None);
}

#[test]
fn designs_of_cores_have_names_or_capacities() {
    let types = |machine: &Topology| -> Vec<String> {
        let text = |of: &locksley_sys::places::CoreType| {
            format!("{:?} {:?} {}", of.name.as_deref(), of.capacity, of.processors)
        };
        machine.core_types().iter().map(text).collect()
    };
    let folder = Folder::new();
    folder.write(&format!("{PROCESSORS}/online"), "0-3");
    let capacity = |processor, text| {
        folder.write(&format!("{PROCESSORS}/cpu{processor}/cpu_capacity"), text);
    };
    (0..4).for_each(|processor| capacity(processor, "1024"));
    assert_eq!(types(&folder.read()), [""; 0], "all are alike");
    (0..2).for_each(|processor| capacity(processor, "446"));
    assert_eq!(types(&folder.read()), ["None Some(446) 0-1", "None Some(1024) 2-3"]);

    for processor in 0..4 {
        let path = format!("{PROCESSORS}/cpu{processor}/regs/identification/midr_el1");
        let text = if processor == 3 { "0x00000000410fd871" } else { "0x00000000410fd851" };
        folder.write(&path, text);
    }
    let by_part = [r#"Some("arm-41-d85") Some(1024) 0-2"#, r#"Some("arm-41-d87") Some(1024) 3"#];
    assert_eq!(types(&folder.read()), by_part);

    folder.write("sys/devices/cpu_core/cpus", "0-1,7");
    folder.write("sys/devices/cpu_atom/cpus", "2-3");
    let by_name = [r#"Some("cpu_core") Some(446) 0-1"#, r#"Some("cpu_atom") Some(1024) 2-3"#];
    assert_eq!(types(&folder.read()), by_name);
    assert!(folder.read().to_string().contains("cpu_core of capacity 446: 0-1\n"));

    folder.remove("sys/devices/cpu_core/cpus");
    folder.remove("sys/devices/cpu_atom/cpus");
    folder.write(&format!("{PROCESSORS}/types/intel_core_0/cpulist"), "0");
    folder.write(&format!("{PROCESSORS}/types/intel_atom_0/cpumap"), "e");
    assert_eq!(types(&folder.read())[0], r#"Some("intel_core_0") Some(446) 0"#);
    let part = folder.read().restricted_to(&set("1-3"));
    assert_eq!(types(&part), [r#"Some("intel_atom_0") Some(1024) 1-3"#]);
}

#[test]
fn near_memories_are_asked_first() {
    let folder = Folder::new();
    folder.write(&format!("{PROCESSORS}/online"), "0-7");
    for (number, row) in
        ["10 30 20 30", "30 10 30 20", "20 30 10 30", "30 20 30 10"].iter().enumerate()
    {
        let node = format!("{MEMORIES}/node{number}");
        folder.write(&format!("{node}/cpulist"), &format!("{}-{}", 2 * number, 2 * number + 1));
        folder.write(&format!("{node}/distance"), row);
    }
    let machine = folder.read();
    let places = Places::found(&machine, machine.processors());
    assert_eq!(places.count(), 4);
    assert_eq!(places.others(&machine, 0), [2, 1, 3]);
    assert_eq!(places.others(&machine, 1), [3, 2, 0]);
    // A processor that is left alone joins the place whose memory is nearest.
    let places = Places::found(&machine, &set("0-4"));
    assert_eq!(places.sets(), [set("0-1,4"), set("2-3")]);
}

#[test]
fn this_machine_has_processors() {
    let machine = Topology::of_this_machine();
    check_tree(&machine);
    let allowed = Processors::allowed().ids().iter().copied().collect();
    let places = Places::found(&machine, &allowed);
    assert_eq!(places.sets().iter().map(|set| set.len()).sum::<usize>(), allowed.len());
    if cfg!(all(target_os = "linux", not(locksley_portable))) {
        if Path::new("/").join(PROCESSORS).is_dir() {
            assert_eq!(machine, Topology::read(Path::new("/")).unwrap());
        }
    } else {
        assert!(machine.levels().is_empty());
        assert_eq!(machine.doubts().len(), 1);
    }
}
