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

/// Behind the gate: what it prints when it is told to end, or when whoever might tell it is gone.
#[test]
fn behind_a_gate_it_waits_and_ends_when_it_is_told_or_left_alone() {
    use crate::support::command;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::Stdio;

    for is_told in [true, false] {
        let mut child = command(&["cycler", "--gate", "--workers", "2", "--rate", "1000"])
            .args(["--increments", "3"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        stdout.read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        let tell = |stdin: &mut std::process::ChildStdin| stdin.write_all(b"\n").unwrap();
        tell(stdin.as_mut().unwrap());
        match is_told {
            true => tell(stdin.as_mut().unwrap()),
            false => stdin = None,
        }
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        drop(stdin);
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&line["p"], &line["w"]), (&2.into(), &3.into()));
        let time = |name: &str| line[name].as_u64().unwrap();
        assert!(time("begun") < time("ended"), "{line}");
        let seconds = (time("ended") - time("begun")) as f64 / 1e9;
        let processors = line["processors"].as_f64().unwrap();
        // Its own time is a little less than that of the whole.
        assert!(processors >= time("increments") as f64 / seconds / 1000.0, "{line}");
        for stamp in line["stamps"].as_array().unwrap() {
            assert!((time("begun")..=time("ended")).contains(&stamp["at"].as_u64().unwrap()));
        }
    }
    let unopened = command(&["cycler", "--gate"]).output().unwrap();
    assert_eq!(unopened.status.code(), Some(1), "stdin has ended before a line came in");
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
