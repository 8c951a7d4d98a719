//! What becomes of measurements, and that they can be taken.

use super::*;
use crate::apps;
use crate::experiments::bound::{Computation, Metered};

fn tiny_plan() -> Plan {
    let mut plan = plan::plan(true, 3, 2).unwrap();
    plan.repeats = 2;
    plan.workers = vec![1, 2, 4];
    plan.inputs = [("knary", "4,4,1"), ("msort", "3000")]
        .map(|(app, size)| (app.to_owned(), size.to_owned()))
        .to_vec();
    plan
}

/// Two processors; times as the model has them with (1, 2).
fn record() -> Record {
    let mut header = Header::here(tiny_plan());
    (header.machine.processors, header.machine.quota) = (2, None);
    let mut samples = Vec::new();
    for (app, size, work, path) in [("knary", "4,4,1", 8.0, 1.0), ("msort", "3000", 4.0, 0.01)] {
        let mut add = |workers, repeat, seconds, metered| {
            let (app, size) = (app.to_owned(), size.to_owned());
            samples.push(Sample { app, size, workers, repeat, seconds, metered });
        };
        // Metering makes both longer.
        let metered = Metered {
            work: 1.1 * work,
            critical_path: 1.1 * path,
            burdened_critical_path: path,
            forks: 3,
            uncarried: 0,
        };
        add(1, 0, work, Some(metered));
        // With one worker there is nobody to wait for.
        for (workers, seconds) in
            [(1, work), (2, (work + 4.0 * path) / 2.0), (4, (work + 8.0 * path) / 2.0)]
        {
            (0..2).for_each(|repeat| add(workers, repeat, seconds, None));
        }
    }
    record_of(header, "then".to_owned(), samples, Some(0.01))
}

#[test]
fn points_are_those_of_the_papers() {
    let summary = Summary::of(&record());
    let [knary, msort] = &summary.bound.computations[..] else { panic!("two inputs") };
    assert_eq!((knary.work, knary.critical_path), (8.0, 1.1));
    assert!((knary.metered - 1.1).abs() < 1e-12 && knary.is_whole);
    let [one, two, four] = &knary.points[..] else { panic!("three points") };
    assert_eq!((one.workers, one.utilization), (1, 1.0));
    // What metering costs is in the work as well as in the critical path.
    for (point, workers) in [(one, 1.0), (two, 2.0), (four, 4.0)] {
        assert!((point.normalized - workers / 8.8 * 1.1).abs() < 1e-12, "{point:?}");
    }
    assert_eq!((two.utilization, four.utilization), (8.0 / 12.0, 8.0 / 16.0));
    assert!((knary.parallelism() - 8.0).abs() < 1e-9 && (msort.parallelism() - 400.0).abs() < 1e-6);
    let envelope = summary.bound.envelope();
    assert_eq!((envelope.under.len(), envelope.points), (0, 4), "that of one worker is none");
    let fit = summary.bound.fit().unwrap();
    assert!(fit.points == 4 && (fit.c1 - 1.0).abs() < 1e-9, "{fit:?}");
    assert!((fit.c_inf - 2.0).abs() < 1e-9 && fit.margins.is_none(), "{fit:?}");
}

#[test]
fn a_rotation_on_a_slower_machine_changes_no_utilization() {
    let utilizations = |record: &Record| -> Vec<f64> {
        let of = |it: &Computation| it.points.iter().map(|at| at.utilization).collect::<Vec<_>>();
        Summary::of(record).bound.computations.iter().flat_map(of).collect()
    };
    let (even, mut uneven) = (record(), record());
    for sample in uneven.samples.iter_mut().filter(|sample| sample.repeat == 1) {
        sample.seconds *= 3.0;
    }
    for (one, other) in utilizations(&even).into_iter().zip(utilizations(&uneven)) {
        assert!((one - other).abs() < 1e-12, "{one}, {other}");
    }
}

#[test]
fn what_is_under_the_target_is_named() {
    let mut record = record();
    for sample in record.samples.iter_mut().filter(|sample| sample.workers == 4) {
        sample.seconds *= 2.0;
    }
    let summary = Summary::of(&record);
    assert_eq!(summary.bound.envelope().under.len(), 2);
    let text = table::text(&record, &summary);
    assert!(text.contains("(1.05, 2) is no lower envelope: 2 of 4 points lie under"), "{text}");
    assert!(text.contains("under it: knary 4,4,1 with P = 4"), "{text}");
    assert!(text.contains("under it: msort 3000 with P = 4"), "{text}");
    assert!(text.contains("the farthest is") && text.contains("all: c1 = "), "{text}");
}

#[test]
fn others_on_the_machine_are_named_if_they_take_much() {
    let mut record = record();
    let said = |record: &Record| table::text(record, &Summary::of(record));
    assert!(!said(&record).contains("others took"), "0.01 of 2 processors is not much");
    record.others = Some(0.25);
    assert!(said(&record).contains("NOTE: others took 0.25 processors"), "{}", said(&record));
    record.others = None;
    assert!(!said(&record).contains("others took"));
}

/// A critical path of which a part may be missing says nothing of the model.
#[test]
fn what_the_meter_does_not_follow_is_left_out() {
    let mut record = record();
    for sample in record.samples.iter_mut().filter(|sample| sample.app == "msort") {
        if let Some(metered) = &mut sample.metered {
            metered.uncarried = 1;
        }
    }
    let summary = Summary::of(&record);
    assert_eq!(summary.bound.envelope().points, 2);
    let text = table::text(&record, &summary);
    assert!(text.contains("left out") && text.contains("msort 3000\n"), "{text}");
    assert!(text.contains("all: too few points"), "{text}");
}

#[test]
fn it_can_be_measured_stopped_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let (json, out) = (folder.path().join("model.json"), folder.path().join("page"));
    let options = Options { plan: tiny_plan(), json: json.clone(), out, fresh: false };
    let finished = run(&options).unwrap();
    assert!(!finished.is_old);
    // Metered, and on three numbers of workers, twice, two inputs.
    assert_eq!(finished.record.samples.len(), 2 * 2 * 4);
    let metered = finished.record.samples.iter().filter_map(|sample| sample.metered);
    assert!(metered.clone().count() == 4 && metered.clone().all(|m| m.uncarried == 0));
    // 1 + 4 + 16 nodes, each with three children in parallel: two forks.
    assert!(finished.record.samples.iter().any(|s| s.metered.is_some_and(|m| m.forks == 42)));
    assert!(metered.clone().all(|m| m.critical_path <= m.work));
    let page = std::fs::read_to_string(&finished.page).unwrap();
    assert!(page.contains("<svg") && page.contains("c∞ = "), "{page}");
    assert!(run(&options).unwrap().is_old);
}

#[test]
fn plans_go_from_little_parallelism_to_much() {
    for (quick, processors) in [(true, 2), (false, 2), (false, 48)] {
        let plan = plan::plan(quick, 1, processors).unwrap();
        assert!(plan.workers.starts_with(&[1]) && plan.workers.contains(&64));
        assert!(plan.budget_seconds < if quick { 60.0 } else { 480.0 });
        assert!(plan.workers.contains(&(2 * processors)));
        let of = |app| plan.inputs.iter().filter(|(name, _)| name == app).count();
        assert!(of("knary") >= 8 && of("heat") >= 2 && of("msort") >= 2);
        for (app, size) in &plan.inputs {
            apps::problem(apps::find(app).unwrap(), size).unwrap();
        }
    }
    assert!(plan::subset(&plan::plan(true, 1, 2).unwrap()).contains("knary 8,4,2"));
}
