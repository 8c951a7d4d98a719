//! Pools that choose their number of workers.

use serde_json::Value;

use crate::support::{assert_refused, locksley, stdout_of};

#[test]
fn turnkey_once_prints_its_one_line() {
    for (runtime, workers) in [("turnkey", "1"), ("locksley", "3")] {
        for subject in ["msort 5K", "msort 5K beside cycler"] {
            let text = stdout_of(&["once", "turnkey", subject, runtime, workers, "7"]);
            assert_eq!(text.lines().count(), 1, "{text}");
            let found: Value = serde_json::from_str(&text).unwrap();
            let figure = |name: &str| found[name].as_f64().unwrap();
            assert!(figure("seconds") > 0.0 && figure("computations") >= 1.0, "{found}");
        }
    }
}

#[test]
fn turnkey_once_refuses_what_it_does_not_know() {
    let refused = |subject: &str, runtime: &str, why: &str| {
        assert_refused(&locksley(&["once", "turnkey", subject, runtime, "1", "7"]), why);
    };
    refused("msort 5K under 1", "turnkey", "quota");
    refused("nothing 1", "turnkey", "nothing");
    refused("msort 5K", "other", "other");
}

#[test]
fn machine_says_how_many_workers_are_the_default() {
    let text = stdout_of(&["machine"]);
    assert!(text.contains("by default"), "{text}");
    let machine: Value = serde_json::from_str(&stdout_of(&["machine", "--json"])).unwrap();
    let number = |name: &str| machine[name].as_u64().unwrap();
    assert!((1..=number("most_workers")).contains(&number("workers")), "{machine}");
    let is_told = std::env::var_os("LOCKSLEY_WORKERS").is_some();
    assert!(is_told || number("workers") <= number("processors"), "{machine}");
    assert_eq!(machine["quota"].is_null(), machine["quota_set_in"].is_null(), "{machine}");
    assert!(machine["quota_faults"].is_array());
}
