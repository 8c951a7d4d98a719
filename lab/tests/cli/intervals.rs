//! What an interval costs.

use serde_json::Value;

use crate::support::stdout_of;

#[test]
fn intervals_once_prints_its_one_line() {
    let text = stdout_of(&["once", "intervals", "chain 2500", "locksley-intervals", "1", "0"]);
    let line: Value = serde_json::from_str(&text).unwrap();
    assert!(line["ns"].as_f64().unwrap() > 0.0, "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interval_takes_its_memory_and_not_much_more() {
    let bytes = |number: u64| {
        let graph = format!("graph {number}");
        let text = stdout_of(&["once", "intervals", &graph, "locksley-intervals", "1", "0"]);
        let line: Value = serde_json::from_str(&text).unwrap();
        line["bytes"].as_f64().unwrap()
    };
    // Two points, a parent and room for two edges are a hundred bytes at least; counting by pages
    // could miss some. A few pages for other things count for little.
    let (few, many) = (bytes(50_000), bytes(200_000));
    assert!((100.0..1000.0).contains(&many), "{many}");
    assert!((few / many - 1.0).abs() < 0.2, "{few} bytes each of few, {many} of many");
}
