//! The co-runner, from outside.

use serde_json::Value;

use crate::support::stdout_of;

fn line(arguments: &[&str]) -> Value {
    let text = stdout_of(&[&["cycler"], arguments].concat());
    assert_eq!(text.lines().count(), 1);
    serde_json::from_str(&text).unwrap()
}

#[test]
fn it_ends_at_its_total() {
    let line = line(&["--workers", "2", "--increments", "4", "--total", "40"]);
    assert_eq!((&line["p"], &line["w"], &line["W"]), (&2.into(), &4.into(), &40.into()));
    assert_eq!(line["ended_by"], "total");
    assert!((40..48).contains(&line["increments"].as_u64().unwrap()), "{line}");
}

#[test]
fn it_ends_when_its_time_is_over() {
    let line = line(&["--workers", "1", "--secs", "0.05"]);
    assert_eq!(line["ended_by"], "time");
    assert!(line["seconds"].as_f64().unwrap() >= 0.05);
    assert!(line["W"].is_null());
}

/// Behind the gate: what it prints when it is told to end, or when stdin has ended.
#[test]
fn behind_a_gate_it_waits_and_ends_when_it_is_told_or_left_alone() {
    use crate::support::command;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::Stdio;

    for is_told in [true, false] {
        let mut child = command(&["cycler", "--gate", "--workers", "2"])
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
        assert_eq!(line["ended_by"], "signal", "{line}");
    }
}
