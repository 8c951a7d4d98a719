//! A made-up record, and runs with scripts for programs. Runs with this program's own binary are tested from outside.

use super::once::{Kind, LOCAL, Subject};
use super::plan::{Choice, plan, subset};
use super::record::{Input, Measurement, Runtime};
use super::*;
use crate::experiments::figures::Waiting;
use crate::experiments::memory;
use crate::experiments::reading::Reading;
use crate::experiments::trial;
use crate::fault::Fault;
use crate::record::Cell;

fn input(kind: &str, size: &str, workers: usize) -> Input {
    Input { kind: kind.to_owned(), size: size.to_owned(), workers }
}

fn tiny_plan(inputs: Vec<Input>, runtimes: &[&str]) -> Plan {
    let runtime = |name: &&str| Runtime { name: (*name).to_owned(), version: "<0>".to_owned() };
    Plan {
        experiment: "wait".to_owned(),
        quick: true,
        seed: 3,
        repeats: 2,
        budget_seconds: 60.0,
        limit_seconds: 60.0,
        inputs,
        runtimes: runtimes.iter().map(runtime).collect(),
    }
}

/// Ten tasks, ten round trips, ten waiting tasks, 2 and 20 threads; made-up times.
pub(crate) fn record() -> Record {
    let inputs = vec![
        input("spawn", "10", 1),
        input("spawn", "10", 2),
        input("ping-pong", "10", 2),
        input("waiting", "10", 1),
        input("fork", "2x5", 2),
        input("fork", "20", 2),
    ];
    let mut header = Header::here(tiny_plan(inputs, &["locksley", "tokio-current", "tokio"]));
    (header.machine.processors, header.machine.quota) = (2, None);
    let mut measurements = Vec::new();
    let mut read = |input: Input, runtime: &str, readings: &[Reading]| {
        for (repeat, &reading) in readings.iter().enumerate() {
            measurements.push(Measurement { cell: input.on(runtime), repeat, reading });
        }
    };
    // Of ten, each.
    let nanos = |each: f64| Reading::Time { seconds: each * 10.0 / 1e9, apart: None };
    let apart = |each: f64, share| Reading::Time { seconds: each / 1e8, apart: Some(share) };
    let bytes = |bytes, future| Reading::Memory { bytes, future };
    read(input("spawn", "10", 1), "locksley", &[nanos(60.0), nanos(40.0), nanos(700.0)]);
    read(input("spawn", "10", 1), "tokio-current", &[nanos(80.0)]);
    read(input("spawn", "10", 1), "tokio", &[nanos(240.0), nanos(240.0), nanos(250.0)]);
    read(input("spawn", "10", 2), "locksley", &[nanos(90.0)]);
    let three = [apart(50.0, 0.0), apart(5000.0, 1.0), apart(70.0, 0.25)];
    read(input("ping-pong", "10", 2), "locksley", &three);
    read(
        input("waiting", "10", 1),
        "locksley",
        &[bytes(2560, 96), bytes(2480, 96), bytes(2660, 96)],
    );
    read(input("waiting", "10", 1), "tokio", &[bytes(4000, 112)]);
    read(input("fork", "2x5", 2), "locksley", &[nanos(33.0)]);
    read(input("fork", "20", 2), "locksley", &[nanos(44.0)]);
    Record::of(header, "then".to_owned(), measurements, Vec::new())
}

#[test]
fn figures_are_medians_for_each_of_what_was_counted() {
    let summary = Summary::of(&record());
    assert_eq!(summary.groups.len(), 6);
    let spawn = &summary.groups[0];
    let locksley = spawn.figure("locksley").unwrap();
    assert!((locksley.each.median - 60.0).abs() < 1e-9, "{locksley:?}");
    assert!((locksley.each.least - 40.0).abs() < 1e-9 && (locksley.each.most - 700.0).abs() < 1e-9);
    assert!((locksley.of_tokio.unwrap() - 0.25).abs() < 1e-9);
    let single = spawn.figure("tokio-current").unwrap();
    assert!((single.of_tokio.unwrap() - 80.0 / 240.0).abs() < 1e-9);
    let alone = summary.groups[1].figure("locksley").unwrap();
    assert_eq!((summary.groups[1].workers, alone.of_tokio), (2, None));

    let ping_pong = summary.of_kind(Kind::PingPong).next().unwrap().figure("locksley").unwrap();
    assert_eq!(ping_pong.apart, Some(0.25));
    assert!((ping_pong.each.median - 70.0).abs() < 1e-9);

    let waiting = summary.of_kind(Kind::Waiting).next().unwrap();
    let locksley = waiting.figure("locksley").unwrap();
    assert_eq!(locksley.each.median, 256.0);
    assert_eq!(locksley.waiting, Some(Waiting { future: 96.0, beyond: 160.0 }));
    assert_eq!(waiting.figure("tokio").unwrap().waiting.unwrap().beyond, 288.0);

    let forks: Vec<f64> = summary
        .of_kind(Kind::Fork)
        .map(|group| group.figure("locksley").unwrap().each.median)
        .collect();
    // 330 ns for two threads five times; 440 ns for twenty at once.
    assert!((forks[0] - 33.0).abs() < 1e-9 && (forks[1] - 22.0).abs() < 1e-9, "{forks:?}");
}

#[test]
fn the_table_has_it_all() {
    let record = record();
    let text = table::text(&record, &Summary::of(&record));
    for words in [
        "2 processors",
        "Quick subset",
        "spawn and await an empty task, P = 1: ns a task",
        "10 waiting tasks, P = 1: bytes a task",
        "create 20 threads and await their signals, P = 2: ns a thread",
    ] {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    let words = |start: &str, place: usize| -> Vec<String> {
        let mut of_runtime = text.lines().filter(|line| line.trim_start().starts_with(start));
        let line = of_runtime.nth(place).unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(words("locksley", 0), ["locksley", "60.0", "40.0", "700", "0.25"]);
    assert_eq!(words("locksley", 1), ["locksley", "90.0", "90.0", "90.0", "-"]);
    assert_eq!(words("locksley", 2), ["locksley", "70.0", "50.0", "5000", "-", "25", "%"]);
    assert_eq!(words("locksley", 3), ["locksley", "256", "248", "266", "0.64", "96.0", "160"]);
}

#[test]
fn plans_say_what_they_measure() {
    let quick = plan(&Choice { quick: true, ..Choice::default() }).unwrap();
    let full = plan(&Choice::default()).unwrap();
    assert!(quick.repeats >= 5 && full.repeats >= 5);
    assert!(quick.budget_seconds < 60.0 && full.budget_seconds < 1200.0);
    assert!(subset(&quick).contains("spawn 100000 on 1"), "{}", subset(&quick));
    // Four kinds: two of them on one worker and on two, one on one, and three numbers of threads on both.
    let inputs = 2 + 2 + usize::from(memory::can_be_told()) + 2 * 3;
    assert_eq!((quick.inputs.len(), full.inputs.len()), (inputs, inputs));
    for plan in [&quick, &full] {
        let cells = plan.cells();
        let singles: Vec<&Cell> =
            cells.iter().filter(|cell| cell.runtime == "tokio-current").collect();
        assert!(!singles.is_empty() && singles.iter().all(|cell| cell.workers == 1));
        let on_two = plan.inputs.iter().filter(|input| input.workers > 1).count();
        assert_eq!(cells.len(), inputs * LOCAL.len() - on_two);
    }
    if memory::can_be_told() {
        assert!(full.inputs.contains(&input("waiting", "1000000", 1)));
    }
    for size in ["10x50000", "1000x500", "100000x5"] {
        assert!(full.inputs.contains(&input("fork", size, 2)), "{size}");
    }
}

#[test]
fn plans_are_what_was_chosen() {
    let runtimes = vec!["smol".to_owned(), "tokio".to_owned(), "smol".to_owned()];
    let choice = Choice { tasks: Some(50), repeats: Some(1), runtimes, ..Choice::default() };
    let chosen = plan(&choice).unwrap();
    let names: Vec<&str> = chosen.runtimes.iter().map(|runtime| runtime.name.as_str()).collect();
    assert_eq!((names, chosen.repeats), (vec!["tokio", "smol"], 1));
    let forks: Vec<&str> = chosen
        .inputs
        .iter()
        .filter(|input| input.kind == "fork" && input.workers == 1)
        .map(|input| input.size.as_str())
        .collect();
    assert_eq!(forks, ["10x5", "50"]);
    let named = |name: &str| vec![name.to_owned()];
    for wrong in [
        Choice { tasks: Some(0), ..Choice::default() },
        Choice { tasks: Some(1 << 40), ..Choice::default() },
        Choice { repeats: Some(0), ..Choice::default() },
        Choice { runtimes: named("rayon"), ..Choice::default() },
        Choice { runtimes: named(""), ..Choice::default() },
    ] {
        assert!(matches!(plan(&wrong), Err(Fault::Input(_))), "{wrong:?}");
    }
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
    let is_waiting = |found: &Measurement| found.cell.app == "waiting";
    let place = record.measurements.iter().position(is_waiting).unwrap();
    refused(&|record| record.measurements[place].reading = time(1.0, None));
}

/// Runs with shell scripts for programs.
#[cfg(unix)]
mod scripts {
    use std::path::Path;

    use super::*;
    use crate::record::files;

    /// Good for spawn 4 with seed 3, and for waiting 4.
    const GOOD: &str = r#"case "$3" in
        spawn) echo '{"runtime":"script","seconds":0.25,"answer":18}';;
        waiting) echo '{"runtime":"script","bytes":4096,"future":64,"answer":4}';;
    esac"#;

    fn options(folder: &Path, script: &str) -> Options {
        let inputs = vec![input("spawn", "4", 1), input("spawn", "4", 2), input("waiting", "4", 1)];
        Options {
            plan: tiny_plan(inputs, &["tokio-current", "smol"]),
            json: folder.join("wait.json"),
            out: folder.join("page"),
            fresh: false,
            programs: Program::script(script),
        }
    }

    #[test]
    fn a_run_that_was_stopped_goes_on_and_a_finished_one_is_not_redone() {
        assert_eq!(Subject::find("spawn", "4").unwrap().answer(3), 18);
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path(), GOOD);
        // What it was to measure with two workers is wrong.
        let wrong = GOOD.replace("\"answer\":18", "\"answer\":17");
        let cheats = format!("if [ \"$4\" = 2 ]; then {wrong}\nelse {GOOD}\nfi");
        options.programs = Program::script(&cheats);
        let Err(Fault::Run(why)) = run(&options) else { panic!("an answer was wrong") };
        assert!(why.contains("spawn 4 on smol, P = 2") && why.contains("17 is wrong"), "{why}");
        assert!(!options.json.exists());

        options.programs = Program::script(GOOD);
        let finished = run(&options).unwrap();
        assert!(!finished.is_old && finished.page.is_file());
        // Twice each: two runtimes on one worker, one of them on two.
        assert_eq!(finished.record.measurements.len(), 2 * (2 + 1 + 2));
        assert!(finished.record.missing.is_empty());
        options.programs = Program::script("exit 3");
        let again = run(&options).unwrap();
        assert!(again.is_old && again.record == finished.record);
        options.fresh = true;
        assert!(run(&options).is_err(), "it is measured again");
    }

    #[test]
    fn what_fails_or_hangs_is_missing_and_the_rest_is_measured() {
        for (fails, expected) in [
            ("echo because >&2; exit 3", "because"),
            ("echo nonsense", "nonsense"),
            (r#"echo '{"bytes":1,"future":1,"answer":18}'"#, "something else"),
            ("exec sleep 1000", "did not end in 2 s"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let script = format!("if [ \"$4\" = 2 ]; then {fails}; else {GOOD}\nfi");
            let mut options = options(folder.path(), &script);
            options.plan.limit_seconds = 2.0;
            let finished = run(&options).unwrap();
            // Twice each, on one worker.
            assert_eq!(finished.record.measurements.len(), 2 * (2 + 2));
            let [missing] = &finished.record.missing[..] else { panic!("{:?}", finished.record) };
            assert_eq!((missing.cell.runtime.as_str(), missing.repeat), ("smol", 0));
            assert!(missing.why.contains(expected), "{missing:?}");
            assert_eq!(files::read::<Record>(&options.json).unwrap(), finished.record);
            let text = table::text(&finished.record, &finished.summary);
            let page = std::fs::read_to_string(&finished.page).unwrap();
            for said in [text, page] {
                assert!(said.contains("missing: spawn 4 on smol, P = 2: "), "{said}");
            }
        }
    }

    #[test]
    fn a_wrong_answer_is_a_fault_of_the_run_and_so_is_a_program_that_measures_nothing() {
        let wrong = GOOD.replace("\"answer\":18", "\"answer\":17");
        let too_few = GOOD.replace("\"answer\":4}", "\"answer\":3}");
        for (script, expected) in [
            (wrong.as_str(), "17 is wrong; it is 18"),
            (too_few.as_str(), "3 is wrong; it is 4"),
            (
                "echo because >&2; exit 3",
                "nothing could be measured; spawn 4 on tokio-current, P = 1",
            ),
            ("echo nonsense", "nonsense"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let options = options(folder.path(), script);
            trial::has_failed(run(&options), expected, &options.json);
        }
    }
}
