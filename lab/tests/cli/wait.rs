//! Tasks that wait.

use std::path::Path;

use serde_json::Value;

use crate::support::{command, stdout_of};

const RUNTIMES: [(&str, &[&str]); 5] = [
    ("locksley", &["1", "2"]),
    ("locksley-cur", &["1", "2"]),
    ("tokio-current", &["1"]),
    ("tokio", &["1", "2"]),
    ("smol", &["1", "2"]),
];

#[test]
fn wait_once_prints_its_one_line() {
    for (runtime, numbers) in RUNTIMES {
        for workers in numbers {
            for (kind, size, answer) in
                [("spawn", "20", 20 * 7 + 190), ("ping-pong", "30", 60), ("fork", "10x3", 30)]
            {
                let once = ["wait-once", "--runtime", runtime, kind, workers, size, "--seed", "7"];
                let text = stdout_of(&once);
                assert_eq!(text.lines().count(), 1, "{text}");
                let line: Value = serde_json::from_str(&text).unwrap();
                assert_eq!((&line["runtime"], &line["answer"]), (&runtime.into(), &answer.into()));
                assert!(line["seconds"].as_f64().unwrap() > 0.0, "{text}");
                assert_eq!(line["apart"].is_number(), kind == "ping-pong", "{text}");
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn waiting_tasks_tell_their_memory() {
    for (runtime, _) in RUNTIMES {
        let text = stdout_of(&["wait-once", "--runtime", runtime, "waiting", "1", "50000"]);
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&line["runtime"], &line["answer"]), (&runtime.into(), &50_000.into()));
        let number = |field: &str| line[field].as_u64().unwrap();
        // Each future lies in memory; half of it is beyond what counting by pages could miss.
        assert!(number("future") > 0 && number("bytes") > 25_000 * number("future"), "{text}");
    }
}

#[test]
fn wait_makes_a_record_and_a_page_that_can_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, json, again) = (path("out"), path("wait.json"), path("again"));
    let arguments =
        ["wait", "--quick", "--tasks", "100", "--repeats", "2", "--out", &out, "--json", &json];
    let output = command(&arguments).output().unwrap();
    let (said, news) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{news}");
    assert!(!news.contains('\u{1b}'), "progress is for terminals: {news}");
    for word in ["ping-pong of two tasks", "create 10 threads", "create 100 threads", "of tokio"] {
        assert!(said.contains(word), "{said}");
    }
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(record["format"], "locksley-wait/1");
    let measured = record["measurements"].as_array().unwrap();
    for (runtime, numbers) in RUNTIMES {
        let own = measured.iter().filter(|found| found["runtime"] == runtime);
        // Spawn, ping-pong, two numbers of threads; and waiting tasks on one worker, where memory can be told.
        let waiting = usize::from(cfg!(target_os = "linux"));
        assert_eq!(own.count(), 2 * (4 * numbers.len() + waiting), "{runtime}");
    }

    assert!(stdout_of(&arguments).starts_with("measured already"));
    stdout_of(&["report", "--json", &json, "--out", &again]);
    let page =
        |folder: &str| std::fs::read_to_string(Path::new(folder).join("index.html")).unwrap();
    assert_eq!(page(&out), page(&again));
}
