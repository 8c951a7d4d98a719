//! Simulated processors, with a script in the simulator's place.

#![cfg(unix)]

use std::path::Path;

use serde_json::Value;

use crate::support::{assert_refused, command, script, stdout_of};

/// A simulator without rayon, on which four processors take half the time of one.
const SIMULATOR: &str = r#"#!/bin/sh
    case "$*" in
        *rayon*) echo "error: invalid value 'rayon'" >&2; exit 2;;
        *--sites*) sites='["crates/locksley/src/a.rs:1",11]';;
    esac
    case "$1" in
        idle:1) seconds=0.001 work=0;;
        tree:65536:10000) seconds=0.4 work=0.65536;;
        tree:65536:1000) seconds=0.04 work=0.065536;;
        *) echo "'$1' is not expected" >&2; exit 2;;
    esac
    echo "{\"seconds\":$seconds,\"work_seconds\":$work,\"run_seconds\":2,\"virtual_seconds\":1,"
    echo "\"transfers\":22,\"voluntary_switches\":3,\"counters\":{\"steals\":5},"
    echo "\"neighbours\":[],\"sites\":[$sites]}"
"#;

const OPTIONS: [&str; 8] =
    ["simulate", "--quick", "--kinds", "tree", "--processors", "1,4", "--repeats", "2"];

#[test]
fn simulate_makes_a_record_and_a_page_that_can_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, again, json) = (path("out"), path("again"), path("record.json"));
    let (simulator, picture) = (path("simulator"), path("picture.svg"));
    script(Path::new(&simulator), SIMULATOR);
    let to = ["--simulator", &simulator, "--out", &out, "--json", &json];
    let output = command(&[&OPTIONS[..], &to].concat()).output().unwrap();
    let (said, news) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{news}");
    assert!(!news.contains('\u{1b}'), "progress is for terminals: {news}");
    for words in ["simulated: ice-lake, linux-6.18", "without rayon", "a.rs:1", "efficiency"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(record["plan"]["parameters"]["simulated"], "ice-lake, linux-6.18");
    let times = record["samples"].as_array().unwrap().iter();
    // Two trees and the start, five runtimes, two machines, two seeds.
    assert_eq!(times.filter(|it| it["metric"] == "seconds").count(), 3 * 5 * 2 * 2);
    stdout_of(&["report", "--json", &json, "--out", &again, "--picture", &picture]);
    let page = |out: &str| std::fs::read_to_string(Path::new(out).join("index.html")).unwrap();
    assert_eq!(page(&out), page(&again));
    assert!(std::fs::read_to_string(picture).unwrap().contains("tree: 65536 of 10 µs"));
}

#[test]
fn a_wrong_answer_or_a_deadlock_ends_it_with_a_fault_of_the_run() {
    for said in ["wrong: 3 leaves, where there are 4", "deadlock: all threads sleep"] {
        let folder = tempfile::tempdir().unwrap();
        let simulator = folder.path().join("simulator");
        let fails = format!("tree:65536:1000) echo '{said}' >&2; exit 2;;");
        script(
            &simulator,
            &SIMULATOR.replace("tree:65536:1000) seconds=0.04 work=0.065536;;", &fails),
        );
        let output = command(&OPTIONS)
            .arg("--simulator")
            .arg(&simulator)
            .arg("--out")
            .arg(folder.path().join("out"))
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{complaint}");
        assert!(complaint.contains("tree:65536:1000 on locksley") && complaint.contains(said));
    }
}

#[test]
fn a_simulator_that_is_missing_or_lacks_what_is_asked_for_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let in_folder = |arguments: &[&str]| {
        command(&[&OPTIONS[..], arguments].concat()).current_dir(folder.path()).output().unwrap()
    };
    assert_refused(&in_folder(&["--simulator", "none"]), "none is not there");
    assert_refused(&in_folder(&[]), "lab/simulator/Cargo.toml is not there");
    script(&folder.path().join("simulator"), SIMULATOR);
    let with =
        |option: &str, value: &str| in_folder(&["--simulator", "./simulator", option, value]);
    assert_refused(&with("--runtimes", "rayon"), "invalid value 'rayon'");
    assert_refused(&with("--runtimes", "tbb"), "classic-hood");
    assert_refused(&with("--processors", "0"), "workers");
}
