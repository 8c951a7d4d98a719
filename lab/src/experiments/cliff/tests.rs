//! Derived figures of a made-up record, the plans, and tiny measurements.

use super::report::Found;
use super::*;
use crate::experiment::record::OTHERS;
use crate::experiment::text;

/// Two processors, and made-up times.
fn record(times: &[(&str, &str, usize, &[f64])]) -> Record {
    let mut record = Record::new("cliff", Plan::default());
    (record.machine.processors, record.machine.quota) = (2, None);
    for &(subject, runtime, workers, seconds) in times {
        for (repeat, &value) in seconds.iter().enumerate() {
            add(&mut record, (subject, runtime, workers), repeat, SECONDS, value);
        }
    }
    record
}

fn add(record: &mut Record, cell: (&str, &str, usize), repeat: usize, metric: &str, value: f64) {
    record.samples.push(crate::experiment::record::Sample {
        experiment: "cliff".to_owned(),
        subject: cell.0.to_owned(),
        runtime: cell.1.to_owned(),
        workers: cell.2,
        repeat,
        metric: metric.to_owned(),
        value,
    });
}

const HEAT: &str = "heat 20x20x3";

fn heat() -> Record {
    let mut record = record(&[
        (HEAT, SERIAL, 1, &[9.0, 8.0, 100.0]),
        (HEAT, "static", 1, &[10.0, 9.0, 101.0]),
        (HEAT, "static", 5, &[9.0, 8.0, 100.0]),
    ]);
    add(&mut record, (HEAT, SERIAL, 2), 0, COPIES, 10.0);
    add(&mut record, (HEAT, SERIAL, 2), 1, COPIES, 30.0);
    add(&mut record, (HEAT, PROFILE, 1), 0, "work", 20.0);
    add(&mut record, (HEAT, PROFILE, 1), 0, "span", 0.25);
    record
}

#[test]
fn medians_and_ratios_are_those_of_the_papers() {
    let record = heat();
    let found = Found::of(&record);
    let [one, five] = &found.points[..] else { panic!("P = 1 and P = 5") };
    assert_eq!((one.of.2, one.utilization, one.ceiling), (1, 1.0, 1.0));
    // The best of each: 8 and 10 seconds.
    assert_eq!((five.speedup, five.utilization, five.ceiling), (10.0 / 9.0, 5.0 / 9.0, 0.8));
    let report = report::of(&record);
    let text = text::tables(&record, &report);
    let rows = report.sections.iter().flat_map(|it| &it.tables).flat_map(|it| &it.rows);
    let rows: Vec<String> = rows.map(|row| row.join(" ")).collect();
    // Ts, T∞ and T1/T∞; T1 and T1/Ts; the utilization, and that over the ceiling.
    for words in ["9.000 0.2500 80.0 0.80 static 10.00 1.11", "static 1.00 0.56", "1.00 0.69"] {
        assert!(rows.iter().any(|row| row.contains(words)), "{words}: {text}");
    }
}

#[test]
fn a_time_of_zero_makes_no_point() {
    let record = record(&[
        (HEAT, "static", 1, &[1.0]),
        (HEAT, "static", 2, &[0.5, 0.0, 0.5]),
        (HEAT, "rayon", 1, &[0.0]),
        (HEAT, "rayon", 2, &[0.5]),
    ]);
    let points: Vec<_> = Found::of(&record).points.iter().map(|it| it.of).collect();
    assert_eq!(points, [(HEAT, "static", 1)]);
}

#[test]
fn rayon_comes_first_and_both_pictures_stand_at_the_top() {
    let (alone, beside) = ("rounds 64x10+0", "rounds beside two busy threads 64x10+0");
    let mut times: Vec<(&str, &str, usize, &[f64])> = vec![(HEAT, SERIAL, 1, &[1.0])];
    let crowded: [&[f64]; 3] = [&[1.0], &[0.52], &[0.54]];
    let slow: [&[f64]; 3] = [&[4.0], &[2.0], &[1.25]];
    for (place, name) in ["static", "locksley", "rayon"].into_iter().enumerate() {
        times.extend([(HEAT, name, 1, &[1.0][..]), (HEAT, name, 3, crowded[place])]);
        times.extend([(alone, name, 2, &[1.0][..]), (beside, name, 2, slow[place])]);
    }
    let mut disturbed = record(&times);
    let report = report::of(&disturbed);
    let expected = "3 workers on 2 processors: rayon uses 93 %, Locksley 96 %, static partitioning \
                    50 % of the machine. Beside two busy threads: rayon keeps 80 %, Locksley 50 %, \
                    static partitioning 25 % of the speed alone.";
    assert_eq!((report.headline.as_str(), report.pictures.len()), (expected, 2));
    assert!(report.notes[0].contains("heat 20x20x3 at P = 3"), "{:?}", report.notes);
    let svg = crate::experiment::chart::picture(&report.pictures);
    assert!(svg.contains("prefers-color-scheme: dark") && svg.contains("fair share"), "{svg}");
    assert!(!svg.contains("href"), "{svg}");

    for (repeat, used) in [(0, 0.5), (1, 0.0)] {
        add(&mut disturbed, (HEAT, PROFILE, 1), repeat, OTHERS, used);
    }
    assert!(disturbed.disturbance().unwrap().contains("used 0.25 processors"));
}

#[test]
fn a_machine_that_was_too_noisy_gets_no_verdict() {
    let record = record(&[
        (HEAT, SERIAL, 1, &[1.0]),
        (HEAT, "rayon", 1, &[5.0]),
        (HEAT, "rayon", 3, &[0.45]),
        (HEAT, "static", 1, &[1.0]),
        (HEAT, "static", 3, &[1.0]),
    ]);
    let report = report::of(&record);
    assert!(report.headline.starts_with("This machine was too noisy for a verdict"));
    let text = text::tables(&record, &report);
    assert!(text.contains("noise") && !text.contains("5.56"), "{text}");
    let [lines] = &report.pictures[..] else { panic!("one") };
    let rayon = lines.lines.iter().find(|(name, _)| name == "rayon").unwrap();
    assert_eq!(rayon.1, [(1.0, 1.0)], "noise is not drawn");
}

#[test]
fn time_is_broken_down_as_in_the_study() {
    let name = "classic-naive";
    let mut record =
        record(&[(HEAT, name, 1, &[4.0]), (HEAT, name, 2, &[2.0]), (HEAT, name, 4, &[4.0])]);
    // 16 seconds of the workers' time: 8 of searches, of which 1.6 were waits for locks.
    for (workers, search, locks) in [(2, 0.4, 0.0), (4, 8.0, 1.6)] {
        let counts = [("steals", 10.0), ("failed steals", 30.0), ("voluntary switches", 4.0)];
        let times = [("search seconds", search), ("lock seconds", locks)];
        for (metric, value) in counts.into_iter().chain(times) {
            add(&mut record, (HEAT, name, workers), 0, metric, value);
        }
    }
    let rows = Found::of(&record).breakdown().rows;
    let rows: Vec<&[String]> = rows.iter().map(|row| &row[2..9]).collect();
    assert_eq!(rows[0], ["2", "1.00", "90 %", "10 %", "0 %", "20.0", "2.00"]);
    assert_eq!(rows[1], ["4", "2.00", "50 %", "40 %", "10 %", "10.0", "1.00"]);
}

fn cliff(apps: &[&str]) -> Cliff {
    Cliff {
        apps: apps.iter().map(|&app| app.to_owned()).collect(),
        runtimes: Vec::new(),
        workers: Vec::new(),
        alternatives: false,
        latest: Latest::default(),
        meter: SubjectMeter::default(),
    }
}

#[test]
fn plans_have_the_papers_sizes_and_the_numbers_of_workers_that_tell_most() {
    let quick = cliff(&[]);
    assert_eq!(quick.workers(true, 2), [1, 2, 3, 4, 8, 32]);
    assert_eq!(quick.workers(false, 2), [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]);
    assert_eq!(quick.workers(false, 64)[9..], [32, 64, 65, 128]);
    let subjects = quick.subjects(false).unwrap();
    for app in ["barnes", "heat", "knary", "lu", "mm", "msort", "ray"] {
        let paper = apps::problem(apps::find(app).unwrap(), "paper").unwrap().parameters;
        assert!(subjects.contains(&prepared::name(app, &paper)), "{app}");
    }
    let all = cliff(&[ALL]).subjects(true).unwrap();
    for app in apps::ALL {
        assert!(all.iter().any(|it| it.starts_with(&format!("{} ", app.name))), "{}", app.name);
    }
    assert_eq!(cliff(&["mm"]).subjects(true).unwrap(), ["mm 512"]);
    for wrong in ["nothing", "bfs"] {
        assert!(cliff(&[wrong, ROUNDS]).subjects(true).is_err(), "{wrong}");
    }
}

#[test]
fn runtimes_and_workers_can_be_chosen() {
    let mut chosen = cliff(&[]);
    chosen.workers = vec![8, 2, 8];
    chosen.runtimes = ["locksley", "rayon", "locksley"].map(str::to_owned).to_vec();
    assert_eq!(chosen.workers(true, 2), [1, 2, 8]);
    assert_eq!(chosen.runtimes().unwrap(), ["locksley", "rayon"]);
    for wrong in ["serial", "nothing"] {
        chosen.runtimes = vec![wrong.to_owned()];
        assert!(chosen.runtimes().is_err(), "{wrong}");
    }
    let alternatives = Cliff { alternatives: true, ..cliff(&[]) };
    assert_eq!(alternatives.runtimes().unwrap(), ALTERNATIVES);
    let workers = alternatives.workers(false, 24);
    assert!([24, 25, 48].iter().all(|number| workers.contains(number)), "{workers:?}");
}

#[test]
fn each_kind_of_cell_is_measured() {
    let mut cliff = cliff(&[]);
    let subjects = ["heat 20x20x3", "rounds 4x10+1", "rounds beside two busy threads 4x10+1"];
    let mut plan = Plan { quick: true, ..Plan::default() };
    plan.add(subjects[0], SERIAL, 1, 1);
    plan.add(subjects[0], SERIAL, 2, 1);
    plan.add(subjects[0], PROFILE, 1, 1);
    plan.add(subjects[1], "static", 2, 1);
    plan.add(subjects[1], SERIAL, 2, 1);
    plan.add(subjects[2], "rayon", 2, 1);
    let measured = |cell: &Cell| cliff.measure(&plan, cell, 0).unwrap();
    let all: Vec<Readings> = plan.cells.iter().map(measured).collect();
    let metrics = [SECONDS, COPIES, "span", SECONDS, COPIES, SECONDS];
    for (readings, metric) in all.iter().zip(metrics) {
        assert!(readings[metric] > 0.0, "{readings:?}");
    }
    let metered = |readings: &Readings| readings.contains_key(OTHERS);
    assert_eq!(
        all.iter().map(metered).collect::<Vec<_>>(),
        [false, false, true, false, true, true]
    );

    let processors = Machine::here().processors;
    let cell = |subject: &str| {
        let (subject, runtime) = (subject.to_owned(), "classic-spinlock".to_owned());
        Cell { subject, runtime, workers: processors, repeats: 1 }
    };
    cliff.alternatives = true;
    for subject in &subjects[..2] {
        let readings = cliff.measure(&plan, &cell(subject), 0).unwrap();
        assert!(readings.contains_key("lock seconds"), "{readings:?}");
        assert_eq!(readings.contains_key(WALL), !is_app(subject));
    }
    for wrong in ["rounds 4x10", "rounds 0x1+0", "rounds"] {
        assert!(matches!(cliff.measure(&plan, &cell(wrong), 0), Err(Fault::Input(_))), "{wrong}");
    }
}
