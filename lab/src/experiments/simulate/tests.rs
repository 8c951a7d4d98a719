use super::program::{
    FAILED, Line, NEIGHBOURS, OTHER, RUN, STEALS, Simulator, TRANSFERS, WAKE_UPS, graver,
};
use super::*;
use crate::experiment::{html, record, text};

fn plan(quick: bool, processors: &[usize]) -> Plan {
    let mut plan = Plan { quick, ..Plan::default() };
    plan.parameters.insert(SIMULATED.to_owned(), "ice-lake, linux-6.18".to_owned());
    RUNTIMES.iter().for_each(|(name, about)| plan.compare(name, "1", about));
    add_cells(&mut plan, &KINDS, processors, 3);
    plan
}

#[test]
fn a_plan_has_each_cell_once_and_a_start_for_each_runtime_and_number() {
    for quick in [true, false] {
        let plan = plan(quick, &[1, 16, 256]);
        let cells = plan.cells.iter().map(|it| (&it.subject, &it.runtime, it.workers));
        assert!(cells.clone().all_unique());
        assert!(cells.clone().all(|it| Subject::find(it.0).is_ok_and(|found| found.is_of(it.1))));
        let on_most = cells.clone().filter(|it| it.2 == 256 && it.0 != START);
        assert_eq!(quick, on_most.map(|it| it.0).all_equal());
        for (runtime, workers) in plan.runtimes.iter().cartesian_product([1, 16, 256]) {
            let is_there = plan.cells.iter().any(|it| it.is(START, &runtime.name, workers));
            assert_eq!(is_there, !quick || workers < 256 || runtime.name != HOOD);
        }
        let kinds = cells.clone().map(|it| Subject::find(it.0).unwrap().kind).unique();
        assert_eq!(kinds.sorted().collect_vec(), KINDS.into_iter().sorted().collect_vec());
        let shared = cells.filter(|it| Subject::find(it.0).unwrap().busy > 0);
        let expected: &[usize] = if quick { &[16] } else { &[16, 256] };
        assert_eq!(shared.map(|it| it.2).unique().sorted().collect_vec(), expected);
    }
}

#[test]
fn processors_that_are_shown_in_detail_are_in_the_plan() {
    assert_eq!(detailed(&plan(true, &[1, 64, 256])), [64, 256]);
    assert_eq!(detailed(&plan(true, &[1, 32])), [32]);
    assert!(detailed(&Plan::default()).is_empty());
}

#[test]
fn subjects_are_texts_with_a_work_and_an_ideal_time() {
    let known = [
        ("tree:64:1000", 64.0, 64e-6, 4e-6),
        ("loop:65:2000", 65.0, 130e-6, 10e-6),
        ("rounds:2:50000:32:10000", 64.0, 740e-6, 140e-6),
        ("producer:16:1000", 16.0, 16e-6, 1e-6),
        ("scatter:17:2:1000", 34.0, 34e-6, 4e-6),
        ("storm:3:16:1000:100000", 48.0, 48e-6, 303e-6),
        ("callers:32:10:1000", 320.0, 320e-6, 20e-6),
        ("idle:1000000", 0.0, 0.0, 1e-3),
        ("tree:64:10000 beside 4", 64.0, 640e-6, 40e-6),
    ];
    for (text, tasks, work, ideal) in known {
        let subject = Subject::find(text).unwrap();
        assert_eq!(subject.to_string(), text);
        assert_eq!(subject.tasks(), tasks, "{text}");
        assert!((subject.work() - work).abs() < 1e-12, "{text}: {}", subject.work());
        assert!((subject.ideal(16) - ideal).abs() < 1e-12, "{text}: {}", subject.ideal(16));
    }
    let wrong = ["", "tree", "tree:1", "tree:0:1", "tree:1:2:3", "tree:1:x", "bush:1:2"];
    for text in wrong.into_iter().chain(["tree:1:2 beside", "tree:1:2 beside x"]) {
        assert!(Subject::find(text).is_err(), "{text}");
    }
    let about = |text: &str| Subject::find(text).unwrap().about();
    assert_eq!(
        about("rounds:2:50000:32:10000 beside 3"),
        "rounds: 2 × 50 µs + 32 of 10 µs, beside 3"
    );
    assert_eq!([about("tree:64:500"), about("idle:2000000")], ["tree: 64 of 0.5 µs", "idle: 2 ms"]);
    let of = |text: &str, runtime| Subject::find(text).unwrap().is_of(runtime);
    assert!(of("producer:1:1", "rayon") && !of("producer:1:1", "classic-bws"));
    assert!(of("callers:1:1:1", STATIC) && !of("callers:1:1:1", "classic-abp"));
    assert!(!of("idle:2", STATIC) && of(START, STATIC));
}

#[test]
fn conditions_are_read_as_they_are_written() {
    let tree = "knary:4:3:1:1000";
    let text = format!("{tree} on 8 under benign:4:1000 within 100");
    let subject = Subject::find(&text).unwrap();
    assert_eq!(subject.to_string(), text);
    assert_eq!([2, 64].map(|workers| subject.granted(workers)), [2, 4]);
    assert_eq!(Subject::find(tree).unwrap().granted(64), 64);
    // 1 + 3 + 9 + 27 nodes, of which 1 + 2 + 4 + 8 are one after another.
    assert!((subject.work() - 40e-6).abs() < 1e-12 && (subject.span() - 15e-6).abs() < 1e-12);
    let beside = "tree:8:1000 for 100 beside =tree:4:10";
    assert_eq!(Subject::find(beside).unwrap().to_string(), beside);
    for wrong in ["on", "on x", "for 1 2", "beside tree:4:10", "by 3", "within x"] {
        assert!(Subject::find(&format!("tree:1:2 {wrong}")).is_err(), "{wrong}");
    }
    assert!(Subject::find("knary:64:3:1:1").is_err() && Subject::find("knary:4:3:3:1").is_err());
}

const LINE: &str = r#"{"seconds":0.02,"work_seconds":0.00064,"run_seconds":0.5,
    "delay_seconds":0.1,"virtual_seconds":0.05,"host_seconds":1,"hash":"00ff","events":9,
    "transfers":70,"invalidations":3,"voluntary_switches":5,"involuntary_switches":0,"migrations":0,
    "counters":{"steals":7,"sleeps":2},"neighbours":[["busy loops",100]],
    "hottest":[{"transfers":9,"waited_seconds":0.1,"sites":[["a.rs:1",6],["a.rs:2",3]]}],
    "sites":[["a.rs:1",8],["a.rs:2",3]]}"#;

fn readings(line: &str, subject: &str) -> Result<Readings, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    line.readings(&Subject::find(subject).unwrap()).map_err(|fault| fault.to_string())
}

#[test]
fn a_line_of_the_simulator_is_read() {
    let alone = readings(LINE, "tree:64:10000").unwrap();
    let expected = [
        (SECONDS, 0.02),
        (RUN, 0.5),
        (TRANSFERS, 70.0),
        (WAKE_UPS, 5.0),
        (STEALS, 7.0),
        ("transfers at a.rs:1", 8.0),
        ("transfers at a.rs:2", 3.0),
    ];
    assert_eq!(alone, named(expected));
    let beside = readings(LINE, "tree:64:10000 beside 2").unwrap();
    assert_eq!(beside[NEIGHBOURS], 0.1 / 0.05);
}

#[test]
fn a_line_of_something_else_is_refused() {
    let said = readings(LINE, "tree:64:1000").unwrap_err();
    assert!(said.contains("0.00064 s of 0.000064 s of work"), "{said}");
    for (from, to) in [("0.02", "0"), ("0.02", "-1")] {
        let said = readings(&LINE.replace(from, to), "tree:64:10000").unwrap_err();
        assert!(said.ends_with(&format!("of work in {to} s")), "{said}");
    }
    for (from, to) in [("0.02", "null"), ("\"transfers\":70,", ""), ("]]}", "")] {
        assert!(readings(&LINE.replace(from, to), "tree:64:10000").is_err(), "{from}");
    }
}

#[test]
fn wrong_answers_deadlocks_and_panics_are_faults_of_the_run() {
    let fault = |said: &str| graver(Fault::Missing(format!("it ended with exit status: {said}")));
    for said in ["2: wrong: 3 leaves, where there are 4", "2: deadlock: all sleep"] {
        assert!(matches!(fault(said), Fault::Run(_)), "{said}");
    }
    assert!(matches!(fault("101: thread 'main' panicked at a.rs"), Fault::Run(_)));
    assert!(matches!(fault("2: the program runs at the time limit"), Fault::Missing(_)));
}

#[test]
fn a_simulator_that_is_missing_is_refused_in_a_line() {
    let path = std::path::Path::new("/no/such/simulator");
    let Err(Fault::Input(said)) = Simulator::find(Some(path), "guest", "linux-6.18") else {
        panic!("there is none")
    };
    assert!(said.contains("/no/such/simulator") && said.contains("cargo build"), "{said}");
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn only_networks_keep_failed_steals() {
    let line = LINE.replace("\"sleeps\":2", "\"failed steals\":9");
    assert!(!readings(&line, "tree:64:10000").unwrap().contains_key(FAILED));
    assert_eq!(readings(&line, "scatter:8:8:10000").unwrap()[FAILED], 9.0);
}

#[test]
fn the_time_of_the_other_program_is_read() {
    let subject = "tree:64:10000 for 10 beside =tree:8:10000";
    let line = LINE.replace("\"busy loops\",100", "\"runtime\",3000000");
    assert_eq!(readings(&line, subject).unwrap()[OTHER], 0.003);
    let said = readings(&line.replace("3000000", "0"), subject).unwrap_err();
    assert!(said.contains("computed nothing"), "{said}");
}

/// The plan of a study, and an empty record of it.
fn study(name: &str) -> Record {
    let study = STUDIES.iter().find(|study| study.name == name).unwrap();
    let mut plan = Plan::default();
    plan.parameters.insert(STUDY.to_owned(), name.to_owned());
    study.runtimes.iter().for_each(|(name, about)| plan.compare(name, "1", about));
    (study.add_cells)(&mut plan, 3);
    assert!(plan.cells.iter().map(|it| (&it.subject, &it.runtime, it.workers)).all_unique());
    for cell in &plan.cells {
        assert!(Subject::find(&cell.subject).is_ok(), "{}", cell.subject);
        assert!(study.runtimes.iter().any(|it| it.0 == cell.runtime), "{}", cell.runtime);
    }
    Record::new(Simulate::NAME, plan)
}

/// Adds what `value` gives for each cell.
fn fill<'v>(record: &mut Record, value: impl Fn(&Cell) -> Vec<(&'v str, f64)>) {
    for cell in &record.plan.cells {
        for (metric, value) in value(cell) {
            record.samples.push(record::Sample {
                experiment: Simulate::NAME.to_owned(),
                subject: cell.subject.clone(),
                runtime: cell.runtime.clone(),
                workers: cell.workers,
                repeat: 0,
                metric: metric.to_owned(),
                value,
            });
        }
    }
}

#[test]
fn studies_are_found_by_their_names() {
    for study in &STUDIES {
        let arguments = ["locksley", "simulate", "--study", study.name].map(Into::into);
        assert!(crate::cli::parse(arguments).is_ok(), "{}", study.name);
    }
    for wrong in [&["--study", "cilk"][..], &["--study", "hood", "--kinds", "tree"]] {
        let arguments = ["locksley", "simulate"].iter().chain(wrong).map(Into::into);
        assert!(crate::cli::parse(arguments).is_err(), "{wrong:?}");
    }
}

#[test]
fn hoods_constants_are_those_that_its_trees_have() {
    let mut record = study("hood");
    let is_starved =
        |cell: &Cell| cell.runtime == "classic-naive" && cell.subject.contains("adaptive");
    fill(&mut record, |cell| {
        let subject = Subject::find(&cell.subject).unwrap();
        let granted = subject.granted(cell.workers) as f64;
        assert_eq!(granted, if cell.workers == 1024 { 128.0 } else { 8.0 });
        let time = 1.25 * subject.work() + 3.0 * subject.span() * cell.workers as f64;
        if is_starved(cell) { Vec::new() } else { vec![(SECONDS, time / granted)] }
    });
    let starved = record.plan.cells.iter().filter(|cell| is_starved(cell));
    let missing =
        |cell: &Cell| record::Missing { cell: cell.clone(), repeat: 0, why: String::new() };
    record.missing = starved.map(missing).collect();
    let report = Simulate::report(&record);
    let constants = &report.sections[0].tables[0].rows;
    let of = |runtime: &str, adversary: &str| {
        let is_it = |row: &&Vec<String>| row[0].contains(adversary) && row[1] == runtime;
        constants.iter().find(is_it).unwrap().clone()
    };
    let row = of("classic-hood", "on 8");
    assert_eq!([&row[2], &row[3], &row[5], &row[8]], ["8, 16, 32, 64", "1.250", "3.00", "20"]);
    assert_eq!(row[9..], ["20", "0"], "all lie under the curve with smaller constants");
    assert_eq!(of("classic-naive", "adaptive")[8..], ["", "0", "5"]);
    assert_eq!(of("classic-hood", "adaptive:128")[2], "1024");
    let rows = &report.sections[1].tables[0].rows;
    let row = rows.iter().find(|row| row[0].starts_with("knary:7:4:0") && row[3] == "8").unwrap();
    // 5461 nodes, 7 of them in a row.
    let x = 8.0 * 7.0 / 5461.0;
    let utilization = 1.0 / (1.25 + 3.0 * x);
    assert_eq!(
        row[4..],
        [format!("{x:.3}"), format!("{utilization:.3}"), format!("{:.2}", 8.0 * utilization)]
    );
}

#[test]
fn bws_pairs_have_the_papers_figures() {
    let mut record = study("bws");
    fill(&mut record, |cell| match &*cell.runtime {
        // Alone in a second; beside another program, the first one in 3 s and the other in 2 s.
        "classic-abp" | "classic-bws-kernel" if cell.subject.contains(" beside ") => {
            vec![(SECONDS, 3.0), (OTHER, 2.0)]
        }
        "classic-abp" => vec![(SECONDS, 1.0)],
        "classic-bws-kernel" => vec![(SECONDS, 2.0)],
        _ => Vec::new(),
    });
    let report = Simulate::report(&record);
    let [means, all] = &report.sections[0].tables[..] else { panic!("there are two") };
    assert_eq!(all.rows[0], ["bfs+ep", "16", "classic-abp", "200 / 100", "100", "0.83"]);
    // Its slowdowns are over its own time alone, its throughput over ABP's.
    assert_eq!(means.rows[4], ["16", "classic-bws-kernel", "all", "10", "50", "0.83"]);
    let numbers = means.rows[..4].iter().map(|row| &*row[3]).collect_vec();
    assert_eq!(numbers, ["10", "1", "3", "6"]);
    let alone = &report.sections[1].tables[0].rows;
    assert_eq!(alone[0], ["bfs", "1", "16", "classic-abp", "0.41", "0.50"]);
}

#[test]
fn lassis_queues_are_beside_deques_of_workers() {
    let mut record = study("lassi");
    fill(&mut record, |cell| {
        let ideal = Subject::find(&cell.subject).unwrap().ideal(cell.workers);
        let factor = if cell.runtime == "lassi-queue" { 4.0 } else { 2.0 };
        vec![(SECONDS, factor * ideal)]
    });
    let report = Simulate::report(&record);
    let rows = &report.sections[0].tables[0].rows;
    assert_eq!(rows[0][1..], ["8", "lassi-workers", "0.500", "1.000"]);
    let queue = rows.iter().find(|row| row[2] == "lassi-queue").unwrap();
    assert_eq!(queue[3..], ["0.250", "2.000"]);
}

#[test]
fn nornirs_networks_have_the_work_of_their_figures() {
    let plan = study("nornir").plan;
    assert_eq!(plan.cells.len(), 2 * 4 * 2 + 6 * 2 + 33);
    for cell in &plan.cells[..16] {
        assert!((Subject::find(&cell.subject).unwrap().work() - 2.0).abs() < 1e-9);
    }
    let is_there = |subject: &str, name| plan.cells.iter().any(|it| it.is(subject, name, 8));
    let [last, current] = ["nornir-last", "nornir-cur"];
    assert!(is_there("scatter:250:800:10000", last) && is_there("scatter:250:800:10000", current));
    assert!(is_there("scatter:48:20:800000", last) && !is_there("scatter:48:20:800000", current));
}

#[test]
fn a_report_of_nornirs_study_has_speedups_and_attempts() {
    let mut record = Record::new(Simulate::NAME, Plan::default());
    record.plan.parameters.insert(STUDY.to_owned(), "nornir".to_owned());
    record.plan.add("scatter:50:40:1000000", "nornir-last", 8, 2);
    record.plan.add("scatter:50:40:1000000", "nornir-cur", 8, 2);
    // 2 s of work in 0.5 s; what has not run has no row.
    let values = [(SECONDS, [0.4, 0.6]), (STEALS, [1000.0, 1000.0]), (FAILED, [3000.0, 5000.0])];
    for (metric, values) in values {
        for (repeat, value) in values.into_iter().enumerate() {
            record.samples.push(record::Sample {
                experiment: Simulate::NAME.to_owned(),
                subject: "scatter:50:40:1000000".to_owned(),
                runtime: "nornir-last".to_owned(),
                workers: 8,
                repeat,
                metric: metric.to_owned(),
                value,
            });
        }
    }
    let report = Simulate::report(&record);
    let expected = ["scatter:50:40:1000000", "nornir-last", "8", "4.00", "10.0"];
    assert_eq!(report.sections[0].tables[0].rows, [expected]);
    assert!(report.notes[0].starts_with("Simulated"));
}

/// A record in which Locksley is behind in one of two cells.
fn record() -> Record {
    let mut record = Record::new(Simulate::NAME, plan(true, &[1, 64]));
    let mut add = |subject: &str, runtime: &str, workers, values: &[(&str, f64)]| {
        for (metric, value) in values {
            record.samples.push(record::Sample {
                experiment: Simulate::NAME.to_owned(),
                subject: subject.to_owned(),
                runtime: runtime.to_owned(),
                workers,
                repeat: 0,
                metric: (*metric).to_owned(),
                value: *value,
            });
        }
    };
    let tree = "tree:65536:10000";
    for (runtime, seconds) in [(LOCKSLEY, 0.0128), ("classic-bws", 0.01024)] {
        add(tree, runtime, 1, &[(SECONDS, 0.65536)]);
        let costs = [(SECONDS, seconds), (RUN, 1.0), (TRANSFERS, 75_536.0), (WAKE_UPS, 90.0)];
        add(tree, runtime, 64, &costs);
        add(START, runtime, 64, &[(RUN, 0.01632), (TRANSFERS, 10_000.0), (WAKE_UPS, 80.0)]);
    }
    add(tree, LOCKSLEY, 64, &[(STEALS, 12.0), ("transfers at a.rs:7", 37_768.0)]);
    add("rounds:10:50000:512:10000 beside 4", LOCKSLEY, 16, &[(SECONDS, 0.02), (NEIGHBOURS, 2.0)]);
    add("rounds:10:50000:512:10000", LOCKSLEY, 16, &[(SECONDS, 0.01)]);
    add("callers:1000:4:20000", LOCKSLEY, 64, &[(SECONDS, 0.02)]);
    add("callers:1000:4:20000", STATIC, 64, &[(SECONDS, 0.01)]);
    record
}

#[test]
fn a_report_names_losses_efficiency_and_hot_places() {
    let record = record();
    let report = report::report(&record);
    assert_eq!(
        report.headline,
        "Simulated (ice-lake, linux-6.18): 0.800 of linear on 64 processors (tree: 65536 of \
         10 µs); behind the best other runtime in 1 of 2 cells"
    );
    let rows = |title: &str| {
        let section = report.sections.iter().find(|section| section.title == title).unwrap();
        section.tables.iter().flat_map(|table| table.rows.clone()).collect_vec()
    };
    let tree = "tree: 65536 of 10 µs";
    assert_eq!(rows("Losses"), [[tree, "64", "0.800", "1.000", "classic-bws", "1.25"]]);
    assert_eq!(rows("Efficiency")[0], [tree, LOCKSLEY, "1.000", "", "0.800"]);
    assert_eq!(rows("What it took")[0], [tree, LOCKSLEY, "64", "12.0", "10.0", "1.00", "50.1"]);
    assert_eq!(rows("Hottest places"), [[tree, "64", "a.rs:7", "37768", "50 %"]]);
    let rows = rows("Beside busy threads");
    assert_eq!([&rows[0][2], &rows[1][2]], ["2.00", "0.50"]);
    assert_eq!(report.pictures.len(), 1);
}

#[test]
fn a_page_says_that_it_is_simulated() {
    let record = record();
    let report = report::report(&record);
    assert!(text::tables(&record, &report).starts_with("simulated: ice-lake, linux-6.18, seed 0"));
    let page = html::page(&record, &report);
    assert!(page.contains("· simulated: ice-lake") && page.contains("host: processors allowed"));
    let mut part = record;
    part.samples.clear();
    assert!(!report::report(&part).headline.contains("NaN"));
}
