//! Figures of a made-up record, plans, and readings that several contestants share.

use super::once::PHASES;
use super::*;
use crate::experiment::estimate::FEWEST;
use crate::experiment::record::Sample;

/// Enough for an interval.
const ROTATIONS: usize = 8;

const RAYON: Contestant<'static> = Contestant { runtime: "rayon", workers: 2 };

fn add(record: &mut Record, subject: &str, of: Contestant<'_>, metric: &str, values: &[f64]) {
    record.plan.add(subject, of.runtime, of.workers, values.len());
    record.samples.extend(values.iter().enumerate().map(|(repeat, &value)| Sample {
        experiment: "turnkey".to_owned(),
        subject: subject.to_owned(),
        runtime: of.runtime.to_owned(),
        workers: of.workers,
        repeat,
        metric: metric.to_owned(),
        value,
    }));
}

/// Alone the second number of workers is the best one, by 2 % with `msort` and by 5 % with `knary`,
/// but in one rotation that was disturbed; beside the cycler they are equal, and nothing is
/// certain; under the quota rayon takes twice as long.
fn record() -> Record {
    let mut record = Record::new("turnkey", Plan::default());
    let mut times = |subject: &str, of: Contestant<'_>, seconds: &dyn Fn(usize) -> f64| {
        let seconds: Vec<f64> = (0..ROTATIONS).map(seconds).collect();
        add(&mut record, subject, of, "seconds", &seconds);
    };
    let speed = |rotation| (1 + rotation) as f64;
    for (subject, over) in [("msort 10K", 1.02), ("knary 3,2,1", 1.05)] {
        let in_rotation = |seconds: f64, disturbed: f64| {
            move |rotation| if rotation == 3 { disturbed } else { seconds * speed(rotation) }
        };
        times(subject, TURNKEY, &in_rotation(0.020 * over, 0.090));
        times(subject, fixed(1), &in_rotation(0.040, 0.040));
        times(subject, fixed(2), &in_rotation(0.020, 0.030));
    }
    let beside = "msort 10K beside cycler";
    times(beside, TURNKEY, &|_| 0.050);
    times(beside, fixed(1), &|_| 0.050);
    times(beside, fixed(2), &|rotation| [0.040, 0.045, 0.055, 0.060][rotation % 4]);
    let under = "msort 10K under 150";
    let all = [(TURNKEY, 0.030), (fixed(1), 0.060), (fixed(2), 0.030), (RAYON, 0.060)];
    for (of, seconds) in all {
        times(under, of, &|_| seconds);
    }
    for (of, _) in all {
        add(&mut record, under, of, "share of periods", &[0.25; ROTATIONS]);
    }
    add(&mut record, "phases", TURNKEY, "awake at 4", &[1.25, 1.5, 9.0]);
    add(&mut record, "quota 150", TURNKEY, "rounds per s", &[6000.0; 3]);
    add(&mut record, "quota 150", fixed(2), "rounds per s", &[5000.0; 2]);
    add(&mut record, "quota 150", RAYON, "rounds per s", &[3000.0]);
    add(&mut record, "quota 150", TURNKEY, "worst late ms", &[3.0, 7.0, 2.0]);
    add(&mut record, "moved", TURNKEY, "lowered after s", &[0.25, 0.125]);
    // As a plan has it, each cell once.
    let mut cells: Vec<Cell> = Vec::new();
    for cell in std::mem::take(&mut record.plan.cells) {
        if !cells.iter().any(|known| (&known.subject, of(known)) == (&cell.subject, of(&cell))) {
            cells.push(cell);
        }
    }
    record.plan.cells = cells;
    record
}

#[test]
fn what_turnkey_takes_is_compared_with_the_best_number_and_with_each() {
    let record = record();
    let report = Turnkey::report(&record);
    let headline = "Within 3 % of the best number of workers, with none given: alone: 0 met, 1 \
                    missed, 1 not decided; beside a cycler: 0 met, 0 missed, 1 not decided; under \
                    a quota of 1.50: 1 met, 0 missed, 0 not decided";
    assert_eq!(report.headline, headline);
    let [alone, _, _, under, ..] = &report.sections[..] else { panic!("{report:?}") };
    let [best, each, _] = &alone.tables[..] else { panic!("{alone:?}") };
    // The rotation that was disturbed is the outermost of eight.
    assert_eq!(best.rows[0][2..], ["1.020", "1.020 to 3.000", "8", "2", "not decided"]);
    assert_eq!(best.rows[1][2..], ["1.050", "1.050 to 3.000", "8", "2", "missed"]);
    assert_eq!(best.rows[2][..3], ["geometric mean of 2", "", "1.035"]);
    assert_eq!(each.columns[1..], ["P = 1", "P = 2"]);
    assert_eq!(each.rows[0][1], "0.510 (0.510 to 2.250)");
    let [best, each, kept] = &under.tables[..] else { panic!("{under:?}") };
    assert_eq!(best.rows[0][1..], ["30.0", "1.000", "1.000 to 1.000", "8", "2", "met"]);
    assert_eq!(each.rows[0][3], "0.500 (0.500 to 0.500)");
    let names: Vec<&str> = kept.rows.iter().map(|row| row[0].as_str()).collect();
    let under = |words| format!("msort 10K under 150, {words}");
    assert_eq!(names, ["turnkey", "P = 1", "P = 2", "rayon 2"].map(under));
    assert_eq!(kept.rows[0][1..], ["8", "", "0.25", "", ""]);
}

#[test]
fn medians_and_the_worst() {
    let report = Turnkey::report(&record());
    let [.., phases, rounds, moved] = &report.sections[..] else { panic!("{report:?}") };
    assert_eq!(phases.tables[0].columns[5], "awake at 4");
    assert_eq!(phases.tables[0].rows[0][5], "1.50");
    let [best, each, figures] = &rounds.tables[..] else { panic!("{rounds:?}") };
    // What it takes for a round: 1/6000 s over 1/5000 s; there is no interval of two.
    assert_eq!(each.rows[0], ["quota 150", "0.833", "0.500"]);
    assert_eq!(best.rows[0][..6], ["quota 150", "0.17", "0.833", "", "2", "2"]);
    assert_eq!(figures.columns[8], "worst late ms");
    assert_eq!([&figures.rows[0][2], &figures.rows[0][8]], ["6000", "7.00"]);
    let [turnkey] = &moved.tables[0].rows[..] else { panic!("{moved:?}") };
    assert_eq!(turnkey[..4], ["moved, turnkey", "2", "", "0.25"]);
}

#[test]
fn what_several_share_is_measured_once_and_given_to_each() {
    let (mut plan, mut readings) = (Plan::default(), Readings::new());
    for (of, seconds) in [(TURNKEY, 1.0), (fixed(1), 2.0), (fixed(10), 3.0)] {
        plan.add("msort 10K", of.runtime, of.workers, 2);
        readings.insert(format!("{of} seconds"), seconds);
    }
    let child = Cell {
        subject: "msort 10K for 0.8 s".to_owned(),
        runtime: "locksley:0,locksley:1,locksley:10".to_owned(),
        workers: 1,
        repeats: 5,
    };
    let measured = |found: Result<Readings, String>| {
        let mut turnkey = Turnkey { latest: Some((child.clone(), found)), ..Turnkey::default() };
        let measure = |cell| turnkey.measure(&plan, cell, 5).unwrap();
        plan.cells.iter().map(measure).collect::<Vec<_>>()
    };
    let seconds = |value| Ok([("seconds".to_owned(), value)].into());
    assert_eq!(measured(Ok(readings)), [1.0, 2.0, 3.0].map(seconds));
    assert_eq!(measured(Err("lost".to_owned())), [(); 3].map(|()| Err("lost".to_owned())));
}

fn planned(quick: bool, kinds: &[&str], ground: Result<Ground, String>) -> Outcome<Plan> {
    let kinds = kinds.iter().map(|&kind| kind.to_owned()).collect();
    let course = Course { quick, json: None, out: None, seed: 1, fresh: false };
    Turnkey { kinds, ..Turnkey::default() }.plan_on(&course, ground)
}

fn chosen(quick: bool, kinds: &[&str]) -> Plan {
    planned(quick, kinds, Ok(Ground::of_version(2))).unwrap()
}

fn subjects(plan: &Plan) -> Vec<Subject<'_>> {
    let mut names: Vec<&str> = plan.cells.iter().map(|cell| cell.subject.as_str()).collect();
    names.dedup();
    names.into_iter().map(|name| Subject::parse(name).unwrap()).collect()
}

#[test]
fn a_plan_without_control_groups_says_why() {
    let plan = planned(true, &[], Err("not allowed".to_owned())).unwrap();
    assert!(!subjects(&plan).iter().any(|subject| subject.needs_group()));
    assert_eq!(plan.left_out["quotas and moves"], "not allowed");
    let Err(Fault::Input(why)) = planned(false, &["under", "moved"], Err("no".to_owned())) else {
        panic!("nothing of that can be measured")
    };
    assert!(why.contains("control groups: no"), "{why}");
    let none = Turnkey { repeats: Some(0), ..Turnkey::default() };
    let course = Course { quick: true, json: None, out: None, seed: 1, fresh: false };
    assert!(matches!(none.plan_on(&course, Err(String::new())), Err(Fault::Input(_))));
}

#[test]
fn kinds_are_chosen() {
    let (all, each) = (chosen(false, &[]), KINDS.map(|kind| chosen(false, &[kind])));
    assert_eq!(each.iter().map(|plan| plan.cells.len()).sum::<usize>(), all.cells.len());
    assert!(each.iter().flat_map(|plan| &plan.cells).all(|cell| all.cells.contains(cell)));
    let [apps, under, ..] = each.each_ref().map(subjects);
    assert_eq!(under.len(), apps.len(), "two settings each");
    assert!(under.iter().all(|subject| subject.needs_group()));
    let refused = planned(false, &["rest"], Ok(Ground::of_version(1)));
    assert!(matches!(refused, Err(Fault::Input(_))));
}

#[test]
fn turnkey_comes_first_and_pools_that_never_sleep_are_measured_under_quotas_only() {
    let plan = chosen(false, &[]);
    for subject in subjects(&plan) {
        let name = subject.to_string();
        let cells: Vec<&Cell> = plan.cells.iter().filter(|cell| cell.subject == name).collect();
        assert_eq!(of(cells[0]), TURNKEY);
        let others = cells.iter().filter(|cell| cell.runtime != "locksley").count();
        assert_eq!(others > 0, subject.is_under(), "{name}");
        let is_seldom = matches!(subject, Subject::Phases | Subject::Moved);
        assert!(cells.iter().all(|cell| cell.repeats == if is_seldom { 5 } else { 40 }));
    }
}

/// How long a rotation of a plan takes, and all that is measured less often once.
fn durations(plan: &Plan) -> [f64; 2] {
    let mut all = [0.0; 2];
    for subject in subjects(plan) {
        let (its, name) = (seconds(plan.quick, subject), subject.to_string());
        let contestants = plan.cells.iter().filter(|cell| cell.subject == name).count() as f64;
        // Each phase twice; rounds begin before anything is measured; a move, there and back, and
        // rounds in both groups; a rest, a warm-up and the rest of a period before each long turn,
        // and what is left of a period or a computation after it. A program is started in 0.05 s.
        let time = match subject {
            Subject::Phases => (its * 2.0 * PHASES.len() as f64 + 0.05) * contestants,
            Subject::Quota(_) => (its + 0.25 + 0.05) * contestants,
            Subject::Moved => its * 3.0 + 0.05,
            Subject::App(_, Setting::Under(_)) => (its + 0.45) * contestants + 0.05,
            // The last turns, the input, and the cycler's head start.
            Subject::App(..) => its + 0.2 + 0.05,
        };
        all[usize::from(matches!(subject, Subject::Phases | Subject::Moved))] += time;
    }
    all
}

/// Of fewer rotations there is no interval.
#[test]
fn a_run_has_time_for_rotations_enough() {
    let plan = chosen(true, &[]);
    let [rotation, rest] = durations(&plan);
    let all = rotation * FEWEST as f64 + rest;
    assert!(all <= plan.budget_seconds, "{rotation} {rest}");
    let is_under = |subject: &Subject<'_>| matches!(subject, Subject::App(_, Setting::Under(_)));
    assert!(!subjects(&plan).iter().any(is_under));
    let under = chosen(true, &["under"]);
    assert!(subjects(&under).iter().all(is_under), "if that is asked for");
    // The applications without quotas, all rotations, in a quarter of an hour; with quotas, and all
    // else, as many as it takes in an hour.
    let [rotation, _] = durations(&chosen(false, &["apps"]));
    assert!(rotation * 40.0 <= 900.0, "{rotation}");
    for kinds in [&["under"][..], &[]] {
        let plan = chosen(false, kinds);
        let [rotation, rest] = durations(&plan);
        let all = rotation * 8.0 + rest * 5.0;
        assert!(all <= plan.budget_seconds && plan.budget_seconds < 3600.0, "{rotation} {rest}");
    }
}
