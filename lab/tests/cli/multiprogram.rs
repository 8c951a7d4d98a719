//! The model beside cyclers.

use std::path::Path;

use serde_json::Value;

use crate::support::{command, stdout_of};

fn found(arguments: &[&str]) -> Value {
    let text = stdout_of(&[&["multiprogram-once"], arguments].concat());
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn each_measurement_is_a_line() {
    let rate = found(&["calibration", "cycler(1)", "1", "--secs", "0.05"]);
    assert!(rate["read"]["rate"]["per_second"].as_f64().unwrap() > 0.0, "{rate}");

    let alone = found(&["knary", "5,3,1", "1", "--secs", "0.01"]);
    let metered = &alone["read"]["alone"]["metered"];
    // At each inner node two of three children run in parallel: a fork.
    assert_eq!(metered["forks"], 1 + 3 + 9 + 27);
    let time = |name: &str| metered[name].as_f64().unwrap();
    assert!(time("critical_path") <= time("work"), "{alone}");

    let beside = ["knary", "5,3,1", "3", "--secs", "0.05", "--cycler", "2", "--increments", "5"];
    let beside = found(&beside);
    let shared = &beside["read"]["beside"];
    let figure = |figure: &Value| figure.as_f64().unwrap();
    let (seconds, wall) = (figure(&shared["seconds"]), figure(&shared["wall"]));
    assert!(0.0 < seconds && seconds <= wall && wall >= 0.05, "{beside}");
    // The program's time is a part of the cycler's life.
    let life = &shared["life"];
    assert!(figure(&shared["increments"]) <= figure(&life["increments"]), "{beside}");
    let granted = figure(&shared["granted"]);
    assert!(0.0 < granted && granted <= 3.0, "{beside}");
}

#[test]
fn multiprogram_makes_a_record_and_a_page_that_can_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, json, again) = (path("out"), path("record.json"), path("again"));
    let arguments = ["multiprogram", "--quick", "--apps", "mm", "--workers", "2", "--repeats", "1"];
    let places = ["--secs", "0.02", "--out", &out, "--json", &json];
    let arguments = [&arguments[..], &places].concat();
    let output = command(&arguments).output().unwrap();
    let (said, news) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{news}");
    assert!(!news.contains('\u{1b}'), "progress is for terminals: {news}");
    for word in ["mm 256, T1 = ", "beside cycler(", "PA by the papers' method"] {
        assert!(said.contains(word), "{said}");
    }
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(record["format"], "locksley-multiprogram/1");
    // The calibration, mm alone, and beside two cyclers.
    assert_eq!(record["measurements"].as_array().unwrap().len(), 1 + 1 + 2, "{news}");

    assert!(stdout_of(&arguments).starts_with("measured already"));
    stdout_of(&["report", "--json", &json, "--out", &again]);
    let page =
        |folder: &str| std::fs::read_to_string(Path::new(folder).join("index.html")).unwrap();
    assert_eq!(page(&out), page(&again));
}

/// Whoever kills a measurement kills one process. The cycler that it has started has nobody then who would end it.
#[cfg(target_os = "linux")]
#[test]
fn a_cycler_ends_with_the_program_that_it_is_beside() {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    /// What follows the name in brackets: the state, and the parent.
    fn state_and_parent(process: &str) -> Option<(String, u32)> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let mut words = stat.rsplit_once(')')?.1.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
    }

    let deadline = Instant::now() + Duration::from_secs(60);
    let in_time = || assert!(Instant::now() < deadline, "nothing happened in a minute");
    let mut measurement = command(&["multiprogram-once", "knary", "5,3,1", "2", "--secs", "3600"])
        .args(["--cycler", "2"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let child_of = |parent: u32| {
        let all = std::fs::read_dir("/proc").unwrap();
        let mut names = all.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.find(|name| state_and_parent(name).is_some_and(|(_, of)| of == parent))
    };
    let cycler = loop {
        in_time();
        if let Some(cycler) = child_of(measurement.id()) {
            break cycler;
        }
    };
    measurement.kill().unwrap();
    measurement.wait().unwrap();
    // Its number may be somebody else's by and by, who has another parent; or nobody collects what is left of it.
    while state_and_parent(&cycler).is_some_and(|(state, _)| state != "Z") {
        in_time();
        std::thread::sleep(Duration::from_millis(5));
    }
}
