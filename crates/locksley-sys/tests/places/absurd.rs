//! Whatever the files say, what is read makes sense.

use std::fs;
use std::path::{Path, PathBuf};

use locksley_sys::places::{Kind, Places, Region, Topology};

use crate::folder::{Folder, Style};
use crate::machines::{check_nesting, set};

/// Two packages with a memory, a cache and a core of two threads each, numbered in turn.
fn small_server() -> Topology {
    let halves = ["0,2", "1,3"];
    let kinds = [Kind::Package, Kind::Memory, Kind::L3, Kind::L2, Kind::L1, Kind::Core];
    let regions = kinds.into_iter().flat_map(|kind| {
        halves.iter().enumerate().map(move |(number, half)| {
            let region = Region::new(kind, set(half));
            match kind {
                Kind::Package | Kind::Core => region.with_number(number),
                Kind::Memory => region.with_number(number).with_bytes(1 << 30),
                _ => region.with_bytes(1 << 15),
            }
        })
    });
    Topology::of(set("0-3"), regions)
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files_below(&path, found) } else { found.push(path) }
    }
}

#[test]
fn any_file_may_be_missing_or_say_anything() {
    let folder = Folder::with(&small_server(), Style::New);
    let whole = folder.read();
    assert!(whole.doubts().is_empty());
    let mut files = Vec::new();
    files_below(folder.path(), &mut files);
    assert!(files.len() > 60, "{}", files.len());
    let texts: [&[u8]; 11] = [
        b"",
        b"\0",
        b"x",
        b"-1",
        b"0",
        b"5",
        b"99999999999999999999",
        b"0-8191",
        b"0-",
        b"ffffffff,ffffffff,ffffffff",
        b"\xFF\xFE\x80",
    ];
    for file in &files {
        let before = fs::read(file).unwrap();
        let name = file.strip_prefix(folder.path()).unwrap().to_str().unwrap();
        let check = |what: &str| match Topology::read(folder.path()) {
            Ok(machine) => {
                check_nesting(&machine);
                if !name.ends_with("online") {
                    assert_eq!(machine.processors(), whole.processors(), "{name}: {what}");
                }
                let places = Places::found(&machine, &set("0-3"));
                assert_eq!(places.sets().iter().map(|set| set.len()).sum::<usize>(), 4);
                Some(machine)
            }
            Err(error) => {
                assert!(name.ends_with("online"), "{name}: {what}: {error}");
                None
            }
        };
        for text in texts {
            fs::write(file, text).unwrap();
            let machine = check(&String::from_utf8_lossy(text));
            if text == b"x" && !name.ends_with("online") {
                let named = |doubt: &String| doubt.starts_with(&format!("{name}: "));
                assert!(machine.unwrap().doubts().iter().any(named), "no doubt of {name}");
            }
        }
        fs::remove_file(file).unwrap();
        check("no file");
        fs::create_dir(file).unwrap();
        if let Some(machine) = check("a folder") {
            assert_eq!(machine.doubts().len(), 1, "{name}: {machine}");
        }
        fs::remove_dir(file).unwrap();
        fs::write(file, before).unwrap();
    }
    assert_eq!(folder.read(), whole);
}

#[test]
fn a_group_without_its_processor_is_left_out() {
    let folder = Folder::with(&small_server(), Style::New);
    let path = "sys/devices/system/cpu/cpu0/topology/core_cpus";
    folder.write(path, "0000000a");
    let doubts = folder.read().doubts().to_vec();
    assert_eq!(doubts, [format!("{path}: processor 0 is not among its own: 1,3")]);
}
