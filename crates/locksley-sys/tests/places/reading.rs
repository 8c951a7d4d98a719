//! What is read of a machine's files.

use std::io::ErrorKind;
use std::path::Path;

use locksley_sys::os::Processors;
use locksley_sys::places::{Kind, Places, Topology};

use crate::folder::{Folder, MEMORIES, PROCESSORS, Style, mask_of};
use crate::machines::{Even, Random, check_nesting, set};

/// The processors of each region.
fn lists(machine: &Topology, kind: Kind) -> Vec<String> {
    let regions = machine.level(kind).map(|level| &level.regions[..]).unwrap_or_default();
    regions.iter().map(|region| region.processors.to_string()).collect()
}

/// A test for each style, since they take a while.
fn are_read_again(style: Style, seed: u64) {
    let mut random = Random(seed);
    for _ in 0..20 {
        let machine = Even::new(&mut random).topology();
        let read = Folder::with(&machine, style).read();
        assert_eq!(read, machine, "{style:?}\n{machine}\n{read}");
        check_nesting(&read);
    }
}

#[test]
fn machines_that_were_written_by_old_kernels_are_read_again() {
    are_read_again(Style::Old, 1);
}

#[test]
fn machines_that_were_written_are_read_again() {
    are_read_again(Style::New, 2);
}

#[test]
fn offline_processors_are_left_out() {
    let folder = Folder::new();
    folder.write(&format!("{PROCESSORS}/online"), "0-2,5");
    for processor in [0, 1, 2, 3, 5] {
        let topology = format!("{PROCESSORS}/cpu{processor}/topology");
        folder.write(&format!("{topology}/package_cpus"), &mask_of(&set("0-3,5")));
    }
    let machine = folder.read();
    assert_eq!(machine.processors(), &set("0-2,5"));
    assert_eq!(lists(&machine, Kind::Package), ["0-2,5"]);
}

#[test]
fn without_processors_there_is_no_machine() {
    let folder = Folder::new();
    let error = Topology::read(folder.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains(PROCESSORS), "{error}");
    for nonsense in ["", "x", "0-"] {
        folder.write(&format!("{PROCESSORS}/online"), nonsense);
        let error = Topology::read(folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().ends_with("no processors are named"), "{error}");
    }
    folder.write(&format!("{PROCESSORS}/online"), "1");
    assert!(Topology::read(folder.path()).is_ok());
}

#[test]
fn memories_may_lack_processors_or_bytes_but_not_both() {
    let folder = Folder::new();
    folder.write(&format!("{PROCESSORS}/online"), "0-3");
    for (number, list, kilobytes) in [(0, "0-1", 1024), (2, "2-3", 0), (3, "", 64), (7, "", 0)] {
        let node = format!("{MEMORIES}/node{number}");
        folder.write(&format!("{node}/cpumap"), &mask_of(&set(list)));
        folder
            .write(&format!("{node}/meminfo"), &format!("Node {number} MemTotal: {kilobytes} kB"));
        folder.write(&format!("{node}/distance"), "10 20 17 21");
    }
    let machine = folder.read();
    assert_eq!(lists(&machine, Kind::Memory), ["0-1", "2-3"]);
    let bytes: Vec<_> = machine.memories().iter().map(|m| (m.number, m.bytes)).collect();
    assert_eq!(bytes, [(Some(0), Some(1 << 20)), (Some(2), Some(0)), (Some(3), Some(1 << 16))]);
    assert_eq!((machine.distance(0, 3), machine.distance(0, 4)), (Some(17), None));
    assert!(machine.to_string().contains("without processors: memory 3 (64 KiB)\n"), "{machine}");
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
    let machine = folder.read();
    assert_eq!(machine.doubts()[1], "left out: memory 2: 0-1, which contradicts memory 0: 0-3");
}

#[test]
fn near_memories_are_asked_first() {
    let folder = Folder::new();
    folder.write(&format!("{PROCESSORS}/online"), "0-7");
    for (number, row) in
        ["10 30 20 30", "30 10 30 20", "20 30 10 30", "30 20 30 10"].iter().enumerate()
    {
        let node = format!("{MEMORIES}/node{number}");
        let near = [2 * number, 2 * number + 1].into_iter().collect();
        folder.write(&format!("{node}/cpumap"), &mask_of(&near));
        folder.write(&format!("{node}/distance"), row);
    }
    let machine = folder.read();
    let places = Places::found(&machine, machine.processors());
    assert_eq!(places.count(), 4);
    // A processor that is left alone joins the place with the nearest memory.
    let places = Places::found(&machine, &set("0-4"));
    assert_eq!(places.sets(), [set("0-1,4"), set("2-3")]);
}

#[test]
fn this_machine_has_processors() {
    let machine = Topology::of_this_machine();
    check_nesting(&machine);
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
