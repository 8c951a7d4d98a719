//! Process networks and waiting tasks: what messages cost, and scatter and gather.

use std::path::Path;

use serde_json::Value;

use crate::support::{command, stdout_of};

/// All runtimes of this program.
const RUNTIMES: [&str; 4] = ["locksley", "locksley-cur", "tokio-current", "tokio"];

fn once(subject: &str, runtime: &str, workers: &str) -> Value {
    let text = stdout_of(&["once", "channels", subject, runtime, workers, "7"]);
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn channels_once_prints_its_one_line() {
    for runtime in RUNTIMES {
        let workers = if runtime == "tokio-current" { "1" } else { "2" };
        let networks = ["stream 3", "ring 3x2", "pipeline 4x3", "fan-out 2", "fan-in 2"];
        let tasks = ["spawn 20", "ping-pong 30"];
        for subject in networks.into_iter().chain(tasks) {
            let line = once(subject, runtime, workers);
            assert!(line["ns"].as_f64().unwrap() > 0.0, "{line}");
            let is_of_two = subject.starts_with("stream") || subject.starts_with("ping-pong");
            assert_eq!(line["apart"].is_number(), is_of_two, "{line}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn idle_processes_and_waiting_tasks_tell_their_memory() {
    for runtime in RUNTIMES {
        for subject in ["idle 20000", "waiting 50000"] {
            let line = once(subject, runtime, "1");
            let number = |metric: &str| line[metric].as_f64().unwrap();
            let future = number("future bytes");
            // Each future lies in memory; half of it is beyond what counting by pages could miss.
            assert!(future > 0.0 && number("bytes") > future / 2.0, "{subject} {runtime}: {line}");
        }
    }
}

#[test]
fn channels_makes_a_record_and_a_page_that_can_be_made_again() {
    let sizes = ["--messages", "200", "--tasks", "100", "--repeats", "1"];
    let chosen = [&["--runtimes", "locksley,tokio"][..], &sizes].concat();
    // It is also called wait.
    for name in ["channels", "wait"] {
        let (said, record) = measured(name, &chosen);
        for word in ["ring 1000x1, P = 1", "fan-in 2", "ns a hop"] {
            assert!(said.contains(word), "{said}");
        }
        assert_eq!(record["experiment"], "channels");
        // Five kinds of networks, spawn, ping-pong, each with one worker and with two; apart of
        // streams and ping-pong.
        let times = 2 * (7 + 2);
        // The memory of processes and tasks, of their futures, and beyond these.
        let memory = if cfg!(target_os = "linux") { 6 } else { 0 };
        assert_eq!(record["samples"].as_array().unwrap().len(), 2 * (times + memory));
    }
}

#[test]
fn scatter_once_prints_its_one_line() {
    for (runtime, workers) in
        [("locksley", "2"), ("locksley-cur", "2"), ("serial", "1"), ("static", "2")]
    {
        let text = stdout_of(&["once", "scatter", "5x2x2000", runtime, workers, "7"]);
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: Value = serde_json::from_str(&text).unwrap();
        assert!(line["seconds"].as_f64().unwrap() > 0.0, "{text}");
        assert!(line["divisions"].as_f64().unwrap() > 0.0, "{text}");
        assert!(line["failed steals"].is_number(), "{text}");
    }
}

#[test]
fn scatter_makes_a_record_and_a_page_that_can_be_made_again() {
    let (said, record) = measured(
        "scatter",
        &["--experiments", "2,utilization", "--divisor", "100000", "--repeats", "1"],
    );
    for word in ["experiment 2: speedup of", "utilization of", "LAST/CUR"] {
        assert!(said.contains(word), "{said}");
    }
    assert_eq!(record["format"], "locksley-record/1");
    // Three networks in five ways, two in four; five metrics.
    assert_eq!(record["samples"].as_array().unwrap().len(), 5 * (3 * 5 + 2 * 4));
}

/// Measures quickly; then neither measures again, nor makes another page of the record. What it
/// says, and the record.
fn measured(experiment: &str, others: &[&str]) -> (String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, json, again) = (path("out"), path("record.json"), path("again"));
    let arguments = [&[experiment, "--quick", "--out", &out, "--json", &json], others].concat();
    let output = command(&arguments).output().unwrap();
    let (said, news) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{news}");
    assert!(!news.contains('\u{1b}'), "progress is for terminals: {news}");
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();

    let output = command(&arguments).output().unwrap();
    let all = [output.stdout, output.stderr].concat();
    assert!(String::from_utf8_lossy(&all).contains("measured already"));
    stdout_of(&["report", "--json", &json, "--out", &again]);
    let page =
        |folder: &str| std::fs::read_to_string(Path::new(folder).join("index.html")).unwrap();
    assert_eq!(page(&out), page(&again));
    (said.into_owned(), record)
}
