//! Process networks: what messages cost, and scatter and gather.

use std::path::Path;

use serde_json::Value;

use crate::support::{command, stdout_of};

#[test]
fn channels_once_prints_its_one_line() {
    for (runtime, workers) in
        [("locksley", "2"), ("locksley-cur", "1"), ("tokio-current", "1"), ("tokio", "2")]
    {
        // Sums of 7, 8, ... times their places; the token, after two turns and one before them.
        for (kind, size, answer) in
            [("stream", "3", 50), ("ring", "3x2", 16), ("pipeline", "4x3", 62)]
        {
            let text =
                stdout_of(&["channels-once", "--runtime", runtime, kind, size, workers, "7"]);
            assert_eq!(text.lines().count(), 1, "{text}");
            let line: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&line["runtime"], &line["answer"]), (&runtime.into(), &answer.into()));
            assert!(line["seconds"].as_f64().unwrap() > 0.0, "{text}");
            assert_eq!(line["apart"].is_number(), kind == "stream", "{text}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn idle_processes_tell_their_memory() {
    for runtime in ["locksley", "tokio"] {
        let text = stdout_of(&["channels-once", "--runtime", runtime, "idle", "20000", "1"]);
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&line["runtime"], &line["answer"]), (&runtime.into(), &20_000.into()));
        let number = |field: &str| line[field].as_u64().unwrap();
        // Each future lies in memory; half of it is beyond what counting by pages could miss.
        assert!(number("future") > 0 && number("bytes") > 10_000 * number("future"), "{text}");
    }
}

#[test]
fn channels_makes_a_record_and_a_page_that_can_be_made_again() {
    let runtimes = ["--runtimes", "locksley,tokio", "--messages", "200", "--repeats", "1"];
    let (said, record) = measured("channels", &runtimes);
    for word in ["a token in a ring of 1000 processes", "fan", "of tokio", "wanted: at most 40.0"] {
        assert!(said.contains(word), "{said}");
    }
    assert_eq!(record["format"], "locksley-channels/1");
    let measurements = record["measurements"].as_array().unwrap();
    // Five kinds with one worker and with two; idle ones with one, where memory can be told.
    assert_eq!(measurements.len(), 2 * (10 + usize::from(cfg!(target_os = "linux"))));
}

#[test]
fn scatter_once_prints_its_one_line() {
    for (runtime, workers) in
        [("locksley", "2"), ("locksley-cur", "2"), ("serial", "1"), ("static", "2")]
    {
        let text = stdout_of(&["scatter-once", "--runtime", runtime, "5x2x2000", workers, "7"]);
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["runtime"], runtime);
        assert!(line["seconds"].as_f64().unwrap() > 0.0, "{text}");
        assert!(line["divisions"].as_u64().unwrap() > 0, "{text}");
        assert!(line["failed_steals"].is_number(), "{text}");
    }
}

#[test]
fn scatter_makes_a_record_and_a_page_that_can_be_made_again() {
    let (said, record) = measured(
        "scatter",
        &["--experiments", "2,utilization", "--divisor", "100000", "--repeats", "1"],
    );
    for word in ["experiment 2", "utilization of", "LAST/CUR", "wanted: at least 0.97"] {
        assert!(said.contains(word), "{said}");
    }
    assert_eq!(record["format"], "locksley-scatter/1");
    // Three networks in three ways, two in four.
    assert_eq!(record["measurements"].as_array().unwrap().len(), 3 * 3 + 2 * 4);
}

/// Measures quickly; then neither measures again, nor makes another page of the record. What it says, and the record.
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

    assert!(stdout_of(&arguments).starts_with("measured already"));
    stdout_of(&["report", "--json", &json, "--out", &again]);
    let page =
        |folder: &str| std::fs::read_to_string(Path::new(folder).join("index.html")).unwrap();
    assert_eq!(page(&out), page(&again));
    (said.into_owned(), record)
}
