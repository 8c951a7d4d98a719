//! The model beside cyclers.

use std::path::Path;

use serde_json::Value;

use crate::support::{command, stdout_of};

/// The record of a run, and all that it printed.
fn run(arguments: &[&str], json: &str) -> (Value, String) {
    let output = command(&[&["model", "--quick", "--json", json], arguments].concat()).output();
    let output = output.unwrap();
    let (said, news) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{news}");
    assert!(!news.contains('\u{1b}'), "progress is for terminals: {news}");
    let record = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    (record, said.into_owned())
}

#[test]
fn a_program_is_measured_alone_and_beside_cyclers_and_the_page_can_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, json, again) = (path("out"), path("record.json"), path("again"));
    let arguments = ["--apps", "mm", "--workers", "2", "--repeats", "1", "--secs", "0.02"];
    let arguments = [&arguments[..], &["--out", &out]].concat();
    let (record, said) = run(&arguments, &json);
    let samples = record["samples"].as_array().unwrap();
    for words in ["mm 64", "cycler(", "papers' method"] {
        assert!(said.contains(words), "{said}");
    }
    let values = |runtime: &str, metric: &str| -> Vec<f64> {
        let is_it = |it: &&Value| {
            it["runtime"].as_str().unwrap().starts_with(runtime) && it["metric"] == metric
        };
        samples.iter().filter(is_it).map(|it| it["value"].as_f64().unwrap()).collect()
    };
    assert!(values("an idle machine", "increments a second")[0] > 0.0);
    let (work, span) = (values("locksley profiled", "work"), values("locksley profiled", "span"));
    assert!(work.len() == 2 && work.iter().zip(&span).all(|(work, span)| span <= work));
    // Of all measurements of a subject together.
    assert_eq!(values("locksley", "processors of others").len(), 2);
    let beside = |metric| values("locksley beside cycler", metric);
    let (seconds, wall) = (beside("seconds"), beside("wall"));
    // With one processor, a single worker is as many as there are processors, and is measured, too.
    let numbers = if record["machine"]["processors"] == 1 { 2 } else { 1 };
    assert!(wall.len() == 2 * numbers, "mm 256 beside two cyclers: {said}");
    for place in 0..wall.len() {
        assert!(0.0 < seconds[place] && seconds[place] <= wall[place] && wall[place] >= 0.02);
        // The program's time is a part of the cycler's life.
        assert!(beside("increments")[place] <= beside("cycler increments")[place]);
        let granted = beside("granted")[place];
        assert!(0.0 < granted && granted <= 2.0, "{granted}");
    }
    stdout_of(&["report", "--json", &json, "--out", &again]);
    let page =
        |folder: &str| std::fs::read_to_string(Path::new(folder).join("index.html")).unwrap();
    assert_eq!(page(&out), page(&again));
}

/// If the measurement is killed, its cycler must end by itself.
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
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let mut measurement = command(&["model", "--quick", "--kinds", "beside", "--apps", "mm"])
        .args(["--secs", "3600", "--out", folder])
        .args(["--workers", "2"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
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
    // Its number may belong to another process later, or the system keeps it as a zombie.
    while state_and_parent(&cycler).is_some_and(|(state, _)| state != "Z") {
        in_time();
        std::thread::sleep(Duration::from_millis(5));
    }
}
