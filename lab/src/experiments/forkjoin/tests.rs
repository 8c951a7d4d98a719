//! A made-up record, and runs so small that they say nothing of speed.

use std::fs;
use std::path::Path;

use super::once::{Shape, Subject, Takeover};
use super::plan::{Choice, PLAIN, SERIAL};
use super::record::{INSTRUCTIONS, Reading, Runtime, Size};
use super::summary::Fate;
use super::*;
use crate::fault::Fault;
use crate::record::{Cell, files};

fn tiny_plan() -> Plan {
    let size = |app: &str, size: &str| Size { app: app.to_owned(), size: size.to_owned() };
    Plan {
        experiment: "forkjoin".to_owned(),
        quick: true,
        seed: 3,
        repeats: 2,
        budget_seconds: 60.0,
        limit_seconds: 60.0,
        stuck_limit_seconds: 60.0,
        workers: vec![1, 2],
        inputs: vec![size("fib", "5"), size("tree", "2")],
        shapes: vec!["wait".to_owned(), "spine".to_owned()],
        instructions: None,
    }
}

fn runtime(name: &str) -> Runtime {
    Runtime { name: name.to_owned(), version: "<0>".to_owned(), build: None }
}

/// fib(5) has 7 forks; Ts is 100 ns. One runtime besides.
pub(crate) fn record() -> Record {
    let mut plan = tiny_plan();
    plan.inputs.truncate(1);
    plan.instructions = Some([5, 6]);
    let mut machine = Machine::here();
    (machine.processors, machine.quota) = (2, None);
    let mut measurements = Vec::new();
    let mut read = |app: &str, size: &str, runtime: &str, workers, readings: &[Reading]| {
        let (app, size, runtime) = (app.to_owned(), size.to_owned(), runtime.to_owned());
        let cell = Cell { app, size, runtime, workers };
        for (repeat, &reading) in readings.iter().enumerate() {
            measurements.push(Measurement { cell: cell.clone(), repeat, reading });
        }
    };
    let nanos = |times: [f64; 3]| times.map(|time| Reading::Seconds(time / 1e9));
    read("fib", "5", PLAIN, 1, &nanos([100.0, 90.0, 700.0]));
    read("fib", "5", SERIAL, 1, &nanos([135.0, 135.0, 135.0]));
    read("fib", "5", "locksley", 1, &nanos([800.0, 170.0, 160.0]));
    read("fib", "5", "slow", 1, &[Reading::Never(5.0)]);
    read("fib", "5", "locksley", 2, &nanos([85.0, 85.0, 85.0]));
    let [wait, spine] = [Shape::Wait, Shape::Spine].map(Shape::name);
    let takeover = |first_ms, all_ms| Reading::Takeover(Takeover { first_ms, all_ms });
    read(Subject::STUCK, wait, "locksley", 2, &[Reading::Never(1.0)]);
    let three = [takeover(0.1, 8.0), takeover(0.3, 7.0), takeover(0.2, 9.0)];
    read(Subject::STUCK, spine, "locksley", 2, &three);
    // fib(6) has 12 forks: 5 more.
    read(INSTRUCTIONS, "5", SERIAL, 1, &[Reading::Instructions(1000)]);
    read(INSTRUCTIONS, "6", SERIAL, 1, &[Reading::Instructions(1050)]);
    read(INSTRUCTIONS, "5", "locksley", 1, &[Reading::Instructions(5000)]);
    read(INSTRUCTIONS, "6", "locksley", 1, &[Reading::Instructions(5200)]);
    let header = Header {
        plan,
        machine,
        versions: Versions::of_this_build(),
        runtimes: [SERIAL, PLAIN, "locksley", "slow"].map(runtime).to_vec(),
        left_out: vec![LeftOut { runtime: "other".to_owned(), reason: "not <here>".to_owned() }],
    };
    Record {
        format: Record::FORMAT.to_owned(),
        header,
        started: "then".to_owned(),
        finished: "now".to_owned(),
        measurements,
    }
}

#[test]
fn a_task_is_what_a_fork_costs_beyond_the_serial_code() {
    let summary = Summary::of(&record());
    let [input] = &summary.inputs[..] else { panic!("one input") };
    assert_eq!((input.forks, input.serial.median), (7, 100e-9));
    assert_eq!(input.calls.median, 135e-9);
    let [found] = &input.runtimes[..] else { panic!("one runtime that forks") };
    assert!((found.task_nanos - 10.0).abs() < 1e-9, "(170 - 100)/7, not {}", found.task_nanos);
    assert!((found.best_task_nanos - 10.0).abs() < 1e-9, "(160 - 90)/7");
    assert!((found.over_calls_nanos - 5.0).abs() < 1e-9, "(170 - 135)/7");
    assert!((found.overhead - 1.7).abs() < 1e-9);
    assert_eq!(found.task_instructions, Some(40.0 - 10.0));
    let [one, two] = &found.points[..] else { panic!("P = 1 and P = 2") };
    assert_eq!((one.workers, one.of_work), (1, Some(1.0)));
    assert!((two.of_work.unwrap() - 0.5).abs() < 1e-9);
    assert!((two.speedup.unwrap() - 100.0 / 85.0).abs() < 1e-9);
}

#[test]
fn a_stuck_owner_has_a_median_and_a_worst_case_or_none() {
    let summary = Summary::of(&record());
    let [wait, spine] = &summary.stuck[..] else { panic!("two shapes") };
    assert_eq!(wait.runtimes, [("locksley".to_owned(), Fate::Never(1.0))]);
    let median = Takeover { first_ms: 0.2, all_ms: 8.0 };
    let worst = Takeover { first_ms: 0.3, all_ms: 9.0 };
    assert_eq!(spine.runtimes, [("locksley".to_owned(), Fate::Done { median, worst, number: 3 })]);
}

#[test]
fn the_table_has_it_all() {
    let record = record();
    let text = table::text(&record, &Summary::of(&record));
    for words in [
        "fib 5: 7 forks",
        "without other: not <here>",
        "never (in 1 s)",
        "0.20 (0.30)",
        "took 7.8 times",
        "given up: slow",
    ] {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    let line = text.lines().find(|line| line.trim_start().starts_with("locksley ")).unwrap();
    assert!(line.contains("10.00") && line.contains("30.0") && line.contains("0.50"), "{line}");
}

#[test]
fn plans_keep_to_sizes_that_can_be_computed() {
    let quick = plan::plan(&Choice { quick: true, ..Choice::default() }, 2).unwrap();
    assert_eq!(quick.workers, [1, 2, 4]);
    assert!(plan::subset(&quick).contains("fib 30, tree 20"));
    let full = plan::plan(&Choice::default(), 8).unwrap();
    assert_eq!(full.workers, [1, 2, 8, 16]);
    assert_eq!(full.inputs[1].size, "24");
    assert!(full.repeats >= 7);
    for wrong in [
        Choice { fib: Some(61), ..Choice::default() },
        Choice { tree: Some(1), ..Choice::default() },
        Choice { repeats: Some(0), ..Choice::default() },
    ] {
        assert!(plan::plan(&wrong, 2).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_record_is_read_as_it_was_written_and_a_spoilt_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.json");
    let mut record = record();
    files::write(&path, &record).unwrap();
    assert_eq!(files::read::<Record>(&path).unwrap(), record);
    assert_eq!(files::format_of(&path).as_deref(), Some(Record::FORMAT));
    assert!(files::read::<crate::record::Record>(&path).is_err(), "it is no record of a cliff");
    record.measurements[0].reading = Reading::Seconds(-1.0);
    files::write(&path, &record).unwrap();
    assert!(files::read::<Record>(&path).is_err());
}

/// Runs with shell scripts for programs.
#[cfg(unix)]
mod scripts {
    use super::*;

    /// What a good program says.
    const GOOD: &str = r#"case "$1" in
        fib) echo '{"runtime":"script","seconds":0.25,"answer":5}';;
        tree) echo "{\"runtime\":\"script\",\"seconds\":0.5,\"answer\":$SUM}";;
        stuck) echo '{"runtime":"script","first_ms":0.5,"all_ms":8.5}';;
    esac"#;

    fn program(name: &str, script: &str) -> Program {
        let sum = Subject::Tree(2).answer(tiny_plan().seed).unwrap().to_string();
        let script = script.replace("$SUM", &sum);
        Program::for_test(runtime(name), "sh", &["-c", &script, "sh"])
    }

    fn options(folder: &Path, programs: Vec<Program>) -> Options {
        Options {
            plan: tiny_plan(),
            programs,
            left_out: Vec::new(),
            json: folder.join("forkjoin.json"),
            out: folder.join("page"),
            fresh: false,
        }
    }

    fn journal_of(json: &Path) -> PathBuf {
        json.with_file_name("forkjoin.json.part")
    }

    #[test]
    fn what_hangs_is_given_up_and_not_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let hangs =
            r#"if [ "$1 $2" = "stuck wait" ]; then exec sleep 1000; fi; "#.to_owned() + GOOD;
        let programs = vec![program(SERIAL, GOOD), program("hangs", &hangs)];
        let mut options = options(folder.path(), programs);
        options.plan.stuck_limit_seconds = 0.3;
        let record = run(&options).unwrap().record;
        let fates: Vec<&Measurement> =
            record.measurements.iter().filter(|found| found.cell.app == Subject::STUCK).collect();
        let never: Vec<_> =
            fates.iter().filter(|found| matches!(found.reading, Reading::Never(_))).collect();
        let [never] = never[..] else { panic!("{fates:?}") };
        assert_eq!((never.cell.size.as_str(), never.repeat), ("wait", 0));
        assert_eq!(fates.len(), 3, "the other shape is measured twice: {fates:?}");
    }

    #[test]
    fn a_wrong_answer_and_a_broken_program_are_faults_of_the_run() {
        let wrong = GOOD.replace("\"answer\":5", "\"answer\":8");
        for (script, expected) in [
            (wrong.as_str(), "wrong"),
            ("echo because >&2; exit 3", "because"),
            ("echo nonsense", "nonsense"),
            (r#"echo '{"first_ms":1.0,"all_ms":1.0}'"#, "something else"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let options = options(folder.path(), vec![program(SERIAL, script)]);
            match run(&options) {
                Err(Fault::Run(why)) => assert!(why.contains(expected), "{why}"),
                other => panic!("{script}: {other:?}"),
            }
            assert!(!options.json.exists());
        }
    }

    #[test]
    fn a_run_that_was_stopped_goes_on_and_a_finished_one_is_not_redone() {
        let folder = tempfile::tempdir().unwrap();
        let programs = vec![program(SERIAL, GOOD), program("script", GOOD)];
        let options = options(folder.path(), programs);
        let finished = run(&options).unwrap();
        assert!(!finished.is_old && !journal_of(&options.json).exists());
        // Serial: two inputs; the other: twice as many workers, and two shapes. All of it twice.
        assert_eq!(finished.record.measurements.len(), 2 * (2 + 4 + 2));
        assert!(fs::read_to_string(&finished.page).unwrap().contains("</html>"));
        assert!(run(&options).unwrap().is_old);

        // Stopped in the middle of a line.
        let header = serde_json::to_string(&finished.record.header).unwrap();
        let kept = &finished.record.measurements[..5];
        let lines: String =
            kept.iter().map(|found| serde_json::to_string(found).unwrap() + "\n").collect();
        fs::remove_file(&options.json).unwrap();
        fs::write(journal_of(&options.json), format!("{header}\n{lines}{{\"app\":\"fi")).unwrap();
        let resumed = run(&options).unwrap().record;
        assert_eq!(resumed.measurements[..5], *kept);
        assert_eq!(resumed.measurements.len(), 16);
    }
}
