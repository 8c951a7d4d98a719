//! What the profiler costs.

use std::path::Path;

use serde_json::Value;

use crate::support::{command, stdout_of};

#[test]
fn meter_once_prints_its_one_line() {
    for subject in ["fork 9 0.01", "leaves 8x100 0.01", "regions 2 0.01", "knary 4,3,1 0.01"] {
        for workers in ["1", "2"] {
            let text = stdout_of(&["once", "meter", subject, "locksley", workers, "7"]);
            assert_eq!(text.lines().count(), 1, "{text}");
            let line: Value = serde_json::from_str(&text).unwrap();
            let figure = |name: &str| line[name].as_f64().unwrap();
            // As many that begin with the profiler as without it.
            let pairs = figure("pairs");
            assert!(pairs >= 2.0 && pairs % 2.0 == 0.0, "{text}");
            assert!(figure("ns off") > 0.0 && figure("ns on") > 0.0, "{text}");
            assert!(figure("ratio") > 0.0 && figure("ns more").is_finite(), "{text}");
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
    for word in ["fork 25, P = 1", "regions 8, P = 1", "ns more with a profiler"] {
        assert!(said.contains(word), "{said}");
    }
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(record["format"], "locksley-record/1");
    assert_eq!(record["samples"].as_array().unwrap().len(), 2 * 2 * 5);

    let again_output = command(&arguments).output().unwrap();
    assert!(String::from_utf8_lossy(&again_output.stderr).contains("measured already"));
    stdout_of(&["report", "--json", &json, "--out", &again]);
    let page =
        |folder: &str| std::fs::read_to_string(Path::new(folder).join("index.html")).unwrap();
    assert_eq!(page(&out), page(&again));
}
