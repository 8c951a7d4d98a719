//! A made-up record, and runs with scripts for programs. Runs with this program's own binary are tested from outside.

use super::once::{Kind, LOCAL};
use super::plan::{Choice, WANTED, plan, subset};
use super::record::{Input, Measurement};
use super::*;
use crate::experiments::figures::Waiting;
use crate::experiments::forkjoin::record::{LeftOut, Runtime};
use crate::experiments::memory;
use crate::experiments::reading::Reading;
use crate::experiments::trial;
use crate::fault::Fault;
use crate::record::Cell;

fn input(kind: &str, size: &str, workers: usize) -> Input {
    Input { kind: kind.to_owned(), size: size.to_owned(), workers }
}

fn runtime(name: &str) -> Runtime {
    Runtime { name: name.to_owned(), version: "<0>".to_owned(), build: None }
}

fn missing() -> LeftOut {
    LeftOut { runtime: "go".to_owned(), reason: "not <here>".to_owned() }
}

fn tiny_plan(inputs: Vec<Input>, runtimes: &[&str]) -> Plan {
    Plan {
        experiment: "channels".to_owned(),
        quick: true,
        seed: 3,
        repeats: 2,
        budget_seconds: 60.0,
        limit_seconds: 60.0,
        inputs,
        runtimes: runtimes.iter().map(|name| runtime(name)).collect(),
        left_out: vec![missing()],
    }
}

/// Ten messages, a ring of two with five turns, two messages for each of a hundred, ten idle processes; made-up times.
pub(crate) fn record() -> Record {
    let inputs = vec![
        input("stream", "10", 1),
        input("stream", "10", 2),
        input("ring", "2x5", 1),
        input("pipeline", "3x10", 2),
        input("fan-out", "2", 1),
        input("idle", "10", 1),
    ];
    let mut header = Header::here(tiny_plan(inputs, &["locksley", "tokio-current", "tokio"]));
    (header.machine.processors, header.machine.quota) = (2, None);
    let mut measurements = Vec::new();
    let mut read = |input: Input, runtime: &str, readings: &[Reading]| {
        for (repeat, &reading) in readings.iter().enumerate() {
            measurements.push(Measurement { cell: input.on(runtime), repeat, reading });
        }
    };
    // Of so many, each.
    let nanos =
        |number: f64, each: f64| Reading::Time { seconds: each * number / 1e9, apart: None };
    let apart = |each: f64, share| Reading::Time { seconds: each / 1e8, apart: Some(share) };
    let bytes = |bytes, future| Reading::Memory { bytes, future };
    let three = [apart(8.0, 0.0), apart(9.0, 0.0), apart(70.0, 0.0)];
    read(input("stream", "10", 1), "locksley", &three);
    read(input("stream", "10", 1), "tokio-current", &[apart(30.0, 0.0)]);
    read(input("stream", "10", 1), "tokio", &[apart(36.0, 0.0)]);
    read(input("stream", "10", 2), "locksley", &[apart(20.0, 0.25)]);
    read(input("ring", "2x5", 1), "locksley", &[nanos(10.0, 50.0)]);
    read(input("ring", "2x5", 1), "tokio", &[nanos(10.0, 100.0)]);
    read(input("pipeline", "3x10", 2), "tokio", &[nanos(10.0, 100.0)]);
    read(input("fan-out", "2", 1), "locksley", &[nanos(200.0, 7.0)]);
    read(input("idle", "10", 1), "locksley", &[bytes(4960, 96), bytes(4800, 96), bytes(6000, 96)]);
    read(input("idle", "10", 1), "tokio", &[bytes(10_000, 112)]);
    Record::of(header, "then".to_owned(), measurements, Vec::new())
}

#[test]
fn figures_are_medians_for_each_of_what_was_counted() {
    let summary = Summary::of(&record());
    assert_eq!(summary.groups.len(), 6);
    let stream = &summary.groups[0];
    let locksley = stream.figure("locksley").unwrap();
    assert!((locksley.each.median - 9.0).abs() < 1e-9, "{locksley:?}");
    assert!((locksley.each.least - 8.0).abs() < 1e-9 && (locksley.each.most - 70.0).abs() < 1e-9);
    assert!((locksley.of_tokio.unwrap() - 0.25).abs() < 1e-9);
    let alone = summary.groups[1].figure("locksley").unwrap();
    assert_eq!((alone.of_tokio, alone.apart), (None, Some(0.25)));
    let of =
        |kind, name: &str| summary.of_kind(kind).next().unwrap().figure(name).unwrap().each.median;
    assert!((of(Kind::Ring, "locksley") - 50.0).abs() < 1e-9);
    // Not each process's, but the whole pipeline's.
    assert!((of(Kind::Pipeline, "tokio") - 100.0).abs() < 1e-9);
    assert!((of(Kind::FanOut, "locksley") - 7.0).abs() < 1e-9);
    let idle = summary.of_kind(Kind::Idle).next().unwrap().figure("locksley").unwrap();
    assert_eq!(idle.waiting, Some(Waiting { future: 96.0, beyond: 392.0 }));
}

#[test]
fn targets_are_reached_or_missed() {
    let mut record = record();
    let verdicts = |record: &Record| -> Vec<(f64, &'static str)> {
        let targets = Summary::of(record).targets;
        targets.iter().map(|target| (target.is.round(), target.verdict())).collect()
    };
    // One channel with one worker and with two, a ring, an idle process; of what has no target there is none.
    let expected = [(9.0, "reached"), (20.0, "missed"), (50.0, "missed"), (392.0, "reached")];
    assert_eq!(verdicts(&record), expected);
    let last = record.measurements.iter().rposition(|found| found.cell.app == "idle").unwrap();
    // Two of three are above now.
    record.measurements[last - 3].reading = Reading::Memory { bytes: 6000, future: 96 };
    assert_eq!(verdicts(&record)[3], (496.0, "missed"));
    record.measurements.retain(|found| found.cell.runtime != "locksley");
    assert!(verdicts(&record).is_empty());
}

#[test]
fn the_table_has_it_all() {
    let record = record();
    let text = table::text(&record, &Summary::of(&record));
    for words in [
        "2 processors",
        "Quick subset",
        "without go: not <here>",
        "messages through one channel, P = 1: ns a message",
        "a token in a ring of 2 processes, P = 1: ns a hop",
        "10 idle processes, P = 1: bytes a process",
        "P = 1: ns a message: 9.00  wanted: at most 10.0: reached",
        "P = 1: ns a hop: 50.0  wanted: at most 40.0: missed",
        "what its channel holds: 392  wanted: at most 400: reached",
    ] {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    let words = |start: &str, place: usize| -> Vec<String> {
        let mut of_runtime = text.lines().filter(|line| line.trim_start().starts_with(start));
        let line = of_runtime.nth(place).unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(words("locksley", 0), ["locksley", "9.00", "8.00", "70.0", "0.25", "0", "%"]);
    assert_eq!(words("locksley", 1), ["locksley", "20.0", "20.0", "20.0", "-", "25", "%"]);
    assert_eq!(words("locksley", 4), ["locksley", "496", "480", "600", "0.50", "96.0", "392"]);
}

#[test]
fn plans_say_what_they_measure() {
    let this = std::path::Path::new("this");
    let (programs, left_out) =
        program::find(this, std::path::Path::new("no such folder"), &[]).unwrap();
    assert_eq!((programs.len(), left_out.len()), (LOCAL.len(), 1));
    let made = |quick| {
        let choice = Choice { quick, ..Choice::default() };
        plan(&choice, &programs, left_out.clone()).unwrap()
    };
    let (quick, full) = (made(true), made(false));
    assert!(quick.repeats >= 5 && full.repeats >= 5);
    assert!(quick.budget_seconds < 60.0 && full.budget_seconds < 3600.0);
    assert!(subset(&quick).contains("ring 1000x300 on 2"), "{}", subset(&quick));
    // Five kinds with one worker and with two; idle ones with one.
    let inputs = 2 * 5 + usize::from(memory::can_be_told());
    for plan in [&quick, &full] {
        assert_eq!(plan.inputs.len(), inputs);
        let cells = plan.cells();
        let singles: Vec<&Cell> =
            cells.iter().filter(|cell| cell.runtime == "tokio-current").collect();
        assert!(!singles.is_empty() && singles.iter().all(|cell| cell.workers == 1));
        assert_eq!(cells.len(), inputs * LOCAL.len() - 5);
    }
    if memory::can_be_told() {
        assert!(full.inputs.contains(&input("idle", "1000000", 1)));
    }
    // What is wanted is measured.
    for (kind, _) in WANTED {
        let is_there = full.inputs.iter().any(|input| input.kind == kind.name());
        assert!(is_there || kind == Kind::Idle && !memory::can_be_told());
    }
}

#[test]
fn plans_are_what_was_chosen() {
    let (this, nowhere) = (std::path::Path::new("this"), std::path::Path::new("no such folder"));
    let named = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let (programs, left_out) =
        program::find(this, nowhere, &named(&["tokio", "locksley", "tokio"])).unwrap();
    let names: Vec<&str> = programs.iter().map(|program| program.runtime.name.as_str()).collect();
    assert_eq!((names, left_out), (vec!["locksley", "tokio"], Vec::new()));
    let chosen = |messages, repeats| {
        let choice = Choice { messages: Some(messages), repeats, ..Choice::default() };
        plan(&choice, &programs, Vec::new())
    };
    let small = chosen(500, Some(1)).unwrap();
    for (kind, size) in
        [("stream", "500"), ("ring", "1000x1"), ("pipeline", "10x500"), ("fan-in", "5")]
    {
        assert!(small.inputs.contains(&input(kind, size, 2)), "{kind} {size}: {small:?}");
    }
    for wrong in [chosen(0, None), chosen(1 << 40, None), chosen(5, Some(0))] {
        assert!(matches!(wrong, Err(Fault::Input(_))), "{wrong:?}");
    }
    for wrong in [&["rayon"][..], &[""], &["locksley", "erlang"], &["go"]] {
        let found = program::find(this, nowhere, &named(wrong));
        assert!(matches!(found, Err(Fault::Input(_))), "{wrong:?}");
    }
    assert!(program::about("go").contains("Go") && program::about("erlang").is_empty());
}

#[test]
fn a_record_is_read_as_it_was_written_and_a_spoilt_one_is_refused() {
    let record = record();
    trial::is_kept(&record);
    let refused = |spoil: &dyn Fn(&mut Record)| trial::is_refused(&record, spoil);
    let time = |seconds, apart| Reading::Time { seconds, apart };
    refused(&|record| record.measurements[0].reading = time(-1.0, None));
    refused(&|record| record.measurements[0].reading = time(1.0, Some(1.5)));
    refused(&|record| record.measurements[0].reading = Reading::Memory { bytes: 1, future: 1 });
    refused(&|record| record.measurements[0].cell.size = "0".to_owned());
    refused(&|record| record.header.plan.inputs[0].kind = "sleep".to_owned());
    refused(&|record| record.header.plan.inputs[0].workers = 0);
    refused(&|record| record.header.machine.processors = 0);
    let is_idle = |found: &Measurement| found.cell.app == "idle";
    let place = record.measurements.iter().position(is_idle).unwrap();
    refused(&|record| record.measurements[place].reading = time(1.0, None));
}

/// Runs with shell scripts for programs.
#[cfg(unix)]
mod scripts {
    use std::path::Path;

    use super::*;
    use crate::record::files;

    /// Good for stream 2 with seed 3, which is 1·3 + 2·4, and for idle 4.
    const GOOD: &str = r#"case "$1" in
        stream) echo '{"runtime":"script","seconds":0.25,"answer":11}';;
        idle) echo '{"runtime":"script","bytes":4096,"future":64,"answer":4}';;
    esac"#;

    fn options(folder: &Path, script: &str) -> Options {
        let inputs = vec![input("stream", "2", 1), input("stream", "2", 2), input("idle", "4", 1)];
        Options {
            plan: tiny_plan(inputs, &["tokio-current", "other"]),
            programs: programs(script),
            json: folder.join("channels.json"),
            out: folder.join("page"),
            fresh: false,
        }
    }

    fn programs(script: &str) -> Vec<Program> {
        ["tokio-current", "other"].map(|name| Program::script(name, script)).to_vec()
    }

    #[test]
    fn a_run_that_was_stopped_goes_on_and_a_finished_one_is_not_redone() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path(), GOOD);
        // What it was to measure with two workers is wrong.
        let wrong = GOOD.replace("\"answer\":11", "\"answer\":10");
        let cheats = format!("if [ \"$3\" = 2 ]; then {wrong}\nelse {GOOD}\nfi");
        options.programs = programs(&cheats);
        let Err(Fault::Run(why)) = run(&options) else { panic!("an answer was wrong") };
        assert!(why.contains("stream 2 on other, P = 2") && why.contains("10 is wrong"), "{why}");
        assert!(!options.json.exists());

        options.programs = programs(GOOD);
        let finished = run(&options).unwrap();
        assert!(!finished.is_old && finished.page.is_file());
        // Twice each: two runtimes on one worker, one of them on two.
        assert_eq!(finished.record.measurements.len(), 2 * (2 + 1 + 2));
        assert!(finished.record.missing.is_empty());
        options.programs = programs("exit 3");
        let again = run(&options).unwrap();
        assert!(again.is_old && again.record == finished.record);
        options.fresh = true;
        assert!(run(&options).is_err(), "it is measured again");
        options.programs.clear();
        let Err(Fault::Run(why)) = run(&options) else { panic!("there is no program") };
        assert!(why.contains("nobody"), "{why}");
    }

    #[test]
    fn what_fails_or_hangs_is_missing_and_the_rest_is_measured() {
        for (fails, expected) in [
            ("echo because >&2; exit 3", "because"),
            ("echo nonsense", "nonsense"),
            (r#"echo '{"bytes":1,"future":1,"answer":11}'"#, "something else"),
            ("exec sleep 1000", "did not end in 2 s"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let mut options = options(folder.path(), GOOD);
            options.plan.limit_seconds = 2.0;
            let script = format!("if [ \"$3\" = 2 ]; then {fails}; else {GOOD}\nfi");
            options.programs[1] = Program::script("other", &script);
            let finished = run(&options).unwrap();
            // Twice each, on one worker.
            assert_eq!(finished.record.measurements.len(), 2 * (2 + 2));
            let [missing] = &finished.record.missing[..] else { panic!("{:?}", finished.record) };
            assert_eq!((missing.cell.runtime.as_str(), missing.repeat), ("other", 0));
            assert!(missing.why.contains(expected), "{missing:?}");
            assert_eq!(files::read::<Record>(&options.json).unwrap(), finished.record);
            let text = table::text(&finished.record, &finished.summary);
            let page = std::fs::read_to_string(&finished.page).unwrap();
            for said in [text, page] {
                assert!(said.contains("missing: stream 2 on other, P = 2: "), "{said}");
            }
        }
    }

    #[test]
    fn a_wrong_answer_is_a_fault_of_the_run_and_so_is_a_program_that_measures_nothing() {
        let wrong = GOOD.replace("\"answer\":11", "\"answer\":10");
        let too_few = GOOD.replace("\"answer\":4}", "\"answer\":3}");
        for (script, expected) in [
            (wrong.as_str(), "10 is wrong; it is 11"),
            (too_few.as_str(), "3 is wrong; it is 4"),
            (
                "echo because >&2; exit 3",
                "nothing could be measured; stream 2 on tokio-current, P = 1",
            ),
            ("echo nonsense", "nonsense"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let options = options(folder.path(), script);
            trial::has_failed(run(&options), expected, &options.json);
        }
    }
}
