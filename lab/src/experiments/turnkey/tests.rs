//! Figures of a made-up record, plans, and readings that several contestants share.

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
        add(&mut record, under, of, "used up per s", &[0.0, 1.0, 3.0]);
        add(&mut record, under, of, "share of periods", &[0.25; 3]);
    }
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
    let [alone, _, _, under] = &report.sections[..] else { panic!("{report:?}") };
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
    assert_eq!(kept.rows[0][1..], ["3", "1.00", "0.25", "", ""]);
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

fn planned(quick: bool, quotas: bool, ground: Result<Ground, String>) -> Outcome<Plan> {
    let course = Course { quick, json: None, out: None, seed: 1, fresh: false };
    Turnkey { quotas, ..Turnkey::default() }.plan_on(&course, ground)
}

fn subjects(plan: &Plan) -> Vec<Subject<'_>> {
    let mut names: Vec<&str> = plan.cells.iter().map(|cell| cell.subject.as_str()).collect();
    names.dedup();
    names.into_iter().map(|name| Subject::parse(name).unwrap()).collect()
}

#[test]
fn a_plan_needs_control_groups_for_quotas_only() {
    for (quick, repeats) in [(false, 40), (true, 8)] {
        let alone = planned(quick, false, Err("not allowed".to_owned())).unwrap();
        let under = planned(quick, true, Ok(Ground::of_version(2))).unwrap();
        let is_under = |it: &Subject<'_>| matches!(it.setting, Setting::Under(_));
        assert!(!subjects(&alone).iter().any(is_under) && subjects(&under).iter().all(is_under));
        assert_eq!(subjects(&under).len(), subjects(&alone).len(), "two settings each");
        for plan in [&alone, &under] {
            assert!(plan.cells.iter().all(|cell| cell.repeats == repeats));
            let first = |it: &Subject<'_>| {
                plan.cells.iter().find(|cell| cell.subject == it.to_string()).map(of)
            };
            assert!(subjects(plan).iter().all(|it| first(it) == Some(TURNKEY)));
        }
        let Err(Fault::Input(why)) = planned(quick, true, Err("no".to_owned())) else {
            panic!("there are no quotas")
        };
        assert!(why.contains("control groups: no"), "{why}");
    }
    let none = Turnkey { repeats: Some(0), ..Turnkey::default() };
    let course = Course { quick: true, json: None, out: None, seed: 1, fresh: false };
    assert!(matches!(none.plan_on(&course, Err(String::new())), Err(Fault::Input(_))));
}

/// How long a rotation of a plan takes.
fn duration(plan: &Plan) -> f64 {
    let of = |subject: Subject<'_>| {
        let (its, name) = (seconds(plan.quick, subject.setting), subject.to_string());
        let contestants = plan.cells.iter().filter(|cell| cell.subject == name).count() as f64;
        match subject.setting {
            // A rest, a warm-up and the rest of a period before each long turn, and what is left of
            // a period or a computation after it. A program is started in 0.05 s.
            Setting::Under(_) => (its + 0.45) * contestants + 0.05,
            // The last turns, the input, and the cycler's head start.
            _ => its + 0.2 + 0.05,
        }
    };
    subjects(plan).into_iter().map(of).sum()
}

/// Of fewer rotations there is no interval.
#[test]
fn a_run_has_time_for_rotations_enough() {
    for (quick, quotas, rotations) in
        [(true, false, FEWEST), (false, false, 40), (false, true, FEWEST)]
    {
        let plan = planned(quick, quotas, Ok(Ground::of_version(2))).unwrap();
        let all = duration(&plan) * rotations as f64;
        assert!(all <= plan.budget_seconds && plan.budget_seconds < 3600.0, "{all} {quick}");
    }
}
