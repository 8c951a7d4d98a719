//! The number of workers that nobody chose.

use serde_json::Value;

use crate::support::{locksley, stdout_of};

fn reading(arguments: &[&str]) -> Value {
    let text = stdout_of(&[&["turnkey-once"], arguments].concat());
    assert_eq!(text.lines().count(), 1, "{text}");
    let line: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(line["runtime"], "locksley");
    line["reading"].clone()
}

#[test]
fn turnkey_once_prints_its_one_line() {
    for workers in ["0", "1", "3"] {
        let of = format!("locksley:{workers}");
        let common = ["--of", &of, "--secs", "0.02"];
        for size in ["5K", "5K beside cycler"] {
            let against = ["--against", "locksley:1,rayon:3"];
            let found = reading(&[&["msort", size], &against[..], &common[..]].concat());
            let turns = found["turns"]["turns"].as_array().unwrap();
            let name =
                |turn: &Value| format!("{}:{}", turn["runtime"].as_str().unwrap(), turn["workers"]);
            let names: Vec<String> = turns.iter().map(name).collect();
            assert_eq!(names, [&of, "locksley:1", "rayon:3"]);
            assert!(turns.iter().all(|turn| turn["seconds"].as_f64().unwrap() > 0.0), "{found}");
        }
        let found = reading(&[&["phases", "1, 4, 64"], &common[..]].concat());
        let phases = found["phases"]["phases"].as_array().unwrap();
        let parallelisms: Vec<_> = phases.iter().map(|phase| &phase["parallelism"]).collect();
        assert_eq!(parallelisms, [1, 4, 64]);
        let all = found["phases"]["workers"].as_u64().unwrap();
        assert!(all >= 1 && (workers == "0" || all.to_string() == workers), "{found}");
        for phase in phases {
            // Who works is awake, and no more than all are.
            let figure = |name: &str| phase[name].as_f64().unwrap();
            let (working, awake) = (figure("working"), figure("awake"));
            assert!(working <= awake && awake <= all as f64 * 1.05, "{found}");
            assert!(awake > 0.0 && figure("rounds_per_s") > 0.0, "{found}");
        }
    }
}

#[test]
fn turnkey_once_refuses_turns_where_there_are_none() {
    let arguments = ["turnkey-once", "phases", "1, 4, 64", "--of", "locksley:0", "--secs", "0.02"];
    let output = locksley(&[&arguments[..], &["--against", "locksley:2"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("in turn"));
}

#[test]
fn machine_says_how_many_workers_nobody_chose() {
    let text = stdout_of(&["machine"]);
    assert!(text.contains("in a pool to which nobody says it"), "{text}");
    let machine: Value = serde_json::from_str(&stdout_of(&["machine", "--json"])).unwrap();
    let number = |name: &str| machine[name].as_u64().unwrap();
    assert!((1..=number("most_workers")).contains(&number("workers")), "{machine}");
    let is_told = std::env::var_os("LOCKSLEY_WORKERS").is_some();
    assert!(is_told || number("workers") <= number("processors"), "{machine}");
    assert_eq!(machine["quota"].is_null(), machine["quota_set_in"].is_null(), "{machine}");
    assert!(machine["quota_faults"].is_array());
}
