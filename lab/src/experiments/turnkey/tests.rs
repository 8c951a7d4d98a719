//! A made-up record, and runs with scripts for programs. Runs with this program's own binary are tested from outside.

use super::once::{Ground, PHASES, Setting, TURNKEY};
use super::plan::{Choice, plan, subset};
use super::record::{Measurement, Phase, Reading, Throttling, Turn};
use super::summary::AppSummary;
use super::*;
use crate::experiments::cliff::summary::Times;
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
            input("msort", "10K under 150"),
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
    let kept = |share_of_periods| {
        let used_up_per_s = share_of_periods * 10.0;
        Some(Throttling { used_up_per_s, share_of_periods, stopped: 0.125, worked: 1.25 })
    };
    let in_turn = |turnkey, two| {
        let turn = |(workers, seconds)| Turn { workers, seconds };
        Reading::Turns { turns: [(TURNKEY, turnkey), (1, 0.040), (2, two)].map(turn).to_vec() }
    };
    let all = [(0.020, 0.020), (0.021, 0.020), (0.090, 0.030)];
    read("msort", "10K", TURNKEY, &all.map(|(turnkey, two)| in_turn(turnkey, two)));
    let beside = [(TURNKEY, 0.060), (1, 0.050), (2, 0.064)];
    let turns = beside.map(|(workers, seconds)| Turn { workers, seconds }).to_vec();
    read("msort", "10K beside cycler", TURNKEY, &[Reading::Turns { turns }]);
    let under = |seconds, share| vec![Reading::Time { seconds, throttling: kept(share) }];
    read("msort", "10K under 150", TURNKEY, &under(0.030, 0.0));
    read("msort", "10K under 150", 2, &under(0.060, 0.25));
    let phases = |awake: f64| Reading::Phases {
        phases: PHASES
            .map(|parallelism| Phase { parallelism, working: 1.0, awake, rounds_per_s: 1234.0 })
            .to_vec(),
        workers: 2,
    };
    read("phases", "1, 4, 64", TURNKEY, &[phases(1.25), phases(1.5), phases(9.0)]);
    let quota = |rounds_per_s, worst_late_ms: f64, throttled_per_s| Reading::Quota {
        rounds_per_s,
        median_late_ms: 0.1,
        p99_late_ms: 2.0,
        worst_late_ms,
        throttled_per_s,
        throttling: kept(throttled_per_s / 10.0),
        round_ms: Some([0.2, 0.5, worst_late_ms + 1.0]),
    };
    let turnkey = [(3.0, 0.5), (7.0, 0.25), (2.0, 0.75)];
    read("quota", "150", TURNKEY, &turnkey.map(|(late, used_up)| quota(6000.0, late, used_up)));
    read("quota", "150", 2, &[quota(5000.0, 27.0, 10.0)]);
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
    let [alone, beside, under] = &summary.apps[..] else { panic!("{summary:?}") };
    let all = [Setting::Alone, Setting::Beside, Setting::Under(150)];
    assert_eq!(summary.settings(), all);
    assert_eq!((alone.best().unwrap().0, beside.best().unwrap().0), (2, 1));
    assert_eq!((alone.turns.len(), alone.fixed.len(), beside.turns.len()), (3, 2, 1));
    // Disturbed are those that took turns with each other.
    assert_eq!(alone.turnkey.unwrap().median, 0.021);
    assert_eq!(under.ratio(), Some(0.5));
    let shares: Vec<_> = under.throttling.iter().map(|(p, it)| (*p, it.share_of_periods)).collect();
    assert_eq!(shares, [(TURNKEY, 0.0), (2, 0.25)]);
    assert!(alone.throttling.is_empty());
    assert!((alone.ratio().unwrap() - 1.05).abs() < 1e-9);
    assert!((beside.ratio().unwrap() - 1.2).abs() < 1e-9);
    let worst = |setting| summary.worst(setting, 1).unwrap();
    assert!(summary.worst(Setting::Beside, 2).is_none());
    assert_eq!([alone, beside, under].map(AppSummary::readings), [3, 1, 1]);
    assert_eq!(summary.readings, (1, 3));
    // Of two that keep as many awake; and one that does not.
    let times = |seconds| Times::of(vec![seconds]).unwrap();
    let fixed = vec![(1, times(9.0)), (2, times(0.020)), (4, times(0.040))];
    let equals = AppSummary { fixed, ..under.clone() }.over_equals().unwrap();
    assert!((equals - 1.0).abs() < 1e-9, "{equals}");
    assert_eq!([alone, beside].map(AppSummary::over_equals), [None; 2]);
    assert_eq!(AppSummary { fixed: vec![(1, times(9.0))], ..under.clone() }.over_equals(), None);
    assert_eq!(worst(Setting::Beside).0.size, "10K");
    assert!(worst(Setting::Beside).1 > worst(Setting::Alone).1);
}

#[test]
fn medians_and_the_worst() {
    let summary = Summary::of(&record());
    let (workers, phases) = &summary.phases[0];
    assert_eq!((*workers, phases.len(), phases[0].awake), (TURNKEY, 3, 1.5));
    let [turnkey, two] = summary.quotas[..] else { panic!("{summary:?}") };
    assert_eq!((turnkey.workers, turnkey.worst_late_ms, turnkey.throttled_per_s), (0, 7.0, 0.5));
    assert_eq!((two.workers, two.worst_late_ms), (2, 27.0));
    assert_eq!(turnkey.round_ms, Some([0.2, 0.5, 8.0]));
    assert_eq!(turnkey.throttling.unwrap().share_of_periods, 0.05);
    assert_eq!(summary.best_under(150), Some(&two));
    assert_eq!(summary.best_under(100), None);
    let moved = summary.moved.unwrap();
    assert_eq!((moved.lowered_after_s, moved.raised_after_s), (0.25, 0.5));
}

#[test]
fn an_empty_record_has_an_empty_summary() {
    let mut record = record();
    record.measurements.clear();
    let summary = Summary::of(&record);
    assert!(summary.apps.is_empty() && summary.phases.is_empty() && summary.quotas.is_empty());
    assert!(summary.moved.is_none() && summary.worst(Setting::Alone, 0).is_none());
    assert_eq!(summary.readings, (0, 0));
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
        "applications under a quota of 1.50",
        "each figure is of 1 to 3 readings",
        "mean of more",
        "used up (stopped): turnkey 0% (0.125), P = 2 25% (0.125)",
        "1.50, turnkey        6000      1.200",
        "1.50, P = 2",
        "after 0.250 s",
        "after 0.500 s",
    ] {
        assert!(text.contains(word), "{word}:\n{text}");
    }
}

#[test]
fn a_plan_without_control_groups_says_why() {
    let choice = Choice { quick: true, seed: 1, ..Choice::default() };
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
fn kinds_are_chosen() {
    let ground = || Ground::of_version(2);
    let of = |kinds: &[&str], ground| {
        let kinds = kinds.iter().map(|&kind| kind.to_owned()).collect();
        let plan = super::plan::plan(&Choice { kinds, ..Choice::default() }, ground)?;
        plan.subjects()
    };
    let all = of(&[], Ok(ground())).unwrap();
    let each = ["apps", "under", "phases", "quota", "moved"].map(|kind| of(&[kind], Ok(ground())));
    let each: Vec<Vec<_>> = each.into_iter().map(|subjects| subjects.unwrap()).collect();
    assert_eq!(each.iter().map(Vec::len).sum::<usize>(), all.len());
    assert!(each.iter().flatten().all(|subject| all.contains(subject)));
    assert_eq!(each[1].len(), each[0].len(), "two settings each");
    assert!(each[1].iter().all(super::once::Subject::needs_group));
    let refused = |found| matches!(found, Err(Fault::Input(_)));
    assert!(refused(of(&["rest"], Ok(ground()))));
    assert!(refused(of(&["under", "moved"], Err("not ours".to_owned()))));
}

/// A figure that was read once tells little.
#[test]
fn a_quick_run_has_time_to_measure_thrice() {
    use super::once::Subject;
    let of = |kinds: &[&str]| {
        let kinds = kinds.iter().map(|&kind| kind.to_owned()).collect();
        let choice = Choice { quick: true, kinds, ..Choice::default() };
        super::plan::plan(&choice, Ok(Ground::of_version(2))).unwrap()
    };
    let plan = of(&[]);
    let seconds = |cell: &Cell| {
        let subject = Subject::find(&cell.app, &cell.size).unwrap();
        let its = plan.seconds_of(&subject);
        // Each phase twice; rounds begin before anything is measured; a move, there and back, and rounds in both groups.
        let all = match subject {
            Subject::Phases => its * 2.0 * PHASES.len() as f64,
            Subject::Quota { .. } => its + 0.3,
            Subject::Moved => its * 3.0,
            Subject::App { .. } => its,
        };
        // And each program is started.
        all + 0.05
    };
    let rotation: f64 = plan.cells().unwrap().iter().map(seconds).sum();
    assert!(rotation * 3.0 < plan.budget_seconds, "{rotation}");
    let is_under =
        |subject: &Subject| matches!(subject, Subject::App { setting: Setting::Under(_), .. });
    assert!(!plan.subjects().unwrap().iter().any(is_under));
    assert!(of(&["under"]).subjects().unwrap().iter().all(is_under), "if that is asked for");
}

/// Of the first kind of record, which did not say how the quota was kept.
#[test]
fn an_earlier_record_is_read() {
    let earlier = r#"{"quota":{"rounds_per_s":1800.5,"median_late_ms":0.1,"p99_late_ms":0.5,"worst_late_ms":4.5,"throttled_per_s":6.0}}"#;
    let reading: Reading = serde_json::from_str(earlier).unwrap();
    assert!(reading.is_of(&super::once::Subject::Quota { hundredths: 100 }, &[1, 2]));
    assert_eq!(serde_json::to_string(&reading).unwrap(), earlier);
    let mut record = record();
    let is_quota = |found: &&mut Measurement| found.cell.app == "quota";
    record.measurements.iter_mut().filter(is_quota).for_each(|it| it.reading = reading.clone());
    let text = table::text(&record, &Summary::of(&record));
    assert!(text.contains("1.50, turnkey        1800"), "{text}");
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
    // By turns, and each of the numbers once.
    let alone = Reading::Time { seconds: 1.0, throttling: None };
    assert!(broken(&|it| it.measurements[0].reading = alone.clone()).is_some());
    let of = |numbers: &[usize], seconds| {
        let turn = |&workers: &usize| Turn { workers, seconds };
        let turns = Reading::Turns { turns: numbers.iter().map(turn).collect() };
        broken(&|it| it.measurements[0].reading = turns.clone())
    };
    assert_eq!(of(&[TURNKEY, 1, 2], 1.0), None);
    assert!(of(&[TURNKEY, 1, 2], 0.0).is_some());
    for numbers in [&[][..], &[1, 2], &[TURNKEY, 2], &[TURNKEY, 1, 2, 2], &[TURNKEY, 1, 1, 2]] {
        assert!(of(numbers, 1.0).is_some(), "{numbers:?}");
    }
    let under = |throttling| {
        let reading = Reading::Time { seconds: 1.0, throttling };
        broken(&|it| {
            let found = it.measurements.iter_mut().find(|it| it.cell.size == "10K under 150");
            found.unwrap().reading = reading.clone();
        })
    };
    assert_eq!(under(Some(Throttling::default())), None);
    assert!(under(None).is_some());
    let not_a_number = Throttling { stopped: f64::NAN, ..Throttling::default() };
    assert!(under(Some(not_a_number)).is_some());
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
    let turns = [0, 1, 2].map(|p| format!(r#"{{\"workers\":{p},\"seconds\":0.5}}"#)).join(",");
    let script = format!(r#"echo "{{\"reading\":{{\"turns\":{{\"turns\":[{turns}]}}}}}}""#);
    let good = run("good", &script).unwrap();
    assert_eq!((good.record.measurements.len(), good.record.missing.len()), (1, 0));
    assert_eq!(good.summary.apps[0].ratio(), Some(1.0));
    let read: Record = files::read(&folder.path().join("good.json")).unwrap();
    assert_eq!(read, good.record);
    for (name, script, why) in [
        ("other", r#"echo "{\"reading\":{\"time\":{\"seconds\":-1}}}""#, "something else"),
        ("nothing", r#"echo "{\"reading\":{\"turns\":{\"turns\":[]}}}""#, "something else"),
        ("noise", "echo noise", "it printed 'noise'"),
        ("bad", "echo sorry >&2; exit 3", "sorry"),
    ] {
        // Nothing is left.
        let Err(Fault::Run(said)) = run(name, script) else { panic!("{name} is recorded") };
        assert!(said.contains(why), "{said}");
    }
}
