//! Places.

use std::path::Path;

use serde_json::Value;

use crate::support::{assert_refused, command, locksley, stdout_of};

/// True if this machine has several caches of some kind, so that there is something to compare. If
/// not, the calling test is skipped.
#[track_caller]
fn has_places() -> bool {
    let output = locksley(&["once", "locality", "stress 4x1", "best", "1", "7"]);
    let complaint = String::from_utf8(output.stderr).unwrap();
    match output.status.code() {
        Some(0) => true,
        code => {
            assert!(code == Some(2) && complaint.contains("caches"), "{complaint}");
            locksley_sys::skip_test(complaint.trim());
            false
        }
    }
}

#[test]
fn locality_once_prints_its_one_line() {
    if !has_places() {
        return;
    }
    let placed = ["best", "worst", "random", "shared-deques", "mailboxes", "round-robin"];
    let threads = ["threads-best", "threads-worst", "threads-random", "threads-ignorant"];
    let others = ["ignorant", "undivided"].into_iter().chain(threads);
    for placement in placed.into_iter().chain(others) {
        for (kind, size) in [("stress", "40000x2"), ("multiply", "200")] {
            let subject = format!("{kind} {size}");
            let text = stdout_of(&["once", "locality", &subject, placement, "2", "7"]);
            assert_eq!(text.lines().count(), 1, "{text}");
            let line: Value = serde_json::from_str(&text).unwrap();
            let number = |name: &str| line[name].as_f64().unwrap();
            assert!(number("ms") > 0.0 && number("tasks") > 3.0, "{text}");
            assert!(placement != "undivided" || number("tasks out of place") == 0.0, "{text}");
            // The system may bind no worker.
            let most = if threads.contains(&placement) { number("tasks") } else { 2.0 };
            assert!(number("unbound workers") <= most, "{text}");
        }
    }
}

#[test]
fn without_anything_to_measure_it_is_refused() {
    if has_places() {
        let nothing = ["locality", "--kinds", "misses", "--placements", "mailboxes"];
        assert_refused(&locksley(&nothing), "nothing is left to be measured");
    }
}

#[test]
fn locality_makes_a_record_and_a_page_that_can_be_made_again() {
    if !has_places() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, json, again) = (path("out"), path("locality.json"), path("again"));
    let arguments = [
        "locality",
        "--quick",
        "--kinds",
        "stress",
        "--placements",
        "worst",
        "--repeats",
        "1",
        "--out",
        &out,
        "--json",
        &json,
    ];
    let output = command(&arguments).output().unwrap();
    let (said, news) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{news}");
    assert!(!news.contains('\u{1b}'), "progress is for terminals: {news}");
    for word in ["stress ", "ms", "out of place"] {
        assert!(said.contains(word), "{said}");
    }
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(record["format"], "locksley-record/1");
    let is_time = |sample: &&Value| sample["metric"] == "ms";
    assert_eq!(record["samples"].as_array().unwrap().iter().filter(is_time).count(), 1);

    let output = command(&arguments).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("measured already"));
    stdout_of(&["report", "--json", &json, "--out", &again]);
    let page =
        |folder: &str| std::fs::read_to_string(Path::new(folder).join("index.html")).unwrap();
    assert_eq!(page(&out), page(&again));
}
