//! What the profiler costs.

use std::path::Path;

use serde_json::Value;

use crate::support::{command, stdout_of};

#[test]
fn meter_once_prints_its_one_line() {
    for (kind, size) in [("fork", "9"), ("leaves", "8x100"), ("regions", "2"), ("knary", "4,3,1")] {
        for workers in ["1", "2"] {
            // A process that is kept from running must not end for want of time.
            let limits = ["--pairs", "3", "--secs", "600"];
            let text = stdout_of(&[&["meter-once", kind, size, workers][..], &limits].concat());
            assert_eq!(text.lines().count(), 1, "{text}");
            let line: Value = serde_json::from_str(&text).unwrap();
            // As many that begin with the profiler as without it.
            let pairs = line["read"]["nanos"].as_array().unwrap();
            assert_eq!(pairs.len(), 4, "{text}");
            for pair in pairs {
                let [off, on] = [&pair[0], &pair[1]].map(|time| time.as_u64().unwrap());
                assert!(off > 0 && on > 0, "{text}");
            }
        }
    }
}

#[test]
fn meter_makes_a_record_and_a_page_that_can_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, json, again) = (path("out"), path("meter.json"), path("again"));
    let arguments = ["meter", "--quick", "--kinds", "fork,regions", "--secs", "0.01"];
    let arguments = [&arguments[..], &["--repeats", "2", "--out", &out, "--json", &json]].concat();
    let output = command(&arguments).output().unwrap();
    let (said, news) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{news}");
    assert!(!news.contains('\u{1b}'), "progress is for terminals: {news}");
    for word in ["fib 25, P = 1", "an empty region", "at most"] {
        assert!(said.contains(word), "{said}");
    }
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(record["format"], "locksley-meter/1");
    assert_eq!(record["measurements"].as_array().unwrap().len(), 2 * 2);

    assert!(stdout_of(&arguments).starts_with("measured already"));
    stdout_of(&["report", "--json", &json, "--out", &again]);
    let page =
        |folder: &str| std::fs::read_to_string(Path::new(folder).join("index.html")).unwrap();
    assert_eq!(page(&out), page(&again));
}
