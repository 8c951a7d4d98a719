use std::path::Path;

use super::*;
use crate::experiment::record::{self, Sample};
use crate::experiment::text;
use crate::random::DEFAULT_SEED;

/// A record in which each row's runtimes take this long.
fn made_up(time: impl Fn(&str, &str, usize) -> f64) -> Record {
    let mut record = Record::new(Bench::NAME, Plan::default());
    for (_, subject, workers, ours) in ROWS {
        for runtime in [ours].into_iter().chain(peers(subject).iter().copied()) {
            for repeat in 0..6 {
                record.samples.push(Sample {
                    experiment: Bench::NAME.to_owned(),
                    subject: subject.to_owned(),
                    runtime: runtime.to_owned(),
                    workers,
                    repeat,
                    metric: NS.to_owned(),
                    value: time(subject, runtime, workers),
                });
            }
        }
    }
    record
}

#[test]
fn losses_come_first_and_the_fastest_peer_counts() {
    let report = Bench::report(&made_up(|subject, runtime, workers| match (subject, runtime) {
        ("channels ring 1000x100", "locksley") if workers == 2 => 90.0,
        ("forkjoin fib 30", "locksley") => 20.0,
        (_, "chili") => 25.0,
        (_, "go" | "futex") => 45.0,
        _ => 30.0,
    }));
    let rows = &report.sections[0].tables[0].rows;
    assert_eq!(rows.len(), ROWS.len());
    let first = ["ring, a hop, P = 2", "90.0", "30.0", "tokio", "3.00", "3.00 to 3.00", "behind"];
    assert_eq!(rows[0], first);
    let last = &rows[rows.len() - 1];
    assert!(last[0].starts_with("fork by Worker::join") && last[3] == "chili", "{last:?}");
    assert_eq!(last[6], "ahead");
    // The tree's forks and those of join: 30 over chili's 25.
    assert!(report.headline.contains(" 4 are behind"), "{}", report.headline);
}

#[test]
fn times_are_those_of_an_operation() {
    let of = |subject, metric, value| nanoseconds(subject, &named([(metric, value)]));
    assert_eq!(of("forkjoin fib 5", "seconds", 7e-9), Some(1.0));
    assert_eq!(of("rayon joins 5, alone", "ms", 7e-6), Some(1.0));
    assert_eq!(of("rayon bridge 200, alone", "ms", 1e-4), Some(0.5));
    assert_eq!(of("channels stream 500", "ns", 20.0), Some(20.0));
    assert_eq!(of("bench call 4", "seconds", 4e-9), Some(1.0));
    assert_eq!(of("channels idle 500", "bytes", 20.0), None);
}

#[test]
fn every_runtime_is_called() {
    for runtime in ["locksley", "rayon", "futex"] {
        assert!(call::measure(runtime, 2, 2).unwrap() > 0.0, "{runtime}");
    }
    assert!(matches!(call::measure("tokio", 2, 2), Err(Fault::Input(_))));
    for wrong in ["call 0", "call many", "call 1000001", "spawn 1", "call"] {
        let (subject, runtime) = (wrong.to_owned(), "futex".to_owned());
        let cell = Cell { subject, runtime, workers: 2, repeats: 1 };
        assert!(matches!(Bench::once(&cell, DEFAULT_SEED), Err(Fault::Input(_))), "{wrong}");
    }
}

/// `docs/performance.md` has the table of its record.
#[test]
fn the_document_shows_the_record() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let record = record::read(&root.join("record/xeon-2/2026-11-29-bench.json")).unwrap();
    let text = text::tables(&record, &Bench::report(&record));
    let (_, table) = text.split_once("\n\n").unwrap();
    let document = std::fs::read_to_string(root.join("../docs/performance.md")).unwrap();
    assert!(document.contains(table.trim_end()), "{table}");
}
