//! The soak, from outside.

use serde_json::Value;

use crate::support::{locksley, stdout_of};

#[test]
fn a_short_soak_runs_every_activity_and_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("soak.json");
    let text = stdout_of(&["soak", "--quick", "--secs", "2", "--json", json.to_str().unwrap()]);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let count = |list: &str, name: &str| report[list][name].as_u64().unwrap_or(0);
    let activities = report["activities"].as_object().unwrap();
    assert_eq!(activities.len(), 17, "{text}");
    for (name, counts) in activities {
        assert!(
            counts["rounds"].as_u64() > Some(0) && counts["checks"].as_u64() > Some(0),
            "{name}"
        );
        assert!(text.lines().any(|line| line.starts_with(name)), "{text}");
    }
    assert!(count("faults", "stop") > 0, "{text}");
    for kind in ["squeeze", "quota", "freeze"] {
        let reason = report["skipped"][kind].as_str();
        assert!(count("faults", kind) > 0 || reason.is_some_and(|why| !why.is_empty()), "{kind}");
    }
}

/// The soak can fail: each defect ends it with one line that says what it is.
#[test]
fn a_defect_is_found() {
    for (defect, said) in [
        ("wrong", "injected is wrong: one is 2 and should be 1"),
        ("hang", "injected made no progress"),
        ("leak", "not given back"),
    ] {
        let patience = if defect == "hang" { "1" } else { "60" };
        let options = ["soak", "--secs", "0.01", "--patience", patience, "--inject", defect];
        let output = locksley(&options);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{defect}: {complaint}");
        assert!(complaint.starts_with("locksley: ") && complaint.contains(said), "{complaint}");
    }
}
