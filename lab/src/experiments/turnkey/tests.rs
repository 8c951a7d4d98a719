//! Figures of a made-up record, plans, and measurements in this process.

use super::*;
use crate::experiment::estimate::FEWEST;
use crate::experiment::record::Sample;

/// Enough for an interval.
const ROTATIONS: usize = 8;

fn add(record: &mut Record, subject: &str, workers: usize, metric: &str, values: &[f64]) {
    record.plan.add_once(subject, LOCKSLEY, workers, values.len());
    record.samples.extend(values.iter().enumerate().map(|(repeat, &value)| Sample {
        experiment: "turnkey".to_owned(),
        subject: subject.to_owned(),
        runtime: LOCKSLEY.to_owned(),
        workers,
        repeat,
        metric: metric.to_owned(),
        value,
    }));
}

/// Alone the second number of workers is the best one, by 2 % with `msort` and by 5 % with `knary`,
/// but in one rotation that was disturbed; beside the cycler they are equal, and nothing is
/// certain; under the quota one worker takes twice as long.
fn record() -> Record {
    let mut record = Record::new("turnkey", Plan::default());
    let mut times = |subject: &str, workers: usize, seconds: &dyn Fn(usize) -> f64| {
        let seconds: Vec<f64> = (0..ROTATIONS).map(seconds).collect();
        add(&mut record, subject, workers, "seconds", &seconds);
    };
    let speed = |rotation| (1 + rotation) as f64;
    for (subject, over) in [("msort 10K", 1.02), ("knary 3,2,1", 1.05)] {
        let in_rotation = |seconds: f64, disturbed: f64| {
            move |rotation| if rotation == 3 { disturbed } else { seconds * speed(rotation) }
        };
        times(subject, CHOSEN, &in_rotation(0.020 * over, 0.090));
        times(subject, 1, &in_rotation(0.040, 0.040));
        times(subject, 2, &in_rotation(0.020, 0.030));
    }
    let beside = "msort 10K beside cycler";
    times(beside, CHOSEN, &|_| 0.050);
    times(beside, 1, &|_| 0.050);
    times(beside, 2, &|rotation| [0.040, 0.045, 0.055, 0.060][rotation % 4]);
    let under = "msort 10K under 150";
    for (workers, seconds) in [(CHOSEN, 0.030), (1, 0.060), (2, 0.030)] {
        times(under, workers, &|_| seconds);
    }
    add(&mut record, under, CHOSEN, "used up per s", &[0.0, 1.0, 3.0]);
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
    let [alone, _, _, under, kept, ..] = &report.sections[..] else { panic!("{report:?}") };
    let rows = &alone.tables[0].rows;
    assert_eq!(alone.tables[0].columns[7..], ["P = 1", "P = 2"]);
    // The rotation that was disturbed is the outermost of eight.
    let of_msort = ["1.020", "1.02 to 3.00", "8", "2", "not decided", "0.510", "1.020"];
    assert_eq!(rows[0][2..], of_msort);
    assert_eq!(rows[1][2..7], ["1.050", "1.05 to 3.00", "8", "2", "missed"]);
    assert_eq!(rows[2][..3], ["geometric mean of 2", "", "1.035"]);
    let of_quota = ["30.0", "1.000", "1.00 to 1.00", "8", "2", "met", "0.500", "1.000"];
    assert_eq!(under.tables[0].rows[0][1..], of_quota);
    assert_eq!(kept.tables[0].rows[0][..3], ["msort 10K under 150, P = 0", LOCKSLEY, "1.00"]);
}

fn planned(quick: bool, quotas: bool) -> Plan {
    let course = Course { quick, ..Course::default() };
    Turnkey { quotas }.plan_of_all(&course).unwrap()
}

fn settings(plan: &Plan) -> Vec<Setting> {
    plan.cells.iter().map(|cell| parse(&cell.subject).unwrap().1).collect()
}

#[test]
fn a_plan_has_quotas_if_asked_for_and_turnkey_first() {
    for (quick, repeats, numbers) in [(false, 40, 5), (true, 8, 4)] {
        let (alone, under) = (planned(quick, false), planned(quick, true));
        let is_under = |it: &Setting| matches!(it, Setting::Under(_));
        assert!(!settings(&alone).iter().any(is_under) && settings(&under).iter().all(is_under));
        assert_eq!(under.cells.len(), alone.cells.len(), "two settings each");
        for plan in [&alone, &under] {
            assert!(plan.cells.iter().all(|cell| cell.repeats == repeats));
            for (place, cell) in plan.cells.iter().enumerate() {
                assert_eq!(cell.workers == CHOSEN, place % numbers == 0);
            }
        }
    }
    let none = Course { repeats: Some(0), ..Course::default() };
    assert!(matches!(Turnkey::default().plan(&none), Err(Fault::Input(_))));
}

/// Of fewer rotations there is no interval.
#[test]
fn a_run_has_time_for_rotations_enough() {
    for (quick, quotas, rotations) in
        [(true, false, FEWEST), (false, false, 40), (false, true, FEWEST)]
    {
        let plan = planned(quick, quotas);
        // With a program's start, its input, warming up, and the rest of a period.
        let each = settings(&plan).into_iter().map(|it| it.time().as_secs_f64() + 0.15);
        let all = each.sum::<f64>() * rotations as f64;
        assert!(all <= plan.budget_seconds && plan.budget_seconds < 3600.0, "{all} {quick}");
    }
}

#[test]
fn a_subject_names_an_application_and_its_surroundings() {
    let all = [
        ("msort 10K", Setting::Alone),
        ("msort 10K beside cycler", Setting::Beside),
        ("msort 10K under 150", Setting::Under(150)),
    ];
    for (subject, setting) in all {
        assert_eq!(parse(subject).unwrap(), ("msort 10K", setting));
    }
    for wrong in [
        "msort many",
        "msort 10K under",
        "msort 10K under x",
        "msort 10K under 1",
        "msort many under 100",
        "nothing 1",
    ] {
        assert!(matches!(parse(wrong), Err(Fault::Input(_))), "{wrong}");
    }
}

#[test]
fn there_is_a_computation_however_short_the_time_and_more_if_it_is_longer() {
    let mut number = 0.0;
    let mut compute = || {
        number += 1.0;
        Ok(number)
    };
    assert_eq!(repeat(&mut compute, Duration::ZERO, None).unwrap(), [1.0]);
    let begun = Instant::now();
    let time = Duration::from_millis(2);
    let found = repeat(&mut compute, time, None).unwrap();
    assert!(begun.elapsed() >= time && found[0] == 2.0);
    let mut wrong = || Err(Fault::run("wrong"));
    assert!(repeat(&mut wrong, time, None).is_err());
}
