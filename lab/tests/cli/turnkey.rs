//! Pools that choose their number of workers.

use serde_json::Value;

use crate::support::{locksley, stdout_of};

fn readings(subject: &str, contestants: &str) -> Value {
    let subject = format!("{subject} for 0.02 s");
    let text = stdout_of(&["once", "turnkey", &subject, contestants, "1", "7"]);
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn turnkey_once_prints_its_one_line() {
    for workers in ["0", "1", "3"] {
        let of = format!("locksley:{workers}");
        for subject in ["msort 5K", "msort 5K beside cycler"] {
            let all = [&of, "locksley:2", "rayon:3"];
            let found = readings(subject, &all.join(","));
            for one in all {
                let figure = |name: &str| found[format!("{one} {name}")].as_f64().unwrap();
                assert!(figure("seconds") > 0.0 && figure("computations") >= 1.0, "{found}");
            }
        }
    }
}

#[test]
fn turnkey_once_refuses_what_it_does_not_know() {
    let refused = |subject: &str, contestants: &str, why: &str| {
        let output = locksley(&["once", "turnkey", subject, contestants, "1", "7"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why) && said.trim().lines().count() == 1, "{said}");
    };
    refused("msort 5K", "locksley:0", "SECONDS");
    refused("nothing 1 for 0.02 s", "locksley:0", "nothing");
    refused("msort 5K for 0.02 s", "other:2", "RUNTIME:P");
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
