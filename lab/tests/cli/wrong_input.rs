//! Whatever cannot be done is refused with one line and exit code 2, before any work starts.

use std::fs;
use std::path::Path;

use crate::support::{assert_refused, command, locksley};

/// Runs `locksley` and returns its complaint.
#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let output = locksley(arguments);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
    assert_eq!(complaint.lines().count(), 1, "{arguments:?}: {complaint}");
    assert!(
        complaint.starts_with("locksley: ") && complaint.len() > 20,
        "{arguments:?}: {complaint}"
    );
    assert!(output.stdout.is_empty(), "{arguments:?} began to work");
    complaint
}

#[test]
fn commands_and_flags() {
    refused(&[]);
    refused(&["dance"]);
    refused(&["run"]);
    assert!(refused(&["openmp-bench", "--cc", "/no/such/cc"]).contains("/no/such/cc"));
    assert!(refused(&["openmp-bench", "--constructs", "dance"]).contains("barrier"));
    refused(&["machine", "--loud"]);
    refused(&["apps", "mm"]);
    assert!(refused(&["run", "mm", "--worker", "2"]).contains("--workers"));
}

#[test]
fn negative_numbers_are_values_out_of_range() {
    assert!(refused(&["run", "lu", "--workers", "-1"]).contains("'-1' is not a whole number"));
    assert!(refused(&["rounds", "--secs", "-1"]).contains("more than 0"));
    let said = refused(&["run", "lu", "--seed", "invalid digit found in string"]);
    assert!(said.contains("'invalid digit found in string'") && said.contains(": not a whole"));
    assert!(refused(&["bench", "--repeats", "-3"]).contains("'-3'"));
}

#[test]
fn variables() {
    for (name, command_line) in [
        ("LOCKSLEY_WORKERS", &["machine"][..]),
        ("LOCKSLEY_ASSISTS", &["run", "msort", "--size", "10"]),
    ] {
        let output = command(command_line).env(name, "many").output().unwrap();
        assert_refused(&output, name);
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn applications_and_runtimes() {
    assert!(refused(&["run", "nbody"]).contains("knary, heat, msort, mm"));
    assert!(refused(&["run", "mm", "--runtime", "tbb"]).contains("rayon"));
    assert!(refused(&["run", "msort", "--runtime", "static"]).contains("msort"));
    assert!(refused(&["run", "knary", "--runtime", "static"]).contains("knary"));
    assert!(refused(&["run", "mm", "--runtime", "rayon", "--profile"]).contains("no profiler"));
    for app in ["knary", "mm", "bfs"] {
        let complaint = refused(&["run", app, "--runtime", "locksley-intervals"]);
        assert!(complaint.contains(app) && complaint.contains("'locksley-intervals'"));
    }
    refused(&["rounds", "--runtime", "openmp"]);
    refused(&["cliff", "--quick", "--apps", "mm,nbody"]);
    assert!(refused(&["cliff", "--quick", "--apps", "mm,bfs"]).contains("bfs"));
    refused(&["cliff", "--quick", "--apps", ""]);
    assert!(refused(&["cliff", "--quick", "--runtimes", "tbb"]).contains("rayon"));
    assert!(refused(&["cliff", "--quick", "--runtimes", "serial"]).contains("serial"));
    refused(&["cliff", "--quick", "--workers", "2,0"]);
    refused(&["cliff", "--quick", "--repeats", "0"]);
    refused(&["cliff", "--quick", "--alternatives", "--apps", "mm"]);
    refused(&["cliff", "--quick", "--alternatives", "--runtimes", "rayon"]);
    refused(&["run", "two\nlines"]);
}

#[test]
fn numbers_of_workers() {
    for workers in ["0", "-1", "two", "1.5", "", "1025", "99999999999999999999"] {
        let workers = format!("--workers={workers}");
        refused(&["run", "mm", &workers]);
        refused(&["rounds", &workers]);
    }
}

#[test]
fn sizes() {
    for (app, size) in [
        ("mm", "0"),
        ("mm", "1000"),
        ("mm", "huge"),
        ("mm", "4611686018427387904"),
        ("lu", "100"),
        ("barnes", "16384"),
        ("ray", "4,512"),
        ("ray", "0,18446744073709551615x18446744073709551615"),
        ("heat", "4096x512"),
        ("heat", "2x2x2"),
        ("heat", "9999999999x9999999999x1"),
        ("msort", "0"),
        ("msort", "99999999M"),
        ("knary", "64,64,1"),
        ("knary", "1,2"),
        ("bfs", "20"),
        ("bfs", "32,16"),
        ("ep", "C"),
        ("cg", "1400"),
        ("raytracer", "800"),
        ("clip", "10x2"),
        ("clip", "18446744073709551615x18446744073709551615"),
        ("mi", "500"),
        ("loop", "1x99999999999999"),
    ] {
        assert!(refused(&["run", app, "--size", size]).contains(app));
    }
}

#[test]
fn rounds() {
    for seconds in ["0", "-1", "nan", "inf", "soon", "1e300", ""] {
        refused(&["rounds", &format!("--secs={seconds}")]);
    }
    refused(&["rounds", "--leaf", "-5"]);
    refused(&["rounds", "--leaf", "many"]);
    refused(&["rounds", "--chunks", "0", "--serial", "0"]);
    refused(&["rounds", "--leaf", "18446744073709551615"]);
    refused(&["rounds", "--chunks", "18446744073709551616"]);
}

#[test]
fn cycler() {
    for wrong in [
        "--workers=0",
        "--increments=0",
        "--increments=-1",
        "--total=0",
        "--total=many",
        "--secs=0",
        "--secs=nan",
        "--seed=-1",
    ] {
        refused(&["cycler", "--secs", "0.01", wrong]);
    }
    refused(&["cycler", "8,100,1000"]);
}

#[test]
fn bench() {
    refused(&["bench", "--quick", "--repeats", "0"]);
    for (subject, runtime) in [("call 0", "futex"), ("call many", "futex"), ("call 5", "tokio")] {
        refused(&["once", "bench", subject, runtime, "2", "7"]);
    }
}

#[test]
fn forkjoin() {
    assert!(refused(&["forkjoin", "--runtimes", "locksley,cilk"]).contains("onetbb"));
    let missing = ["forkjoin", "--quick", "--runtimes", "libomp", "--peers", "no such folder"];
    assert!(refused(&missing).contains("peers/build"));
    for (option, value) in
        [("--fib", "1"), ("--fib", "61"), ("--tree", "0"), ("--tree", "31"), ("--repeats", "0")]
    {
        refused(&["forkjoin", "--quick", option, value]);
    }
    refused(&["forkjoin", "--fib", "many"]);
    let once = |arguments: &[&str]| refused(&[&["once", "forkjoin"][..], arguments].concat());
    assert!(once(&["fib 5", "static", "1", "0"]).contains("chili"));
    assert!(once(&["stuck wait", "rayon", "2", "0"]).contains("fib, tree"));
    once(&["fib 5", "rayon", "0", "0"]);
    once(&["fib", "rayon", "1", "0"]);
    once(&["fib 5", "rayon", "1"]);
}

#[test]
fn seeds() {
    refused(&["run", "mm", "--seed", "-1"]);
    refused(&["cliff", "--quick", "--seed", "luck"]);
}

#[test]
fn files_and_folders() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (text, below_text) = (path("notes.txt"), path("notes.txt/out"));
    fs::write(&text, "not a record").unwrap();
    let (out, here) = (path("out"), folder.path().to_str().unwrap());

    refused(&["cliff", "--quick", "--out", &below_text]);
    refused(&["cliff", "--quick", "--out", &text]);
    refused(&["cliff", "--quick", "--out", &out, "--json", &below_text]);
    refused(&["cliff", "--quick", "--out", &out, "--json", here]);
    refused(&["cliff", "--quick", "--out", &out, "--json", &text]);
    assert_eq!(
        fs::read_to_string(&text).unwrap(),
        "not a record",
        "a file that is no record was overwritten"
    );

    // Before the programs are built, for which the command has to be in another folder.
    assert!(refused(&["rayon", "--json", &text]).contains("not a record"));
    assert!(refused(&["rayon", "--json", here]).contains("directory"));
    assert!(refused(&["rayon", "--out", &text]).contains("cannot make the folder"));
    let mut command = command(&["cliff", "--quick", "--apps", "nbody"]);
    assert_refused(&command.current_dir(here).output().unwrap(), "nbody");
    assert!(!folder.path().join("out").exists(), "it leaves nothing behind");

    fs::create_dir(path("taken")).unwrap();
    fs::create_dir(path("taken/index.html")).unwrap();
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("record");
    let earlier = path("taken/cliff.json");
    fs::copy(records.join("epyc-2/2026-11-23-cliff-quick.json"), &earlier).unwrap();
    refused(&["cliff", "--quick", "--out", &path("taken")]);
    assert!(Path::new(&earlier).exists(), "an earlier record is renamed only by a run");

    let page = path("papers/index.html");
    assert!(refused(&["papers", "--out", &path("papers"), "--json", &page]).contains("twice"));

    refused(&["report", "--json", &path("missing.json"), "--out", &out]);
    refused(&["report", "--json", &text, "--out", &out]);
    refused(&["report", "--json", here, "--out", &out]);
    refused(&["report", "--out", &out]);
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("record/epyc-2/2026-11-23-cliff-quick.json");
    refused(&["report", "--json", example.to_str().unwrap(), "--out", &below_text]);
}

#[test]
fn reports_that_would_overwrite_their_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (record, out, picture) = (path("index.html"), path("out"), path("picture.svg"));
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("record");
    fs::copy(records.join("epyc-2/2026-11-23-cliff-quick.json"), &record).unwrap();
    let content = fs::read_to_string(&record).unwrap();
    let report = |arguments: &[&str]| refused(&[&["report", "--json"], arguments].concat());
    assert!(report(&[&record, "--out", folder.path().to_str().unwrap()]).contains("itself"));
    assert!(report(&[&record, "--out", &out, "--picture", &record]).contains("itself"));
    let page = path("out/index.html");
    assert!(report(&[&record, "--out", &out, "--picture", &page]).contains("twice"));
    assert_eq!(fs::read_to_string(&record).unwrap(), content);
    let other = records.join("xeon-2/2026-11-22-intervals.json");
    let other = other.to_str().unwrap();
    let no_charts = report(&[other, "--out", &path("new"), "--picture", &picture]);
    assert!(no_charts.contains("no charts") && !Path::new(&path("new")).exists(), "{no_charts}");
}

#[test]
fn records_that_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("record/epyc-2/2026-11-23-cliff-quick.json");
    let example: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(example).unwrap()).unwrap();
    let file = folder.path().join("record.json");
    let spoilt = |pointer: &str, value: serde_json::Value| {
        let mut record = example.clone();
        *record.pointer_mut(pointer).unwrap() = value;
        fs::write(&file, record.to_string()).unwrap();
        let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
        refused(&["report", "--json", file, "--out", out])
    };
    assert!(spoilt("/machine/processors", serde_json::json!(0)).contains("no processors"));
    assert!(spoilt("/samples/0/experiment", "corun".into()).contains("not a measurement"));
}

#[test]
fn a_record_where_the_page_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (out, page) = (folder.path(), folder.path().join("index.html"));
    let arguments = ["cliff", "--quick", "--out", out.to_str().unwrap(), "--json"];
    assert!(refused(&[&arguments[..], &[page.to_str().unwrap()]].concat()).contains("both"));
}

#[test]
fn scenes() {
    refused(&["demo", "alone"]);
    refused(&["demo", "--quick", "--repeats", "0"]);
    refused(&["demo", "--quick", "--out", "/proc/demo"]);
    refused(&["once", "demo", "alone", "locksley", "2", "0"]);
    refused(&["once", "demo", "a lock held across a parallel call", "static", "2", "0"]);
}

#[test]
fn neighbours() {
    refused(&["neighbour", "--quick", "--runtimes", "tbb"]);
    refused(&["neighbour", "--quick", "--secs", "0"]);
    refused(&["once", "neighbour", "soon", "alone", "1", "0"]);
}

#[test]
fn soaks() {
    for options in [["--secs", "0"], ["--seed", "-1"], ["--json", "/"], ["--inject", "rain"]] {
        refused(&[&["soak", "--quick"][..], &options].concat());
    }
}

#[test]
fn co_runs() {
    assert!(refused(&["corun", "--pairs", "par+pigs"]).contains("par+loop"));
    assert!(refused(&["corun", "--pairs", "par+loop", "--runtimes", "pigs"]).contains("pigs"));
    let no_peers = ["corun", "--peers", "no/such/folder", "--pairs", "par+onetbb"];
    assert!(refused(&no_peers).contains("peers/build"));
    assert!(refused(&["intervals", "--peers", "no/such/folder"]).contains("peers/build"));
    let nothing = ["corun", "--quick", "--pairs", "clip+mm", "--runtimes", "static"];
    assert!(refused(&nothing).contains("nothing is left"));
    refused(&["corun", "--quick", "--secs", "0"]);
    refused(&["corun", "--quick", "--repeats", "0"]);
    refused(&["corun", "--quick", "--repeats", "few"]);
    refused(&["repeat"]);
    refused(&["repeat", "nbody"]);
    refused(&["repeat", "knary", "--runtime", "static"]);
    refused(&["rounds", "--runtime", "loop", "--leaf", "18446744073709551615"]);
}

#[test]
fn models() {
    refused(&["model", "--quick", "--seed", "-1"]);
    refused(&["model", "knary"]);
    for (option, value) in [
        ("--apps", "knary,nbody"),
        ("--apps", ""),
        ("--workers", "2,0"),
        ("--workers", "1025"),
        ("--repeats", "0"),
        ("--secs", "0"),
        ("--secs", "soon"),
        ("--seed", "-1"),
    ] {
        refused(&["model", "--quick", option, value]);
    }
    assert!(refused(&["model", "--quick", "--apps", "bfs"]).contains("knary, heat"));
    assert!(refused(&["model", "--quick", "--kinds", "none"]).contains("alone, beside"));
}

#[test]
fn programs_for_rayon() {
    let missing = ["rayon", "--quick", "--programs", "no such folder"];
    assert!(refused(&missing).contains("crates/rayon-core/workloads/build"));
    assert!(refused(&["rayon", "--settings", "above"]).contains("alone, oversubscribed, beside"));
    assert!(refused(&["rayon", "--runtimes", "tbb"]).contains("rayon, locksley"));
    refused(&["rayon", "--repeats", "0"]);
    refused(&["rayon", "--secs", "0"]);
}

#[test]
fn intervals() {
    refused(&["intervals", "--quick", "--repeats", "0"]);
    refused(&["intervals", "--quick", "--seed", "-1"]);
    refused(&["intervals", "heat"]);
    let once = |subject| refused(&["once", "intervals", subject, "locksley-intervals", "1", "0"]);
    for wrong in ["heat 5", "chain 0", "graph some", "graph"] {
        assert!(once(wrong).contains("is not a graph"));
    }
    assert!(once("graph 999999999999999999").contains("of memory"));
    assert!(refused(&["once", "none", "a", "b", "1", "0"]).contains("no experiment 'none'"));
    let heat =
        ["run", "heat", "--runtime", "locksley-intervals", "--size", "9999999999x9999999999x9"];
    assert!(refused(&heat).contains("of memory"));
    let sorters = ["run", "sorters", "--runtime", "locksley-intervals", "--size"];
    assert!(refused(&[&sorters[..], &["99999999999x9999999999"]].concat()).contains("of memory"));
    assert!(refused(&[&sorters[..], &["9x3-better"]].concat()).contains("'3-better'"));
}

#[test]
fn channels() {
    let unknown = refused(&["channels", "--runtimes", "locksley,rayon"]);
    assert!(unknown.contains("tokio") && unknown.contains("go"));
    assert!(refused(&["channels", "--kinds", "sleep"]).contains("fan-out"));
    let missing = ["channels", "--quick", "--runtimes", "go", "--peers", "no such folder"];
    assert!(refused(&missing).contains("peers/build"));
    for (option, value) in [
        ("--messages", "0"),
        ("--messages", "many"),
        ("--messages", "99999999999"),
        ("--tasks", "0"),
        ("--tasks", "many"),
        ("--tasks", "99999999999"),
        ("--repeats", "0"),
        ("--runtimes", ""),
        ("--seed", "-1"),
    ] {
        refused(&["channels", "--quick", option, value]);
    }
    let once =
        |subject, runtime, workers| refused(&["once", "channels", subject, runtime, workers, "7"]);
    assert!(once("stream 5", "go", "1").contains("tokio-current"));
    assert!(once("stream 5", "tokio-current", "2").contains("one worker"));
    assert!(once("stream 5", "smol", "1").contains("tokio-current"));
    assert!(once("sleep 5", "tokio", "1").contains("ping-pong"));
    assert!(once("ring 5", "tokio", "1").contains("PROCESSESxN"));
    for subject in ["stream 0", "stream 5x2", "stream", "spawn 0", "spawn 5x2", "fork 5x3"] {
        once(subject, "tokio", "1");
    }
    once("stream 5", "tokio", "0");
    refused(&["once", "channels", "stream 5", "tokio"]);
}

#[test]
fn scatter() {
    assert!(refused(&["scatter", "--experiments", "1,5"]).contains("utilization"));
    for (option, value) in [
        ("--divisor", "0"),
        ("--divisor", "some"),
        ("--repeats", "0"),
        ("--experiments", ""),
        ("--seed", "-1"),
    ] {
        refused(&["scatter", "--quick", option, value]);
    }
    let once = |arguments: &[&str]| refused(&[&["once", "scatter"][..], arguments].concat());
    assert!(once(&["5x2x1000", "rayon", "1", "0"]).contains("locksley-cur"));
    assert!(once(&["5x2", "locksley", "1", "0"]).contains("PROCESSES"));
    once(&["0x2x1000", "locksley", "1", "0"]);
    once(&["5x2x1000", "locksley", "0", "0"]);
    once(&["5x2x1000", "locksley"]);
    once(&["5x2x1000", "serial", "2", "0"]);
}

#[test]
fn places() {
    let once = |arguments: &[&str]| refused(&[&["once", "locality"][..], arguments].concat());
    assert!(once(&["stress 4x1", "good", "1", "0"]).contains("ignorant"));
    assert!(once(&["wait 1", "best", "1", "0"]).contains("stress"));
    once(&["stress 0x1", "best", "1", "0"]);
    once(&["stress 4x1", "best", "0", "0"]);
    once(&["stress 4x1"]);
    refused(&["locality", "--quick", "--kinds", "wait"]);
    refused(&["locality", "--quick", "--placements", "good"]);
    once(&["stress 4x1 l7", "best", "1", "0"]);
    refused(&["locality", "--quick", "--repeats", "0"]);
}
