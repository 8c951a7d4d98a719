use super::*;
use crate::experiment::record::Sample;
use crate::experiment::text;

fn ratio(low: f64, high: f64) -> String {
    words(Estimate { figure: (low + high) / 2.0, low, high }, RAYON)
}

#[test]
fn ratios_are_told_in_words_in_both_directions() {
    assert_eq!(ratio(0.96, 1.04), "even with rayon");
    assert_eq!(ratio(1.01, 1.04), "even with rayon");
    assert_eq!(ratio(1.2, 1.4), "1.30 times rayon's speed");
    assert_eq!(ratio(0.7, 0.9), "0.80 times rayon's speed");
    assert_eq!(ratio(0.9, 1.4), "no difference from rayon seen");
    assert_eq!(ratio(f64::NEG_INFINITY, f64::INFINITY), "too few runs beside rayon");
}

/// Locksley is twice as fast as rayon beside busy threads, and rayon hangs.
fn record() -> Record {
    let mut record = Record::new("demo", Demo::default().plan(&Course::default()).unwrap());
    let mut add = |subject: &str, runtime: &str, repeat, metric: &str, value| {
        let [experiment, subject, runtime, metric] =
            ["demo", subject, runtime, metric].map(str::to_owned);
        let sample = Sample { experiment, subject, runtime, workers: 2, repeat, metric, value };
        record.samples.push(sample);
    };
    for repeat in 0..FEWEST {
        let speed = (1 + repeat) as f64;
        add(ALONE, LOCKSLEY, repeat, RATE, 100.0 * speed);
        add(ALONE, RAYON, repeat, RATE, 100.0 * speed);
        add(BESIDE, LOCKSLEY, repeat, RATE, 50.0 * speed);
        add(BESIDE, RAYON, repeat, RATE, 25.0 * speed);
        add(BESIDE, STATIC, repeat, RATE, 20.0 * speed);
    }
    add(LOCKED, LOCKSLEY, 0, CALLS, 2000.0);
    add(LOCKED, LOCKSLEY, 0, SECONDS, 0.25);
    add(LOCKED, RAYON, 0, CALLS, 7.0);
    record
}

#[test]
fn a_report_has_a_sentence_and_a_picture_for_each_scene() {
    let record = record();
    let report = Demo::report(&record);
    let headline = "Alone: even with rayon. Beside two busy threads: 2.00 times rayon's speed. A \
                    lock held across a parallel call: Locksley completes in 0.25 s; rayon hangs: \
                    no progress in 2 s.";
    assert_eq!(report.headline, headline);
    let titles: Vec<&str> = report.pictures.iter().map(|chart| chart.title.as_str()).collect();
    let expected = ["Alone", "Beside two busy threads", "A lock held across a parallel call"];
    assert_eq!(titles, expected);
    let rows = &report.sections[0].tables[0].rows;
    assert_eq!(rows[1][..2], [BESIDE, "2"]);
    assert_eq!(rows[2][..3], ["", "2", STATIC]);
    assert_eq!(rows[2][5..], ["2.50", "2.50 to 2.50", "6", "2.50 times static's speed"]);
    assert!(text::tables(&record, &report).contains("hangs"));
}

#[test]
fn a_plan_has_all_scenes_or_says_why_not() {
    for (quick, repeats) in [(false, REPEATS), (true, FEWEST)] {
        let course = Course { quick, ..Course::default() };
        let plan = Demo::default().plan(&course).unwrap();
        for (scene, names) in SCENES {
            let cells: Vec<&Cell> = plan.cells.iter().filter(|it| it.subject == scene).collect();
            let expected = if scene == LOCKED { 1 } else { repeats };
            assert!(cells.iter().all(|cell| cell.repeats == expected));
            let is_left_out = plan.left_out.keys().any(|name| name.contains(scene));
            assert_eq!(cells.len(), if is_left_out { 0 } else { names.len() }, "{scene}");
        }
        // Of another process with the same options: else a run could not go on.
        assert_eq!(plan, Demo::default().plan(&course).unwrap());
    }
    assert!(check_possible(QUOTA, 1).unwrap_err().contains("one processor"));
}

#[test]
fn calls_under_a_lock_are_completed() {
    let readings = locked::watch(LOCKSLEY, 3, 30 * locked::PATIENCE).unwrap();
    assert_eq!(readings[CALLS], locked::CALLS as f64);
    assert!(readings[SECONDS] > 0.0);
    assert!(matches!(locked::watch(STATIC, 2, locked::PATIENCE), Err(Fault::Input(_))));
}

#[test]
fn only_some_scenes_have_a_process_of_their_own() {
    let once = |subject: &str, runtime: &str| {
        let [subject, runtime] = [subject, runtime].map(str::to_owned);
        Demo::once(&Cell { subject, runtime, workers: 2, repeats: 1 }, 0)
    };
    assert!(matches!(once(ALONE, LOCKSLEY), Err(Fault::Input(_))));
    assert!(matches!(once(LOCKED, "no runtime"), Err(Fault::Input(_))));
}
