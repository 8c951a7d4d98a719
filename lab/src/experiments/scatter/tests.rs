//! Plans, and what is derived from a made-up record.

use super::once::*;
use super::*;
use crate::experiment::record::Sample;

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    run: crate::experiment::Run<Scatter>,
}

fn planned(arguments: &[&str]) -> Outcome<Plan> {
    let line = <Line as clap::Parser>::parse_from([&["scatter"], arguments].concat());
    line.run.experiment.plan(&line.run.course)
}

/// Two networks of experiment 1, one each of 2 and 4, and both of utilization.
fn record() -> Record {
    let mut plan = Plan::default();
    for (experiment, networks) in [
        ("1", "50x10x1000000 50x100x10000"),
        ("2", "8x5x100000"),
        ("4", "17x5x800000"),
        (UTILIZATION, "250x4x100000 250x40x10000"),
    ] {
        plan.parameters.insert(parameter(experiment), networks.to_owned());
    }
    let mut record = Record::new("scatter", plan);
    (record.machine.processors, record.machine.quota) = (2, None);
    for (subject, runtime, workers, times) in [
        ("50x10x1000000", LAST, 1, &[1.0, 0.9, 5.0][..]),
        ("50x10x1000000", LAST, 2, &[0.5]),
        ("50x10x1000000", CURRENT, 2, &[0.5]),
        ("50x10x1000000", NORNIR_LAST, 2, &[0.8]),
        ("50x100x10000", LAST, 1, &[1.2]),
        ("50x100x10000", LAST, 2, &[0.72]),
        ("50x100x10000", CURRENT, 2, &[0.8]),
        ("8x5x100000", LAST, 1, &[0.004]),
        ("8x5x100000", LAST, 2, &[0.0021]),
        ("8x5x100000", CURRENT, 2, &[0.002]),
        ("17x5x800000", LAST, 1, &[0.068]),
        ("17x5x800000", LAST, 2, &[0.036]),
        ("250x4x100000", SERIAL, 1, &[0.1]),
        ("250x4x100000", STATIC, 2, &[0.05]),
        ("250x4x100000", LAST, 2, &[0.051]),
        ("250x4x100000", CURRENT, 2, &[0.0625]),
        ("250x40x10000", SERIAL, 1, &[0.1]),
        ("250x40x10000", LAST, 2, &[0.0625]),
    ] {
        record.plan.add(subject, runtime, workers, times.len());
        for (repeat, &seconds) in times.iter().enumerate() {
            let steals = if workers == 1 { 0.0 } else { 1000.0 };
            for (metric, value) in [
                (SECONDS, seconds),
                (DIVISIONS, 100.0),
                (STEALS, steals),
                (FAILED, 3.0 * steals),
                (RUNNING, 2.0),
            ] {
                let experiment = record.experiment.clone();
                let [subject, runtime, metric] = [subject, runtime, metric].map(str::to_owned);
                let sample =
                    Sample { experiment, subject, runtime, workers, repeat, metric, value };
                record.samples.push(sample);
            }
        }
    }
    record
}

/// The rows of the table with this title.
fn rows(record: &Record, section: &str) -> Vec<Vec<String>> {
    let report = Scatter::report(record);
    let section = report.sections.iter().find(|it| it.title.starts_with(section)).unwrap();
    section.tables[0].rows.clone()
}

#[test]
fn speedups_are_over_the_time_with_one_worker() {
    let record = record();
    let coarse = "n = 50, w = 1000 µs, m = 10";
    let fine = "n = 50, w = 10 µs, m = 100";
    let expected = [
        [coarse, "1.000", "2.000", "2.00", "2.000", "2.00", "1.250", "2.00", "", "", "1.000"],
        [fine, "1.200", "1.667", "2.00", "1.500", "2.00", "", "", "", "", "0.900"],
    ];
    let found = rows(&record, "experiment 1");
    assert_eq!([&found[0][..11], &found[1][..11]], [&expected[0][..], &expected[1][..]]);
    assert_eq!([&found[0][11..], &found[1][11..]], [["", ""], ["", ""]]);
    let saw = "n = 17, w = 800 µs, m = 5";
    let expected = [&[saw, "0.068", "1.889", "2.00"][..], &[""; 9]].concat();
    assert_eq!(rows(&record, "experiment 4"), [expected]);
    assert!(rows(&record, "experiment 3").is_empty());
    let [hundred, ten] = ["n = 250, w = 100 µs, m = 4", "n = 250, w = 10 µs, m = 40"];
    let found = rows(&record, "experiment utilization");
    assert_eq!(found[0][..6], [hundred, "0.100", "0.980", "2.00", "0.800", "2.00"]);
    assert_eq!(found[0][6..], ["", "", "", "", "0.816", "", "1.000"]);
    assert_eq!(found[1][..4], [ten, "0.100", "0.800", "2.00"]);
    assert!(found[1][4..].iter().all(String::is_empty));
    // Speedup and attempts of one number of processes, or of one work, in each experiment.
    let report = Scatter::report(&record);
    assert_eq!(report.sections.iter().map(|section| section.charts.len()).sum::<usize>(), 8);
}

#[test]
fn logarithms_of_times_are_above_the_lower_end_of_their_axis_and_differ() {
    let mut record = record();
    let networks = record.plan.parameters[&parameter(DIVISION)].clone();
    record.plan.parameters.insert(parameter(MESSAGES), networks);
    let report = Scatter::report(&record);
    let section = report.sections.iter().find(|it| it.title == parameter(MESSAGES)).unwrap();
    let chart = &section.charts[0];
    assert_eq!(chart.unit, "log₂ of microseconds");
    let points = chart.lines[0].1.iter().zip([0.5e6_f64, 0.72e6]);
    assert_eq!(points.len(), 2);
    assert!(points.into_iter().all(|(point, time)| (point.1 - time.log2()).abs() < 1e-9));
}

#[test]
fn the_error_of_a_process_about_its_work_is_taken_out() {
    let mut record = record();
    // It found that a division takes twice as long, and did half of the work.
    assert_eq!((record.samples[0].value, record.samples[1].value), (1.0, 100.0));
    (record.samples[0].value, record.samples[1].value) = (0.5, 50.0);
    assert_eq!(rows(&record, "experiment 1")[0][1], "1.000");
}

#[test]
fn plans_are_the_studys_scaled_down() {
    let (full, quick) = (planned(&[]).unwrap(), planned(&["--quick"]).unwrap());
    assert!(quick.budget_seconds < 60.0 && full.budget_seconds < 3600.0);
    assert!(full.cells.iter().chain(&quick.cells).all(|cell| cell.repeats == 9));
    let network = |processes, rounds, nanos| Network { processes, rounds, nanos };
    // Experiment 1: m = 50 d/n, here a 50th: a second of work in total. Where that is no whole
    // number of rounds, it is not the same work.
    let first = networks("1", false, 125);
    assert_eq!(first[0], network(50, 2, 10_000_000));
    assert_eq!(first[2], network(50, 200, 100_000));
    assert_eq!(first[54], network(1000, 100, 10_000));
    let work = |network: &Network| (network.messages() * network.nanos) as f64 / 1e9;
    assert!(first.iter().all(|it| (0.9..=1.1).contains(&work(it))), "{first:?}");
    // Of 5 times 12, a round of the longest messages is more, but for 50 processes; 1.33 rounds of
    // the second longest are neither one nor two.
    assert_eq!(first.len(), 5 * 12 - 4 - 1);
    assert!(!first.iter().any(|it| it.processes == 750 && it.nanos == 1_000_000));
    let second = networks("2", false, 125);
    assert_eq!(second.len(), 7);
    assert!(second.iter().all(|it| it.rounds == 100 && it.nanos == 100_000));
    assert_eq!(networks("3", false, 125).len(), 3 * 6);
    let fourth = networks("4", false, 125);
    assert!(fourth.iter().map(|it| it.processes).eq(16..=48));
    assert!(fourth.iter().all(|it| it.rounds == 100 && it.nanos == 800_000));
    let own = networks(UTILIZATION, false, 125);
    assert_eq!(own, [network(250, 160, 100_000), network(250, 1600, 10_000)]);
    // What two experiments have in common is measured once: 16 to 256 processes with 100 µs.
    let shared = full.cells.iter().filter(|cell| cell.subject == "16x100x100000").count();
    assert_eq!(shared, 5);
    let mut others = full.cells.clone();
    others.sort_by_key(|cell| (cell.subject.clone(), cell.runtime.clone(), cell.workers));
    others.dedup();
    assert_eq!(others.len(), full.cells.len());
    // A quick run's rounds are a tenth, and its networks are some of them.
    for (experiment, ..) in PARTS {
        let kinds = |quick, divisor| -> Vec<(u64, u64)> {
            let networks = networks(experiment, quick, divisor);
            networks.iter().map(|it| (it.processes, it.nanos)).collect()
        };
        let all = kinds(false, 125);
        assert!(kinds(true, 1250).iter().all(|found| all.contains(found)), "{experiment}");
        let of_plan = full.parameters[&parameter(experiment)].split(' ').count();
        assert_eq!(of_plan, all.len());
    }
    assert!(quick.notes[0].contains("1/1250 of") && quick.notes.len() == 2);
    assert!(full.notes[0].contains("1/125 of") && full.notes[0].contains("1/50,"));
}

#[test]
fn plans_are_what_was_chosen() {
    let arguments = ["--experiments", "4,2", "--divisor", "12500", "--repeats", "1"];
    let chosen = planned(&arguments).unwrap();
    assert_eq!(chosen.parameters.keys().collect::<Vec<_>>(), ["experiment 2", "experiment 4"]);
    assert!(chosen.cells.iter().all(|cell| cell.repeats == 1));
    let of_fourth = |cell: &&Cell| cell.subject.ends_with("x800000");
    let fourth: Vec<&Cell> = chosen.cells.iter().filter(of_fourth).collect();
    assert_eq!(fourth[0].subject, "16x1x800000");
    let has_one_placement = |cell: &&Cell| [LAST, NORNIR_LAST].contains(&cell.runtime.as_str());
    assert!(fourth.iter().all(has_one_placement));
    for wrong in [["--divisor", "0"], ["--repeats", "0"], ["--experiments", "5"]] {
        assert!(matches!(planned(&wrong), Err(Fault::Input(_))), "{wrong:?}");
    }
    // Not even a round of the finest messages is as little work.
    let little = planned(&["--experiments", "1", "--divisor", "1000000"]);
    assert!(matches!(little, Err(Fault::Input(_))));
}
