//! Programs side by side.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{command, stdout_of};

/// A program behind a start gate that has said that it is ready.
fn ready(arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, stdout)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn rounds_begin_when_the_gate_opens() {
    let round = ["--secs", "0.02", "--leaf", "50", "--chunks", "7", "--serial", "2", "--gate"];
    for runtime in ["locksley", "rayon", "loop"] {
        let (mut child, mut stdout) =
            ready(&[&["rounds", "--runtime", runtime, "--workers", "2"][..], &round].concat());
        let before = locksley_lab::clock::now();
        std::thread::sleep(Duration::from_millis(1));
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        assert!(child.wait().unwrap().success());
        let [line] = &lines(&text)[..] else { panic!("one line: {text}") };
        assert_eq!((&line["runtime"], &line["P"]), (&Value::from(runtime), &Value::from(2)));
        let number = |field: &str| line[field].as_f64().unwrap();
        assert!(line["begun"].as_u64().unwrap() > before, "{text}");
        let seconds = (number("ended") - number("begun")) / 1e9;
        assert!(seconds >= 0.02 && number("rounds") > 0.0, "{text}");
        // The clock of the rate is inside of that of the stretch.
        assert!(number("rounds_per_s") * seconds >= number("rounds") * 0.999, "{text}");
    }
}

#[test]
fn a_gate_that_stays_closed_is_a_fault_of_the_run() {
    for arguments in [&["rounds", "--gate"][..], &["repeat", "knary", "--size", "3,3,1"]] {
        let (mut child, _stdout) = ready(arguments);
        drop(child.stdin.take());
        let mut complaint = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1), "{complaint}");
        assert!(complaint.contains("gate") && complaint.lines().count() == 1, "{complaint}");
    }
}

#[test]
fn an_application_is_repeated_until_told_to_stop() {
    let (mut child, mut stdout) =
        ready(&["repeat", "msort", "--size", "5000", "--runtime", "rayon", "--workers", "2"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"\n").unwrap();
    let mut text = String::new();
    for _ in 0..3 {
        stdout.read_line(&mut text).unwrap();
    }
    stdin.write_all(b"\n").unwrap();
    while !text.contains("{\"end\":") {
        assert!(stdout.read_line(&mut text).unwrap() > 0, "{text}");
    }
    assert_eq!(child.try_wait().unwrap(), None, "others are not disturbed by its check");
    drop(stdin);
    stdout.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    let lines = lines(&text);
    let (end, computations) = lines.split_last().unwrap();
    assert!(computations.len() >= 3);
    let end = &end["end"];
    let mut earlier = end["begun"].as_u64().unwrap();
    for computation in computations {
        let time = |field: &str| computation["computation"][field].as_u64().unwrap();
        assert!(earlier <= time("begun") && time("begun") < time("ended"), "{text}");
        earlier = time("ended");
    }
    assert!(earlier <= end["ended"].as_u64().unwrap(), "{text}");
}

#[test]
fn corun_measures_and_reports_and_does_not_measure_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, again, json, peers) = (path("out"), path("again"), path("corun.json"), path(""));
    let arguments = [
        "corun",
        "--quick",
        "--pairs",
        "par+loop,half+half,par+odd+loop",
        "--runtimes",
        "locksley,rayon",
        "--repeats",
        "1",
        "--secs",
        "0.05",
        "--peers",
        &peers,
        "--out",
        &out,
        "--json",
        &json,
    ];
    let output = command(&arguments).output().unwrap();
    let (text, news) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{news}");
    for word in ["par+loop", "half+half", "par+odd+loop", "locksley", "rayon"] {
        assert!(text.contains(word), "{text}");
    }
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let rates = record["samples"].as_array().unwrap().iter().filter(|sample| {
        let is_rate = sample["metric"] == "rate of 2";
        assert!(!is_rate || sample["value"].as_f64().unwrap() > 0.0);
        is_rate
    });
    assert_eq!(rates.count(), 3 * 2);

    let again_said = String::from_utf8(command(&arguments).output().unwrap().stderr).unwrap();
    assert!(again_said.contains("measured already"), "{again_said}");
    stdout_of(&["report", "--json", &json, "--out", &again]);
    let page =
        |folder: &str| std::fs::read_to_string(Path::new(folder).join("index.html")).unwrap();
    assert_eq!(page(&out), page(&again));
}

#[test]
fn a_run_that_is_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, json, peers) = (path("out"), path("corun.json"), path(""));
    let arguments = [
        "corun",
        "--quick",
        "--pairs",
        "par+loop,par+par+par",
        "--runtimes",
        "locksley,rayon",
        "--secs",
        "0.2",
        "--peers",
        &peers,
        "--out",
        &out,
        "--json",
        &json,
    ];
    let measured = || -> Vec<Value> {
        let text = std::fs::read_to_string(&json).unwrap_or_default();
        let record: Value = serde_json::from_str(&text).unwrap_or_default();
        record["samples"].as_array().cloned().unwrap_or_default()
    };
    let mut child =
        command(&arguments).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    while measured().len() < 3 {
        assert_eq!(child.try_wait().unwrap(), None, "it has ended before it could be killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left = measured();

    let output = command(&arguments).output().unwrap();
    let news = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{news}");
    assert!(news.contains("rotation 2 of 2 done") && news.contains("going on"), "{news}");
    assert_eq!(measured()[..left.len()], left, "what was measured is kept");
    assert!(measured().len() > left.len());
}

#[test]
fn applications_are_measured_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, json) = (path("out"), path("corun.json"));
    let arguments = [
        "corun",
        "--quick",
        "--pairs",
        "clip+ep",
        "--runtimes",
        "locksley",
        "--repeats",
        "1",
        "--secs",
        "0.02",
        "--out",
        &out,
        "--json",
        &json,
    ];
    let output = command(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let value = |subject: &str, metric: &str| {
        let samples = record["samples"].as_array().unwrap().iter();
        let mut of_it = samples.filter(|it| it["subject"] == subject && it["metric"] == metric);
        of_it.next().and_then(|it| it["value"].as_f64()).unwrap()
    };
    for place in 1..=2 {
        assert!(value("clip+ep", &format!("computations of {place}")) >= 2.0);
        assert!(value("clip+ep", &format!("rate of {place}")) > 0.0);
    }
    assert!(value("clip", "rate of 1") > 0.0 && value("ep", "rate of 1") > 0.0);
}
