//! What becomes of measurements, and that they can be taken.

use super::breakdown::{self, Shares};
use super::*;
use crate::experiments::cliff::summary::Summary;
use crate::record::{Cell, Input, RoundsPlan, Sample as Timed};
use crate::rounds::Round;
use crate::runtimes::{Effort, Times};
use crate::switches::Switches;

fn tiny_plan() -> Plan {
    let mut plan = plan::plan(true, 3, 2).unwrap();
    plan.repeats = 1;
    plan.workers = vec![1, 2, 4];
    plan.inputs = vec![Input {
        app: "knary".to_owned(),
        size: "4,3,1".to_owned(),
        shows: "<tiny>".to_owned(),
    }];
    let round = Round { leaf: 10, chunks: 4, serial: 1 };
    plan.rounds = Some(RoundsPlan { round, seconds: 0.001 });
    plan
}

/// Two processors; the naive one takes twice the time with twice the workers.
fn record() -> Record {
    let mut plan = tiny_plan();
    plan.rounds = None;
    plan.runtimes = ["locksley", "locksley-naive"].map(str::to_owned).to_vec();
    let mut header = Header::here(plan);
    (header.machine.processors, header.machine.quota) = (2, None);
    let mut samples = Vec::new();
    let mut add = |runtime: &str, workers, seconds: f64, hunting, locks| {
        let (app, size) = ("knary".to_owned(), "4,3,1".to_owned());
        let cell = Cell { app, size, runtime: runtime.to_owned(), workers };
        let times = Some(Times { hunting, locks });
        samples.push(Sample {
            time: Timed::timed(cell, 0, seconds),
            wall: seconds,
            effort: Some(Effort { steals: 10, failed_steals: 30, times, ..Effort::default() }),
            switches: Some(Switches { voluntary: 4, involuntary: 8 }),
        });
    };
    add("serial", 1, 4.0, 0.0, 0.0);
    for runtime in ["locksley", "locksley-naive"] {
        add(runtime, 1, 4.0, 0.0, 0.0);
        add(runtime, 2, 2.0, 0.4, 0.0);
    }
    add("locksley", 4, 2.0, 0.0, 0.0);
    add("locksley-naive", 4, 4.0, 8.0, 1.6);
    record_of(header, "then".to_owned(), samples)
}

#[test]
fn time_is_broken_down_as_in_the_study() {
    let [knary] = &breakdown::of(&record())[..] else { panic!("one input") };
    let [_, four, naive, naive_four] = &knary.bars[..] else { panic!("two bars each") };
    assert_eq!((four.workers, four.height), (4, 1.0));
    assert_eq!((naive.workers, naive.height), (2, 1.0));
    assert_eq!(naive.shares, Some(Shares { working: 0.9, hunting: 0.1, locks: 0.0 }));
    assert_eq!(naive_four.height, 2.0);
    // 16 seconds of workers' time: 8 of hunts, of which 1.6 were waits for locks.
    let shares = naive_four.shares.unwrap();
    assert!((shares.hunting - 0.4).abs() < 1e-9 && (shares.locks - 0.1).abs() < 1e-9);
    assert!((shares.working - 0.5).abs() < 1e-9);
    assert_eq!((naive_four.voluntary, naive_four.involuntary), (Some(1.0), Some(2.0)));
    assert_eq!(naive_four.attempts, Some(10.0));
}

#[test]
fn speedups_are_those_of_cliff() {
    let summary = Summary::of(&record().as_cliff());
    let [input] = &summary.inputs[..] else { panic!("one input") };
    let speedups = |name: &str| {
        let runtime = input.runtimes.iter().find(|found| found.runtime == name).unwrap();
        runtime.points.iter().map(|point| point.speedup).collect::<Vec<_>>()
    };
    assert_eq!(speedups("locksley"), [1.0, 2.0, 2.0]);
    assert_eq!(speedups("locksley-naive"), [1.0, 2.0, 1.0]);
    let text = table::text(&record(), &summary);
    assert!(text.lines().any(|line| line.contains("locksley-naive") && line.contains("40%")));
}

#[test]
fn a_tiny_run_measures_all_and_a_finished_one_is_not_redone() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        plan: tiny_plan(),
        json: folder.path().join("alternatives.json"),
        out: folder.path().join("out"),
        fresh: false,
    };
    let finished = run(&options).unwrap();
    assert!(!finished.is_old);
    let plan = &finished.record.plan;
    let all = 2 * (1 + plan.workers.len() * plan.runtimes.len());
    assert_eq!(finished.record.samples.len(), all);
    let page = std::fs::read_to_string(&finished.page).unwrap();
    for elsewhere in ["https:", "src=", "href=", "url(", "#01FE", "NaN"] {
        assert!(!page.contains(elsewhere), "the page has {elsewhere}");
    }
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 2);
    let again = run(&options).unwrap();
    assert!(again.is_old);
    assert_eq!(std::fs::read_to_string(again.page).unwrap(), page);
}

#[test]
fn plans_say_what_they_measure() {
    let quick = plan::plan(true, 1, 2).unwrap();
    assert!(quick.workers.contains(&2) && quick.workers.contains(&4));
    assert!(plan::subset(&quick).contains("heat"));
    let full = plan::plan(false, 1, 24).unwrap();
    assert!([24, 25, 48].iter().all(|workers| full.workers.contains(workers)));
    let here = full.runtimes.len() + plan::missing(&full).len();
    assert_eq!(here, plan::RUNTIMES.len());
}
