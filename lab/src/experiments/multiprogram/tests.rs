//! What becomes of measurements, and of programs that fail. That they can be taken is tested from outside: they need this program's own binary.

use super::plan::{What, Wishes, plan, subset};
use super::record::{Alone, Life, Measurement, Reading, Shared};
use super::*;
use crate::apps;
use crate::experiments::bound::tests::METERED;
use crate::experiments::bound::{Beside, Metered};
use crate::experiments::trial;
use crate::fault::Fault;

const FEW: Beside = Beside { workers: 1, most: 100 };
const MANY: Beside = Beside { workers: 4, most: 100 };

fn tiny_plan() -> Plan {
    let wishes = Wishes { quick: true, seed: 3, repeats: Some(2), ..Wishes::default() };
    let mut plan = plan(&wishes, 2).unwrap();
    plan.workers = vec![2, 4];
    plan.inputs = [("knary", "4,4,1"), ("mm", "32")]
        .map(|(app, size)| (app.to_owned(), size.to_owned()))
        .to_vec();
    plan.cyclers = vec![FEW, MANY];
    plan
}

/// Of two computations of 5 s each, while the cycler counted for half of a processor.
const SHARED: Shared = Shared {
    seconds: 10.0,
    computations: 2,
    wall: 10.0,
    increments: 5000.0,
    others: Some(5.0),
    granted: 1.5,
    life: Life { seconds: 12.0, increments: 6000.0, processor_seconds: Some(6.6) },
};

/// Two processors, of which one makes 1000 increments in a second; T1 = 8, T∞ = 1.
fn record_with(shared: &dyn Fn(usize) -> Shared) -> Record {
    let mut header = Header::here(tiny_plan());
    (header.machine.processors, header.machine.quota) = (2, None);
    let inputs = header.plan.inputs.clone();
    let mut measurements = Vec::new();
    let mut add = |cell, repeat, reading| {
        measurements.push(Measurement { cell, repeat, reading });
    };
    for (repeat, per_second) in [1000.0, 1000.0, 10.0].into_iter().enumerate() {
        add(Plan::calibration(), repeat, Reading::Rate { per_second, best: Some(1001.0) });
    }
    let alone = Alone { seconds: 8.0, computations: 3, metered: METERED };
    add(What::Alone.of(&inputs[0], 1), 0, Reading::Alone(alone));
    for repeat in 0..2 {
        let cell = What::Beside(FEW).of(&inputs[0], 4);
        add(cell, repeat, Reading::Beside(shared(repeat)));
    }
    // Of the other input nobody knows T1.
    add(What::Beside(FEW).of(&inputs[1], 2), 0, Reading::Beside(shared(0)));
    Record::of(header, "then".to_owned(), measurements, Vec::new())
}

fn record() -> Record {
    // The second time others took three times as much, and it took three times as long.
    let second = Shared {
        seconds: 30.0,
        wall: 30.0,
        increments: 30_000.0,
        others: Some(15.0),
        granted: 1.1,
        ..SHARED
    };
    record_with(&|repeat| if repeat == 0 { SHARED } else { second })
}

#[test]
fn processors_and_times_are_those_of_all_repetitions_together() {
    let summary = Summary::of(&record());
    assert_eq!((summary.capacity, summary.rate), (2.0, Some(1000.0)));
    let [knary] = &summary.bound.computations[..] else { panic!("of mm nobody knows T1") };
    assert_eq!((knary.work, knary.critical_path, knary.points.len()), (8.0, 1.0, 1));
    let point = knary.at(4, Some(FEW)).unwrap();
    // (1.5 · 10 + 1.1 · 30) / 40, and 40 s for four computations.
    assert!((point.processors - 1.2).abs() < 1e-12, "{point:?}");
    assert!((point.utilization - 8.0 / 12.0).abs() < 1e-12 && point.normalized == 0.5, "{point:?}");
    assert_eq!((knary.at(4, Some(MANY)), knary.at(2, Some(FEW))), (None, None));
}

#[test]
fn the_papers_method_is_the_machine_less_what_the_cycler_counted() {
    let summary = Summary::of(&record());
    let [check] = &summary.checks[..] else { panic!("one cycler was measured") };
    assert_eq!(check.beside, FEW);
    // mm's counts here, too: 5000 in 10 s, 30 000 in 30 s, 5000 in 10 s, at 1000 a second.
    let cyclers: Vec<f64> = check.runs.iter().map(|run| run.cycler).collect();
    assert_eq!(cyclers, [0.5, 1.0, 0.5]);
    let both: Vec<(f64, f64)> =
        check.runs.iter().map(|run| (run.by_cycler, run.by_meter)).collect();
    assert_eq!(both, [(1.5, 1.5), (1.0, 1.1), (1.5, 1.5)]);
    let difference = check.difference().unwrap();
    assert!((difference.mean + 0.1 / 3.0).abs() < 1e-12, "{difference:?}");
    assert!((difference.distance - 0.1 / 3.0).abs() < 1e-12, "{difference:?}");
    assert!((difference.most + 0.1).abs() < 1e-12 && difference.number == 3, "{difference:?}");
    assert_eq!(summary.difference(), Some(difference));
    // 6.6 s each time for what should have taken 6.
    assert!((check.account.unwrap() - 1.1).abs() < 1e-12, "{check:?}");
    assert_eq!(check.range(), Some((1.1, 1.5)));
}

/// The meter sees all others, the cycler's count nobody: so where there are others, the two differ.
#[test]
fn others_than_the_cycler_are_named_if_they_take_much() {
    assert_eq!(Summary::of(&record()).taken, None);
    // The cycler has 0.55 processors by the system's account, and others 0.85 with it.
    let crowded = Shared { others: Some(8.5), ..SHARED };
    let record = record_with(&|_| crowded);
    let summary = Summary::of(&record);
    assert!((summary.taken.unwrap() - 0.3).abs() < 1e-12, "{:?}", summary.taken);
    let text = table::text(&record, &summary);
    assert!(text.contains("NOTE: others took 0.30 processors"), "{text}");
}

#[test]
fn no_more_is_granted_than_there_are_workers_and_a_quota_allows() {
    let busy = Shared { increments: 50_000.0, ..SHARED };
    let by_cycler = |record: &Record| Summary::of(record).checks[0].runs[0].by_cycler;
    assert_eq!(
        by_cycler(&record_with(&|_| busy)),
        0.01,
        "the cycler cannot have had more than all"
    );
    let idle = Shared { increments: 0.0, ..SHARED };
    let mut record = record_with(&|_| idle);
    assert_eq!(by_cycler(&record), 2.0);
    record.header.machine.quota = Some(1.25);
    assert_eq!(by_cycler(&record), 1.25);
    record.header.machine.processors = 64;
    record.header.machine.quota = None;
    assert_eq!(by_cycler(&record), 4.0, "four workers");
}

/// Then the cycler's count is all that there is, and nothing to be compared with.
#[test]
fn where_the_system_does_not_tell_the_cycler_does() {
    let life = Life { processor_seconds: None, ..SHARED.life };
    let untold = Shared { others: None, granted: 2.0, life, ..SHARED };
    let record = record_with(&|_| untold);
    let summary = Summary::of(&record);
    let point = summary.bound.computations[0].at(4, Some(FEW)).unwrap();
    assert!((point.processors - 1.5).abs() < 1e-12, "{point:?}");
    assert_eq!(summary.difference(), None);
    let text = table::text(&record, &summary);
    assert!(text.contains("there is nothing to compare"), "{text}");

    let mut record = record;
    record.measurements.retain(|found| !matches!(found.reading, Reading::Rate { .. }));
    let summary = Summary::of(&record);
    assert!(summary.rate.is_none() && summary.checks.is_empty());
    assert!(summary.bound.computations[0].points.is_empty(), "nobody knows PA");
}

#[test]
fn the_table_and_the_page_have_it_all() {
    let folder = tempfile::tempdir().unwrap();
    let record = record();
    let summary = Summary::of(&record);
    let text = table::text(&record, &summary);
    for words in [
        "2 processors",
        "Quick subset: P = 2 4; knary 4,4,1, mm 32; beside cycler(1, 100), cycler(4, 100); 0.4 s each",
        "knary 4,4,1, T1 = 8.000, T∞ = 1.000, T1/T∞ = 8.0",
        "  beside cycler(1, 100)      P = 2   -            P = 4   0.67 (1.20)\n",
        "(1.05, 2) is a lower envelope: none of 1 points lies under its curve",
        "PA by the papers' method, processors less what the cycler counted, is 0.033 less than by the meter",
        "beside cycler(1, 100), which had 0.67 processors, PA was 1.10 to 1.50; by the papers' method 0.033 less",
        "an increment took 1.100 times the processor time",
    ] {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    let page = folder.path().join("index.html");
    report::multiprogram::write(&page, &record, &summary).unwrap();
    let page = std::fs::read_to_string(page).unwrap();
    for words in ["<svg", "0.67 (1.20)", "1000 increments in a second", "cycler(4, 100)"] {
        assert!(page.contains(words), "{words} is missing in:\n{page}");
    }
    // A point of utilization, and three of PA.
    assert_eq!(page.matches("<circle").count(), 4);
}

#[test]
fn plans_go_from_as_many_workers_as_processors_to_many() {
    for (quick, processors) in [(true, 2), (false, 2), (false, 48)] {
        let plan = plan(&Wishes { quick, ..Wishes::default() }, processors).unwrap();
        assert!(plan.workers[0] == processors.min(64) && plan.workers.contains(&64));
        assert!(plan.budget_seconds < if quick { 60.0 } else { 480.0 } && plan.repeats >= 3);
        assert!(plan.cyclers.iter().any(|beside| beside.workers > processors));
        assert!(plan.cyclers.iter().any(|beside| beside.workers < processors));
        for (app, size) in &plan.inputs {
            apps::problem(apps::find(app).unwrap(), size).unwrap();
        }
        let of = |app| plan.inputs.iter().filter(|(name, _)| name == app).count();
        assert!(of("knary") >= 3 && of("heat") >= 1 && of("mm") >= 1);
        let cells = plan.cells();
        let besides = plan.inputs.len() * (1 + plan.workers.len() * plan.cyclers.len());
        assert_eq!(cells.len(), 1 + besides);
        let names: std::collections::HashSet<_> = cells.iter().collect();
        assert_eq!(names.len(), cells.len());
        assert!(cells.iter().all(|cell| plan.what(cell).is_some()));
    }
    let quick = plan(&Wishes { quick: true, ..Wishes::default() }, 2).unwrap();
    assert!(subset(&quick).contains("knary 8,4,2"), "{}", subset(&quick));
}

#[test]
fn plans_are_what_was_chosen() {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let wishes = Wishes {
        apps: words(&["mm", "knary"]),
        workers: vec![8, 2, 8],
        repeats: Some(1),
        seconds: Some(0.1),
        ..Wishes::default()
    };
    let chosen = plan(&wishes, 2).unwrap();
    assert_eq!((&chosen.workers[..], chosen.repeats, chosen.seconds), (&[2, 8][..], 1, 0.1));
    let mut apps: Vec<&str> = chosen.inputs.iter().map(|(app, _)| app.as_str()).collect();
    apps.dedup();
    assert_eq!(apps, ["knary", "mm"]);
    for wrong in [
        Wishes { repeats: Some(0), ..Wishes::default() },
        Wishes { apps: words(&["nbody"]), ..Wishes::default() },
        Wishes { apps: words(&["lu"]), quick: true, ..Wishes::default() },
    ] {
        assert!(matches!(plan(&wrong, 2), Err(Fault::Input(_))), "{wrong:?}");
    }
}

#[test]
fn a_record_is_read_as_it_was_written_and_a_spoilt_one_is_refused() {
    let record = record();
    trial::is_kept(&record);
    let refused = |spoil: &dyn Fn(&mut Record)| trial::is_refused(&record, spoil);
    let place = |is_it: fn(&Reading) -> bool| {
        record.measurements.iter().position(|found| is_it(&found.reading)).unwrap()
    };
    let of_alone = place(|reading| matches!(reading, Reading::Alone(_)));
    let of_shared = place(|reading| matches!(reading, Reading::Beside(_)));
    refused(&|record| record.header.machine.processors = 0);
    refused(&|record| record.header.plan.workers = vec![0]);
    refused(&|record| record.measurements[0].cell.workers = 7);
    refused(&|record| {
        record.measurements[0].reading = Reading::Rate { per_second: 0.0, best: None }
    });
    // What was read elsewhere.
    refused(&|record| record.measurements[0].reading = record.measurements[of_alone].reading);
    let alone = |change: &dyn Fn(&mut Alone)| {
        let mut alone = Alone { seconds: 8.0, computations: 3, metered: METERED };
        change(&mut alone);
        refused(&|record| record.measurements[of_alone].reading = Reading::Alone(alone));
    };
    alone(&|alone| alone.seconds = f64::NAN);
    alone(&|alone| alone.computations = 0);
    alone(&|alone| alone.metered = Metered { critical_path: -1.0, ..METERED });
    let shared = |change: &dyn Fn(&mut Shared)| {
        let mut shared = SHARED;
        change(&mut shared);
        refused(&|record| record.measurements[of_shared].reading = Reading::Beside(shared));
    };
    shared(&|shared| shared.wall = 9.0);
    shared(&|shared| shared.granted = 0.0);
    shared(&|shared| shared.computations = 0);
    shared(&|shared| shared.increments = -1.0);
    shared(&|shared| shared.others = Some(-0.5));
    shared(&|shared| shared.life.seconds = 0.0);
}

/// Runs with shell scripts for programs.
#[cfg(unix)]
mod scripts {
    use std::path::Path;

    use super::*;
    use crate::record::files;

    /// What each kind of measurement may find.
    const GOOD: &str = r#"case "$*" in
        calibration*) echo '{"read":{"rate":{"per_second":1000.0,"best":1001.5}}}';;
        *--cycler*) echo '{"read":{"beside":{"seconds":0.5,"computations":2,"wall":0.5,"increments":250.0,"others":0.25,"granted":1.5,"life":{"seconds":0.6,"increments":300.0,"processor_seconds":0.3}}}}';;
        *) echo '{"read":{"alone":{"seconds":0.3,"computations":2,"metered":{"work":0.4,"critical_path":0.1,"burdened_critical_path":0.1,"forks":3,"uncarried":0}}}}';;
    esac"#;

    fn options(folder: &Path, script: &str) -> Options {
        Options {
            plan: tiny_plan(),
            json: folder.join("multiprogram.json"),
            out: folder.join("page"),
            fresh: false,
            programs: Program::script(script),
        }
    }

    #[test]
    fn a_run_measures_all_and_a_finished_one_is_not_redone() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path(), GOOD);
        let finished = run(&options).unwrap();
        assert!(!finished.is_old && finished.page.is_file() && finished.record.missing.is_empty());
        // Twice each: the calibration, two inputs alone, and on two numbers of workers beside two cyclers.
        assert_eq!(finished.record.measurements.len(), 2 * (1 + 2 * (1 + 4)));
        assert_eq!(finished.summary.difference().unwrap().number, 2 * 2 * 4);
        options.programs = Program::script("exit 3");
        let again = run(&options).unwrap();
        assert!(again.is_old && again.record == finished.record);
        options.fresh = true;
        assert!(run(&options).is_err(), "it is measured again");
    }

    #[test]
    fn all_meet_the_same_releases_in_a_rotation_and_others_in_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let said = folder.path().join("said");
        let script = format!("echo \"$*\" >> '{}'\n{GOOD}", said.display());
        run(&options(folder.path(), &script)).unwrap();
        let said = std::fs::read_to_string(said).unwrap();
        let choices = |line: &str| line.split_once("--choices ").map(|(_, seed)| seed.to_owned());
        let all: Vec<String> = said.lines().filter_map(choices).collect();
        assert_eq!(all.len(), 2 * 2 * 4);
        let mut different = all.clone();
        different.dedup();
        assert_eq!(different.len(), 2, "{all:?}");
        assert!(said.contains("mm 32 4 --secs 0.4 --seed 3 --cycler 4 --increments 100"), "{said}");
    }

    #[test]
    fn what_fails_or_hangs_is_missing_and_the_rest_is_measured() {
        // One that hangs is waited for; the others have the same time, and have to make do with it on a busy machine.
        for (fails, limit_seconds, expected) in [
            ("echo because >&2; exit 3", 60.0, "because"),
            ("echo nonsense", 60.0, "nonsense"),
            (r#"echo '{"read":{"rate":{"per_second":1.0,"best":null}}}'"#, 60.0, "something else"),
            ("exec sleep 1000", 8.0, "did not end in 8 s"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let script =
                format!("case \"$*\" in mm*' 4 '*--cycler\\ 4*) {fails};; *) {GOOD}\n;; esac");
            let mut options = options(folder.path(), &script);
            options.plan.limit_seconds = limit_seconds;
            let finished = run(&options).unwrap();
            let [missing] = &finished.record.missing[..] else { panic!("{:?}", finished.record) };
            assert_eq!(missing.cell, What::Beside(MANY).of(&options.plan.inputs[1], 4));
            assert!(missing.why.contains(expected), "{missing:?}");
            assert_eq!(finished.record.measurements.len(), 2 * (1 + 2 * (1 + 4) - 1));
            assert_eq!(files::read::<Record>(&options.json).unwrap(), finished.record);
            let text = table::text(&finished.record, &finished.summary);
            let page = std::fs::read_to_string(&finished.page).unwrap();
            for said in [text, page] {
                let words = "missing: mm 32 on locksley beside cycler(4, 100), P = 4: ";
                assert!(said.contains(words), "{said}");
            }
        }
    }

    #[test]
    fn without_a_calibration_pa_is_still_the_meters() {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("case \"$1\" in calibration) exit 1;; *) {GOOD}\n;; esac");
        let finished = run(&options(folder.path(), &script)).unwrap();
        assert_eq!((finished.summary.rate, finished.record.missing.len()), (None, 1));
        let point = finished.summary.bound.computations[0].at(4, Some(MANY)).unwrap();
        assert_eq!(point.processors, 1.5);
        let page = std::fs::read_to_string(&finished.page).unwrap();
        assert!(page.contains("no calibration succeeded") && page.contains("nothing to compare"));
    }

    #[test]
    fn a_wrong_answer_is_a_fault_of_the_run_and_so_is_a_program_that_measures_nothing() {
        let wrong = format!(
            "case \"$*\" in mm*--cycler*) echo '{{\"wrong\":\"it is 5\"}}';; *) {GOOD}\n;; esac"
        );
        for (script, expected) in [
            (
                wrong.as_str(),
                "mm 32 on locksley beside cycler(1, 100), P = 2: the answer is wrong: it is 5",
            ),
            (
                "echo because >&2; exit 3",
                "nothing could be measured; calibration cycler(1) on an idle machine",
            ),
            ("exit 0", "nothing could be measured"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let options = options(folder.path(), script);
            trial::has_failed(run(&options), expected, &options.json);
        }
    }
}
