//! What the commands print.

use std::path::Path;
use std::process::Stdio;

use crate::support::{command, stdout_of};
use locksley::places::ProcessorSet;
use serde_json::Value;

#[test]
fn run_prints_one_line_of_json() {
    for (app, size, runtime) in [
        ("knary", "4,3,1", "locksley"),
        ("heat", "40x40x3", "static"),
        ("msort", "5000", "rayon"),
        ("heat", "90x900x7", "locksley-intervals"),
        ("lu", "256", "locksley-intervals"),
        ("msort", "200K", "locksley-intervals"),
        ("mm", "64", "classic-hood"),
        ("bfs", "9,8", "locksley"),
        ("ep", "2", "rayon"),
        ("clip", "40x9", "locksley"),
        ("mi", "30x2", "rayon"),
        ("loop", "5x100", "locksley"),
    ] {
        let text = stdout_of(&[
            "run",
            app,
            "--size",
            size,
            "--runtime",
            runtime,
            "--workers",
            "3",
            "--json",
        ]);
        assert_eq!(text.lines().count(), 1);
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["app"], app);
        assert_eq!(line["runtime"], runtime);
        assert_eq!(line["workers"], 3);
        assert_eq!(line["size"], size);
        assert_eq!(line["correct"], true);
        assert!(line["seconds"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn run_profiles() {
    let tree = ["run", "knary", "--size", "6,3,1", "--workers", "2", "--profile"];
    let text = stdout_of(&[&tree[..], &["--json"]].concat());
    let line: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(line["correct"], true);
    // At each inner node two of three children run in parallel: a fork.
    assert_eq!(line["tasks"], 1 + 3 + 9 + 27 + 81);
    let figure = |name: &str| line[name].as_f64().unwrap();
    assert!(figure("span") <= figure("work") && figure("parallelism") > 1.0, "{text}");
    assert!(figure("burdened_parallelism") <= figure("parallelism"), "{text}");
    assert!(!line["advice"].as_array().unwrap().is_empty());

    let text = stdout_of(&tree);
    assert!(text.starts_with("knary 6,3,1 on locksley with 2 workers: "), "{text}");
    for word in ["work T1", "span T∞", "parallelism", "utilization", "searching"] {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn run_speaks_to_people_and_serial_has_one_worker() {
    let text =
        stdout_of(&["run", "msort", "--size", "3K", "--runtime", "serial", "--workers", "7"]);
    assert!(
        text.starts_with("msort 3K on serial with 1 worker: ") && text.ends_with("correct\n"),
        "{text}"
    );
}

#[test]
fn rounds_print_their_one_line() {
    let round = ["--secs", "0.02", "--leaf", "50", "--chunks", "7", "--serial", "2"];
    for (runtime, workers) in
        [("locksley", 3), ("rayon", 2), ("static", 5), ("serial", 1), ("classic-hood", 4)]
    {
        let asked = workers.to_string();
        let text = stdout_of(
            &[&["rounds", "--runtime", runtime, "--workers", &asked][..], &round].concat(),
        );
        let start = format!("{{\"runtime\":\"{runtime}\",\"P\":{workers},\"rounds_per_s\":");
        assert!(text.starts_with(&start) && text.ends_with("}\n"), "{text}");
        let (_, decimals) = text.trim_end_matches("}\n").rsplit_once('.').unwrap();
        assert_eq!(decimals.len(), 2, "{text}");
        let line: Value = serde_json::from_str(&text).unwrap();
        assert!(line["rounds_per_s"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn forkjoin_once_prints_its_one_line() {
    for (runtime, subject) in [
        ("serial", "fib 12"),
        ("locksley", "tree 6"),
        ("locksley-join", "fib 12"),
        ("rayon", "tree 6"),
        ("chili", "fib 12"),
    ] {
        let text = stdout_of(&["once", "forkjoin", subject, runtime, "2", "7"]);
        assert_eq!(text.lines().count(), 1);
        let line: Value = serde_json::from_str(&text).unwrap();
        assert!(line["seconds"].as_f64().unwrap() > 0.0, "{text}");
    }
}

#[test]
fn forkjoin_makes_a_record_and_a_page_that_can_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, json, again) = (path("out"), path("record.json"), path("again"));
    let output = command(&["forkjoin", "--quick", "--runtimes", "locksley", "--repeats", "1"])
        .args(["--fib", "10", "--tree", "4", "--out", &out, "--json", &json])
        .output()
        .unwrap();
    let (said, news) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{news}");
    assert!(said.contains("fib 10: 88 forks") && said.contains("tree 4: 7 forks"), "{said}");
    assert!(!news.contains('\u{1b}'), "progress is for terminals: {news}");
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(record["format"], "locksley-record/1");
    stdout_of(&["report", "--json", &json, "--out", &again]);
    let page = |out: &str| std::fs::read_to_string(Path::new(out).join("index.html")).unwrap();
    assert_eq!(page(&out), page(&again));
}

#[test]
fn apps_lists_every_application_with_its_sizes() {
    let text = stdout_of(&["apps"]);
    for word in [
        "knary",
        "heat",
        "msort",
        "mm",
        "lu",
        "barnes",
        "ray",
        "bfs",
        "ep",
        "cg",
        "raytracer",
        "clip",
        "mi",
        "loop",
        "4096x512x100",
        "32M",
        "1024",
        "H,D,S",
        "classic-hood",
    ] {
        assert!(text.contains(word), "{word}");
    }
}

#[test]
fn machine_tells_processors_kernel_and_assists() {
    let text = stdout_of(&["machine"]);
    assert!(
        text.contains("processors") && text.contains("kernel") && text.contains("quota"),
        "{text}"
    );
    let machine: Value = serde_json::from_str(&stdout_of(&["machine", "--json"])).unwrap();
    assert!(machine["processors"].as_u64().unwrap() >= 1);
    assert!(machine["assists"].as_array().is_some_and(|assists| !assists.is_empty()));
    // The machine is described, and its places have all that is allowed.
    assert!(text.contains("topology") && text.contains("place 0: "), "{text}");
    let set = |value: &Value| value.as_str().unwrap().parse::<ProcessorSet>().unwrap();
    assert!(!set(&machine["online"]).is_empty());
    let places = machine["places"].as_array().unwrap().iter().map(set);
    let of_places = places.fold(ProcessorSet::new(), |all, place| all.union(&place));
    assert_eq!(of_places, set(&machine["allowed"]));
    assert_eq!(of_places.len() as u64, machine["processors"].as_u64().unwrap());
}

#[test]
fn help_and_version_are_no_faults() {
    for arguments in
        [&["--help"][..], &["help"], &["--version"], &["run", "--help"], &["rounds", "--help"]]
    {
        assert!(!stdout_of(arguments).is_empty());
    }
}

#[test]
fn report_makes_the_page_of_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/folder");
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("record/epyc-2/2026-11-23-cliff-quick.json");
    let text =
        stdout_of(&["report", "--json", example.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert!(text.contains("index.html"));
    assert!(std::fs::read_to_string(out.join("index.html")).unwrap().contains("<svg"));
}

#[test]
fn a_reader_that_leaves_is_no_fault() {
    for arguments in [&["apps"][..], &["machine"], &["--help"], &["run", "mm", "--size", "16"]] {
        let mut child =
            command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    // The same for stderr: a complaint that is not heard changes no exit code.
    let mut child = command(&["run", "nothing"]).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_fault_of_the_run() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(&["apps"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1);
}

#[test]
fn a_sleeper_prints_what_it_noted() {
    let text = stdout_of(&["once", "neighbour", "0.08", "alone", "1", "7"]);
    assert_eq!(text.lines().count(), 1);
    let line: Value = serde_json::from_str(&text).unwrap();
    let figure = |name: &str| line[name].as_f64().unwrap();
    assert!(figure("late most us") >= figure("late p50 us") && figure("work p50 us") > 0.0);
    assert!(figure("wake-ups") >= 1.0, "{line}");
}

#[test]
fn neighbour_measures_and_reports_and_does_not_measure_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, again, json) = (path("out"), path("again"), path("neighbour.json"));
    let arguments = [
        "neighbour",
        "--quick",
        "--runtimes",
        "locksley,static",
        "--secs",
        "0.03",
        "--out",
        &out,
        "--json",
        &json,
    ];
    let output = command(&arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let news = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{news}");
    for word in ["alone", "plenty, P = ", "little, P = ", "locksley", "static"] {
        assert!(text.contains(word), "{text}");
    }
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let samples = record["samples"].as_array().unwrap();
    let count = |metric| samples.iter().filter(|sample| sample["metric"] == metric).count();
    let (latest, rates) = (count("late most us"), count("rounds per second"));
    // Where others use the machine, the time may not suffice for the second repetition.
    if news.contains("the time is over") {
        assert!((1 + 2 * 2 * 2..2 * (1 + 2 * 2 * 2)).contains(&latest), "{news}");
        assert!((1..=2).contains(&(latest - rates)), "{news}");
    } else {
        assert_eq!((latest, rates), (2 * (1 + 2 * 2 * 2), 2 * 2 * 2 * 2), "{news}");
    }

    let again_said = String::from_utf8(command(&arguments).output().unwrap().stderr).unwrap();
    assert!(again_said.contains("measured already"), "{again_said}");
    stdout_of(&["report", "--json", &json, "--out", &again]);
    let page =
        |folder: &str| std::fs::read_to_string(Path::new(folder).join("index.html")).unwrap();
    assert_eq!(page(&out), page(&again));
}
