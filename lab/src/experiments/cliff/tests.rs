//! A cliff small enough to fall off in a test.

use std::fs;
use std::path::Path;

use super::*;
use crate::apps;
use crate::experiments::bound::Metered;
use crate::experiments::journal::Journal;
use crate::machine::Machine;
use crate::record::{COPIES, CRITICAL_PATH, Cell, Input, Plan, RoundsPlan, Sample, Versions};
use crate::rounds::Round;

fn tiny_plan() -> Plan {
    let input = |app: &str, size: &str| Input {
        app: app.to_owned(),
        size: size.to_owned(),
        shows: "<tiny>".to_owned(),
    };
    Plan {
        experiment: "cliff".to_owned(),
        quick: true,
        seed: 3,
        repeats: 2,
        budget_seconds: 60.0,
        workers: vec![1, 2, 5],
        runtimes: ["static", "locksley", "locksley-awake", "rayon"].map(str::to_owned).to_vec(),
        inputs: vec![
            input("heat", "20x20x3"),
            input("knary", "3,2,1"),
            input("msort", "100"),
            input("mm", "32"),
            input("lu", "32"),
            input("barnes", "50x2"),
            input("ray", "1,9x9"),
        ],
        rounds: Some(RoundsPlan {
            round: Round { leaf: 10, chunks: 4, serial: 1 },
            seconds: 0.001,
        }),
        beside: Some(RoundsPlan {
            round: Round { leaf: 10, chunks: 4, serial: 1 },
            seconds: 0.001,
        }),
    }
}

fn open(json: &Path, header: &Header, fresh: bool) -> Journal<Entry> {
    Journal::beside(json, header, fresh).unwrap()
}

fn samples(journal: Journal<Entry>) -> Vec<Sample> {
    journal::parts(journal.entries().to_vec()).0
}

/// Two processors, three workers, made-up times.
fn record() -> Record {
    let mut record = Record {
        format: record::FORMAT.to_owned(),
        plan: tiny_plan(),
        machine: Machine::here(),
        versions: Versions::of_this_build(),
        started: "then".to_owned(),
        finished: "now".to_owned(),
        samples: Vec::new(),
        grants: Vec::new(),
    };
    record.machine.processors = 2;
    record.machine.quota = None;
    record.plan.inputs.truncate(1);
    record.plan.rounds = None;
    let mut sample = |runtime: &str, workers, repeat, seconds| {
        let cell = Cell {
            app: "heat".into(),
            size: "20x20x3".into(),
            runtime: runtime.to_owned(),
            workers,
        };
        // What is metered takes twice as long.
        let metered = (runtime == CRITICAL_PATH).then_some(Metered {
            work: 20.0,
            critical_path: seconds,
            burdened_critical_path: seconds,
            forks: 9,
            uncarried: 0,
        });
        record.samples.push(Sample { cell, repeat, seconds, metered });
    };
    for (repeat, seconds) in [9.0, 8.0, 100.0].into_iter().enumerate() {
        sample("serial", 1, repeat, seconds);
        sample("static", 1, repeat, seconds + 1.0);
        sample("static", 5, repeat, seconds);
    }
    sample(COPIES, 2, 0, 10.0);
    sample(COPIES, 2, 1, 30.0);
    sample(CRITICAL_PATH, 1, 0, 0.25);
    record
}

#[test]
fn medians_and_ratios_are_those_of_the_papers() {
    let summary = Summary::of(&record());
    let [input] = &summary.inputs[..] else { panic!("one input") };
    assert_eq!(
        (input.serial.median, input.serial.least, input.serial.most, input.serial.number),
        (9.0, 8.0, 100.0, 3)
    );
    assert_eq!(input.ceilings, [(2, 0.8)], "the best of each: 8 and 10 seconds");
    assert_eq!(input.critical_path.map(|path| path.median), Some(0.25));
    assert_eq!(input.parallelism, Some(80.0));
    let [runtime] = &input.runtimes[..] else { panic!("only one was measured") };
    assert_eq!((runtime.work, runtime.overhead), (10.0, 10.0 / 9.0));
    let [one, five] = &runtime.points[..] else { panic!("P = 1 and P = 5") };
    assert_eq!(
        (one.processors, one.utilization, one.ceiling, one.is_crowded()),
        (1.0, 1.0, 1.0, false)
    );
    assert_eq!((five.processors, five.is_crowded()), (2.0, true));
    assert_eq!((five.speedup, five.utilization, five.ceiling), (10.0 / 9.0, 5.0 / 9.0, 0.8));
}

#[test]
fn a_run_that_was_stopped_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (json, path) = (folder.path().join("cliff.json"), folder.path().join("cliff.json.part"));
    let header = Header::here(tiny_plan());

    let mut journal = open(&json, &header, false);
    measure::all(&header, &mut journal).unwrap();
    let complete = samples(journal);

    // Stopped in the middle of a line.
    let text = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = text.lines().take(text.lines().count() / 2).collect();
    let half = kept.iter().filter(|line| line.contains("\"repeat\"")).count();
    assert!(half > 0);
    fs::write(&path, kept.join("\n") + "\n{\"app\":\"he").unwrap();

    let mut journal = open(&json, &header, false);
    assert_eq!(journal::measured(&journal), half);
    measure::all(&header, &mut journal).unwrap();
    let resumed = samples(journal);
    assert_eq!(resumed[..half], complete[..half]);
    let cells =
        |samples: &[Sample]| samples.iter().map(|s| (s.cell.clone(), s.repeat)).collect::<Vec<_>>();
    assert_eq!(cells(&resumed), cells(&complete));

    let mut other = header.clone();
    other.plan.seed += 1;
    assert_eq!(
        journal::measured(&open(&json, &other, false)),
        0,
        "another seed's measurements are not mixed in"
    );
}

#[test]
fn a_fresh_start_forgets_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("cliff.json");
    let header = Header::here(tiny_plan());
    let mut journal = open(&json, &header, false);
    measure::all(&header, &mut journal).unwrap();
    assert!(journal::measured(&journal) > 0);
    assert_eq!(journal::measured(&open(&json, &header, true)), 0);
}

#[test]
fn the_page_is_the_same_again_from_the_record_and_a_finished_run_is_not_redone() {
    let folder = tempfile::tempdir().unwrap();
    let (out, again) = (folder.path().join("a/b"), folder.path().join("again"));
    let json = folder.path().join("c/cliff.json");
    let options = Options { plan: tiny_plan(), json: json.clone(), out: out.clone(), fresh: false };
    assert!(!run(&options).unwrap().is_old);
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    let saved = fs::read_to_string(&json).unwrap();
    assert!(!folder.path().join("c/cliff.json.part").exists());

    let record: Record = record::files::read(&json).unwrap();
    let path = report::prepare(&again).unwrap();
    report::write(&path, &record, &Summary::of(&record)).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), page);

    assert!(run(&options).unwrap().is_old);
    assert_eq!(fs::read_to_string(&json).unwrap(), saved);
    assert_eq!(fs::read_to_string(out.join("index.html")).unwrap(), page);

    assert!(!run(&Options { fresh: true, ..options }).unwrap().is_old);
    assert_ne!(fs::read_to_string(&json).unwrap(), saved);
}

#[test]
fn plans_name_what_they_measure() {
    let quick = plan::plan(true, 1, &[], 2).unwrap();
    assert_eq!(quick.workers, [1, 2, 3, 4, 8, 32]);
    assert!(plan::subset(&quick).contains("P = 1 2 3 4 8 32"));
    let full = plan::plan(false, 1, &[], 2).unwrap();
    assert_eq!(full.workers, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]);
    assert!(full.repeats >= 5 && full.rounds.is_some());
    for app in ["mm", "lu", "barnes", "heat", "msort", "ray", "knary"] {
        for plan in [&quick, &full] {
            assert!(plan.inputs.iter().any(|input| input.app == app), "{app}");
        }
        let paper = apps::problem(apps::find(app).unwrap(), "paper").unwrap().parameters();
        assert!(full.inputs.iter().any(|input| input.app == app && input.size == paper), "{app}");
    }
    let many = plan::plan(false, 1, &["mm".to_owned()], 64).unwrap();
    assert_eq!(many.workers[9..], [32, 64, 65, 128]);
    assert!(many.inputs.iter().all(|input| input.app == "mm") && many.rounds.is_none());
    assert!(plan::plan(true, 1, &["nothing".to_owned()], 2).is_err());
}

#[test]
fn plans_can_be_of_all_applications_and_of_other_runtimes() {
    let all = |quick| plan::plan(quick, 1, &[plan::ALL.to_owned()], 2).unwrap();
    for plan in [all(true), all(false)] {
        for app in apps::ALL {
            assert!(plan.inputs.iter().any(|input| input.app == app.name()), "{}", app.name());
        }
        assert!(plan.rounds.is_some());
    }
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let awake = names(&["locksley", "locksley-awake", "locksley"]);
    let plan = plan::instead(all(true), &awake, &[8, 2, 8]).unwrap();
    assert_eq!(plan.runtimes, awake[..2]);
    assert_eq!(plan.workers, [1, 2, 8]);
    let same = plan::instead(all(true), &[], &[]).unwrap();
    assert_eq!((same.runtimes, same.workers), (all(true).runtimes, all(true).workers));
    for wrong in ["serial", "nothing"] {
        assert!(plan::instead(all(true), &names(&[wrong]), &[]).is_err(), "{wrong}");
    }
}

/// An application that comes to the laboratory does not come to this experiment, and is not left out silently either.
#[test]
fn plans_have_hoods_applications_and_no_others() {
    let hoods = ["barnes", "heat", "knary", "lu", "mm", "msort", "ray"];
    for quick in [true, false] {
        let plan = plan::plan(quick, 1, &[], 2).unwrap();
        let mut apps: Vec<&str> = plan.inputs.iter().map(|input| input.app.as_str()).collect();
        apps.sort_unstable();
        apps.dedup();
        assert_eq!(apps, hoods);
    }
    for app in apps::ALL.iter().map(|app| app.name()) {
        let plan = plan::plan(true, 1, &[app.to_owned(), plan::ROUNDS.to_owned()], 2);
        assert_eq!(plan.is_ok(), hoods.contains(&app), "{app}");
    }
}

#[test]
fn the_table_has_a_line_for_each_runtime() {
    let record = record();
    let text = table::text(&record, &Summary::of(&record));
    assert!(
        text.contains("heat 20x20x3 (<tiny>), Ts = 9.000, T∞ = 0.2500, T1/T∞ = 80.0"),
        "{text}"
    );
    assert!(
        text.lines()
            .any(|line| line.contains("static") && line.contains("10.00") && line.contains("0.56")),
        "{text}"
    );
    assert_eq!([table::seconds(0.000_123_456), table::seconds(12.3456)], ["0.0001235", "12.35"]);
}
