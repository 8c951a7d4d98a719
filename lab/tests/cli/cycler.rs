//! The co-runner, from outside.

use serde_json::Value;

use crate::support::stdout_of;

fn line(arguments: &[&str]) -> Value {
    let text = stdout_of(&[&["cycler"], arguments].concat());
    assert_eq!(text.lines().count(), 1);
    serde_json::from_str(&text).unwrap()
}

#[test]
fn it_ends_at_its_total_and_writes_timestamps() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stamps.csv");
    let file = file.to_str().unwrap();
    let line = line(&[
        "--workers",
        "2",
        "--increments",
        "4",
        "--total",
        "40",
        "--rate",
        "1000",
        "--timestamps",
        file,
    ]);
    assert_eq!((&line["p"], &line["w"], &line["W"]), (&2.into(), &4.into(), &40.into()));
    assert_eq!(line["ended"], "total");
    let (increments, seconds) =
        (line["increments"].as_u64().unwrap(), line["seconds"].as_f64().unwrap());
    assert!((40..48).contains(&increments), "{line}");
    let processors = line["processors"].as_f64().unwrap();
    assert!((processors - increments as f64 / seconds / 1000.0).abs() < 1e-9);
    let text = std::fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + line["timestamps"].as_u64().unwrap() as usize);
    assert_eq!(lines[0], "seconds,increments");
    assert!(lines[1].ends_with(",16") && lines[2].ends_with(",32"), "{text}");
}

#[test]
fn it_ends_when_its_time_is_over() {
    let line = line(&["--workers", "1", "--secs", "0.05"]);
    assert_eq!(line["ended"], "time");
    assert!(line["seconds"].as_f64().unwrap() >= 0.05);
    assert!(line["W"].is_null() && line["processors"].is_null());
}

#[test]
fn calibration_tells_the_rate_of_one_processor() {
    let line = line(&["--calibrate", "--secs", "0.1"]);
    let (rate, unit) =
        (line["rate"].as_f64().unwrap(), line["unit_microseconds"].as_f64().unwrap());
    assert!(rate > 0.0 && (rate * unit - 1e6).abs() < 1.0, "{line}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_it_well() {
    use crate::support::command;
    use std::process::{Command, Stdio};

    for signal in ["TERM", "INT"] {
        let child = command(&["cycler", "--workers", "2"]).stdout(Stdio::piped()).spawn().unwrap();
        // It listens to signals before it starts its workers.
        let tasks = format!("/proc/{}/task", child.id());
        while std::fs::read_dir(&tasks).unwrap().count() < 3 {
            std::thread::yield_now();
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{signal}");
        let line: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(line["ended"], "signal", "{line}");
    }
}
