//! Figures of a made-up record, and peers that are shell scripts.

use super::*;
use crate::experiment::record::Sample;
use crate::random::DEFAULT_SEED;

fn forkjoin() -> Forkjoin {
    let (runtimes, peers) = (Vec::new(), PathBuf::from("no such folder"));
    Forkjoin { runtimes, peers, fib: None, tree: None, instructions: false }
}

fn course(quick: bool) -> Course {
    Course { quick, seed: DEFAULT_SEED, ..Course::default() }
}

fn cell(subject: &str, runtime: &str, workers: usize) -> Cell {
    Cell { subject: subject.to_owned(), runtime: runtime.to_owned(), workers, repeats: 1 }
}

/// fib(5) has 7 forks; Ts is 100 ns.
fn record() -> Record {
    let mut record = Record::new("forkjoin", Plan::default());
    for runtime in [SERIAL, PLAIN, "locksley", "slow"] {
        record.plan.compare(runtime, "<0>", "");
    }
    let mut read = |subject: &str, runtime: &str, workers, metric: &str, values: &[f64]| {
        let [experiment, subject, runtime, metric] =
            ["forkjoin", subject, runtime, metric].map(str::to_owned);
        for (repeat, &value) in values.iter().enumerate() {
            record.samples.push(Sample {
                experiment: experiment.clone(),
                subject: subject.clone(),
                runtime: runtime.clone(),
                workers,
                repeat,
                metric: metric.clone(),
                value,
            });
        }
    };
    read("fib 5", PLAIN, 1, SECONDS, &[100e-9, 90e-9, 700e-9]);
    read("fib 5", SERIAL, 1, SECONDS, &[135e-9]);
    read("fib 5", "locksley", 1, SECONDS, &[800e-9, 170e-9, 160e-9]);
    read("fib 5", "locksley", 2, SECONDS, &[85e-9]);
    // The serial code takes 10 instructions a fork, Locksley 40.
    let forks = (Subject::Fib(27).forks() - Subject::Fib(22).forks()) as f64;
    for (runtime, each) in [(SERIAL, 10.0), ("locksley", 40.0)] {
        read("instructions 22", runtime, 1, INSTRUCTIONS, &[1000.0]);
        read("instructions 27", runtime, 1, INSTRUCTIONS, &[1000.0 + each * forks]);
    }
    record
}

#[test]
fn a_fork_costs_what_it_takes_beyond_the_serial_code() {
    let report = Forkjoin::report(&record());
    let [costs, scales] = &report.sections[..] else { panic!("{report:?}") };
    assert_eq!(report.headline, "A fork that is not stolen, in nanoseconds: locksley 10.0");
    let [table] = &costs.tables[..] else { panic!("{costs:?}") };
    let start = "fib 5: 7 forks; Ts = 1.00e-7 s (longest over shortest: 7.78)";
    assert!(table.title.starts_with(start), "{}", table.title);
    // (170 - 100)/7, (160 - 90)/7, (170 - 135)/7, 40 - 10, 170, 170/100.
    let row = ["locksley", "10.0", "10.0", "5.00", "30.0", "1.70e-7", "1.70"];
    assert_eq!(table.rows, [row.map(str::to_owned)]);
    let lines = &scales.charts[0];
    let (_, line) = lines.lines.iter().find(|line| line.0 == "locksley").unwrap();
    assert!((line[1].1 - 100.0 / 85.0).abs() < 1e-9, "{lines:?}");
    // T1/T2.
    let of_work = &scales.tables[0].rows;
    assert!(of_work.iter().any(|row| row[1] == "locksley" && row[3] == "2.00"), "{of_work:?}");
}

#[test]
fn plans_keep_to_sizes_that_can_be_computed() {
    let quick = forkjoin().plan(&course(true)).unwrap();
    let has = |subject: &str| quick.cells.iter().any(|cell| cell.subject == subject);
    assert!(has("fib 30") && has("tree 20") && !has("instructions 22"));
    assert!(quick.left_out.contains_key("onetbb"));
    assert!(quick.cells.iter().all(|cell| has_forks(&cell.runtime) || cell.workers == 1));
    assert!(numbers(1) == [1, 2] && numbers(8) == [1, 2, 8, 16]);
    for wrong in [
        Forkjoin { fib: Some(61), ..forkjoin() },
        Forkjoin { tree: Some(1), ..forkjoin() },
        Forkjoin { runtimes: vec!["cilk".to_owned()], ..forkjoin() },
    ] {
        assert!(matches!(wrong.plan(&course(true)), Err(Fault::Input(_))), "{wrong:?}");
    }
}

#[test]
fn callgrind_reports_a_number() {
    let report = "==7== Events    : Ir\n==7== Collected : 1234567\n==7== \n";
    assert_eq!(collected(report), Some(1_234_567.0));
    assert_eq!(collected("==7== nothing"), None);
}

#[test]
fn a_line_of_a_peer_is_checked() {
    let nonsense = || Fault::Missing("it printed nonsense".to_owned());
    let says = |line: &str, subject: &str| {
        let line: Line = serde_json::from_str(line).map_err(|_| nonsense())?;
        checked(&line, Subject::find(subject).unwrap(), 7)
    };
    let fib = r#"{"runtime":"a","seconds":0.25,"answer":5}"#;
    assert_eq!(says(fib, "fib 5").unwrap()[SECONDS], 0.25);
    assert_eq!(says(fib, "fib 6"), Err(Fault::run("the answer is wrong: 5, and not 8")));
    for line in ["because", r#"{"first_ms":0.5}"#] {
        assert_eq!(says(line, "fib 5"), Err(nonsense()));
    }
    let command = forkjoin().command(&cell("fib 5", "onetbb", 2), 7).unwrap();
    assert!(command.get_args().eq(["fib", "5", "2", "7"]));
}
