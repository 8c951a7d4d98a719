//! A made-up record, and runs with scripts for programs. Runs with this program's own binary are tested from outside.

use super::once::{PHASES, TURNKEY};
use super::plan::{Choice, plan, subset};
use super::record::{Measurement, Phase, Reading};
use super::*;
use crate::fault::Fault;
use crate::record::{Cell, Document, files};

fn tiny_plan() -> Plan {
    let input = |kind: &str, size: &str| (kind.to_owned(), size.to_owned());
    Plan {
        experiment: "turnkey".to_owned(),
        quick: true,
        seed: 3,
        repeats: 2,
        budget_seconds: 60.0,
        limit_seconds: 60.0,
        seconds: [0.1, 0.2],
        workers: vec![1, 2],
        inputs: vec![
            input("msort", "10K"),
            input("msort", "10K beside cycler"),
            input("phases", "1, 4, 64"),
            input("quota", "150"),
            input("moved", "1"),
        ],
        groups: Ok(2),
    }
}

/// Made-up figures: the second number of workers is the best one, alone; and the first beside the cycler.
pub(crate) fn record() -> Record {
    let mut header = Header::here(tiny_plan());
    (header.machine.processors, header.machine.quota) = (2, None);
    let mut measurements = Vec::new();
    let mut read = |app: &str, size: &str, workers, readings: &[Reading]| {
        for (repeat, reading) in readings.iter().cloned().enumerate() {
            let (app, size) = (app.to_owned(), size.to_owned());
            let cell = Cell { app, size, runtime: plan::LOCKSLEY.to_owned(), workers };
            measurements.push(Measurement { cell, repeat, reading });
        }
    };
    let times = |all: &[f64]| -> Vec<Reading> {
        all.iter().map(|&seconds| Reading::Time { seconds }).collect()
    };
    read("msort", "10K", TURNKEY, &times(&[0.020, 0.021, 0.090]));
    read("msort", "10K", 1, &times(&[0.040]));
    read("msort", "10K", 2, &times(&[0.020, 0.020, 0.030]));
    read("msort", "10K beside cycler", TURNKEY, &times(&[0.060]));
    read("msort", "10K beside cycler", 1, &times(&[0.050]));
    read("msort", "10K beside cycler", 2, &times(&[0.064]));
    let phases = |awake: f64| Reading::Phases {
        phases: PHASES
            .map(|parallelism| Phase { parallelism, working: 1.0, awake, rounds_per_s: 1234.0 })
            .to_vec(),
        workers: 2,
    };
    read("phases", "1, 4, 64", TURNKEY, &[phases(1.25), phases(1.5), phases(9.0)]);
    let quota = |worst_late_ms, throttled_per_s| Reading::Quota {
        rounds_per_s: 5000.0,
        median_late_ms: 0.1,
        p99_late_ms: 2.0,
        worst_late_ms,
        throttled_per_s,
    };
    read("quota", "150", TURNKEY, &[quota(3.0, 0.5), quota(7.0, 0.25), quota(2.0, 0.75)]);
    read("quota", "150", 2, &[quota(27.0, 10.0)]);
    let moved = |lowered_after_s, raised_after_s| Reading::Moved {
        workers: 2,
        lowered_after_s,
        raised_after_s,
        free_rounds_per_s: 6000.0,
        tight_rounds_per_s: 3000.0,
    };
    read("moved", "1", TURNKEY, &[moved(0.25, 0.0625), moved(0.125, 0.5)]);
    Record::of(header, "then".to_owned(), measurements, Vec::new())
}

#[test]
fn what_nobody_chose_is_compared_with_the_best_that_somebody_could_have() {
    let summary = Summary::of(&record());
    let [alone, beside] = &summary.apps[..] else { panic!("{summary:?}") };
    assert_eq!((alone.best().unwrap().0, beside.best().unwrap().0), (2, 1));
    assert!((alone.ratio().unwrap() - 1.05).abs() < 1e-9);
    assert!((beside.ratio().unwrap() - 1.2).abs() < 1e-9);
    assert_eq!(summary.worst(true).unwrap().0.size, "10K");
    assert!(summary.worst(true).unwrap().1 > summary.worst(false).unwrap().1);
}

#[test]
fn medians_and_the_worst() {
    let summary = Summary::of(&record());
    let (workers, phases) = &summary.phases[0];
    assert_eq!((*workers, phases.len(), phases[0].awake), (TURNKEY, 3, 1.5));
    let [turnkey, two] = summary.quotas[..] else { panic!("{summary:?}") };
    assert_eq!((turnkey.workers, turnkey.worst_late_ms, turnkey.throttled_per_s), (0, 7.0, 0.5));
    assert_eq!((two.workers, two.worst_late_ms), (2, 27.0));
    let moved = summary.moved.unwrap();
    assert_eq!((moved.lowered_after_s, moved.raised_after_s), (0.25, 0.5));
}

#[test]
fn an_empty_record_has_an_empty_summary() {
    let mut record = record();
    record.measurements.clear();
    let summary = Summary::of(&record);
    assert!(summary.apps.is_empty() && summary.phases.is_empty() && summary.quotas.is_empty());
    assert!(summary.moved.is_none() && summary.worst(false).is_none());
    assert!(table::text(&record, &summary).contains("control groups of version 2"));
}

#[test]
fn the_table_has_all() {
    let record = record();
    let text = table::text(&record, &Summary::of(&record));
    for word in [
        "Quick subset",
        "applications alone",
        "applications beside a cycler",
        "turnkey over best",
        "1.050",
        "1.200",
        "parallelism 64",
        "1.50 (1.00), 1234",
        "1.50, turnkey",
        "1.50, P = 2",
        "after 0.250 s",
        "after 0.500 s",
    ] {
        assert!(text.contains(word), "{word}:\n{text}");
    }
}

#[test]
fn a_plan_without_control_groups_says_why() {
    let choice = Choice { quick: true, seed: 1, repeats: None };
    let plan = plan(&choice, Err("not ours".to_owned())).unwrap();
    assert!(plan.subjects().unwrap().iter().all(|subject| !subject.needs_group()));
    let cells = plan.cells().unwrap();
    assert_eq!(cells.iter().filter(|cell| cell.workers == TURNKEY).count(), plan.inputs.len());
    assert!(subset(&plan).contains("msort"));
    let mut record = record();
    record.header.plan = plan;
    record.measurements.clear();
    let text = table::text(&record, &Summary::of(&record));
    assert!(text.contains("no control groups can be made: not ours"), "{text}");
    for quick in [false, true] {
        let none = Choice { quick, repeats: Some(0), ..Choice::default() };
        assert!(matches!(super::plan::plan(&none, Err(String::new())), Err(Fault::Input(_))));
        let plan = super::plan::plan(&Choice { quick, ..Choice::default() }, Err(String::new()));
        assert!(plan.is_ok(), "{plan:?}");
    }
}

#[test]
fn a_record_is_as_it_was_and_flaws_are_found() {
    let record = record();
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    assert_eq!(record.flaw(), None);
    let broken = |change: &dyn Fn(&mut Record)| {
        let mut record = record.clone();
        change(&mut record);
        record.flaw()
    };
    assert!(broken(&|it| it.header.machine.processors = 0).is_some());
    assert!(broken(&|it| it.header.plan.workers.push(0)).is_some());
    assert!(broken(&|it| it.header.plan.inputs[0].0 = "nothing".to_owned()).is_some());
    assert!(broken(&|it| it.measurements[0].reading = Reading::Time { seconds: 0.0 }).is_some());
    assert!(broken(&|it| it.measurements[0].cell.app = "phases".to_owned()).is_some());
    assert!(
        broken(&|it| {
            let last = it.measurements.last_mut().unwrap();
            last.reading = Reading::Moved {
                workers: 0,
                lowered_after_s: 1.0,
                raised_after_s: 1.0,
                free_rounds_per_s: 1.0,
                tight_rounds_per_s: 1.0,
            };
        })
        .is_some()
    );
}

#[cfg(unix)]
#[test]
fn what_a_child_says_is_recorded_or_missing() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, script: &str| {
        let plan = Plan {
            inputs: vec![("msort".to_owned(), "10K".to_owned())],
            repeats: 1,
            ..tiny_plan()
        };
        let options = Options {
            plan,
            programs: Program::script(script),
            json: folder.path().join(format!("{name}.json")),
            out: folder.path().join(name),
            fresh: false,
        };
        run(&options)
    };
    let good = run("good", r#"echo "{\"reading\":{\"time\":{\"seconds\":0.5}}}""#).unwrap();
    assert_eq!((good.record.measurements.len(), good.record.missing.len()), (3, 0));
    assert_eq!(good.summary.apps[0].ratio(), Some(1.0));
    let read: Record = files::read(&folder.path().join("good.json")).unwrap();
    assert_eq!(read, good.record);
    for (name, script, why) in [
        ("other", r#"echo "{\"reading\":{\"time\":{\"seconds\":-1}}}""#, "something else"),
        ("noise", "echo noise", "it printed 'noise'"),
        ("bad", "echo sorry >&2; exit 3", "sorry"),
    ] {
        // Nothing is left.
        let Err(Fault::Run(said)) = run(name, script) else { panic!("{name} is recorded") };
        assert!(said.contains(why), "{said}");
    }
}
