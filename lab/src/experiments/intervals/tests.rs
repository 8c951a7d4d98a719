//! A made-up record, what becomes of it, and a tiny run.

use super::plan::{plan, subset};
use super::record::{Measurement, Reading};
use super::summary::{Ratio, ratios};
use super::*;
use crate::experiments::trial;
use crate::fault::Fault;
use crate::record::{Cell, Input, files};

fn tiny_plan() -> Plan {
    let mut plan = plan(true, 3, Some(1), 2, None).unwrap();
    plan.times.workers = vec![1, 2, 4];
    let input = |app: &str, size: &str| Input {
        app: app.to_owned(),
        size: size.to_owned(),
        shows: "<tiny>".to_owned(),
    };
    plan.times.inputs =
        vec![input("heat", "40x600x4"), input("lu", "128"), input("msort", "40961")];
    plan.times.inputs.extend([input("sorters", "4000x9"), input("sorters", "4000x9-worst")]);
    (plan.chain, plan.graph) = (1500, 2000);
    plan
}

/// Two processors; with four workers, fork and join take half as long again as the graph.
pub(crate) fn record() -> Record {
    let mut plan = tiny_plan();
    plan.times.inputs.truncate(1);
    plan.times.runtimes.push("onetbb-flow".to_owned());
    plan.peer = Some("<9>".to_owned());
    let mut header = Header::here(plan);
    (header.machine.processors, header.machine.quota) = (2, None);
    let mut measurements = Vec::new();
    let mut add = |app: &str, size: &str, runtime: &str, workers, reading| {
        let cell = Cell { app: app.into(), size: size.into(), runtime: runtime.into(), workers };
        let repeat = measurements.iter().filter(|m: &&Measurement| m.cell == cell).count();
        measurements.push(Measurement { cell, repeat, reading });
    };
    let time = |seconds| Reading::Time { seconds };
    for seconds in [0.0003, 0.0006, 0.0004] {
        add("chain", "1000", "locksley-intervals", 1, time(seconds));
    }
    add("chain", "1000", "onetbb-flow", 1, time(0.0009));
    add("graph", "1000", "locksley-intervals", 1, Reading::Memory { bytes: 187_000 });
    add("heat", "40x600x4", "serial", 1, time(4.0));
    for (runtime, times) in [("locksley-intervals", [4.2, 2.1, 2.2]), ("locksley", [4.2, 2.1, 3.3])]
    {
        for (workers, seconds) in [1, 2, 4].into_iter().zip(times) {
            add("heat", "40x600x4", runtime, workers, time(seconds));
        }
    }
    Record::of(header, "then".to_owned(), measurements, Vec::new())
}

#[test]
fn figures_are_medians_for_each_interval_and_ratios_of_medians() {
    let summary = Summary::of(&record());
    let costs: Vec<_> = (summary.costs.iter())
        .map(|figure| (figure.runtime.as_str(), figure.unit, figure.each.median.round()))
        .collect();
    let ours = "locksley-intervals";
    assert_eq!(costs, [(ours, "ns", 400.0), ("onetbb-flow", "ns", 900.0), (ours, "bytes", 187.0)]);
    let [heat] = &summary.times.inputs[..] else { panic!("one input") };
    let [one, two, four] = ratios(heat)[..] else { panic!("three numbers of workers") };
    assert_eq!([one, two], [1, 2].map(|workers| Ratio { workers, ratio: 1.0 }));
    assert!(four.workers == 4 && (four.ratio - 1.5).abs() < 1e-9);
}

#[test]
fn the_table_has_it_all() {
    let record = record();
    let text = table::text(&record, &Summary::of(&record));
    for words in
        ["2 processors", "Quick subset", "heat 40x600x4", "187 bytes", "400 ns (300 to 600)"]
    {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    let line = |start: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(start)).unwrap();
        line.split_whitespace().rev().take(3).collect::<Vec<_>>()
    };
    assert_eq!(line("fork and join over"), ["1.50", "1.00", "1.00"]);
    assert_eq!(line("locksley-intervals"), ["2.200", "2.100", "4.200"]);
}

/// Says what an interval might cost.
#[cfg(unix)]
const COSTS: &str = r#"case "$1" in
    chain) echo '{"time":{"seconds":0.25}}';;
    graph) echo '{"memory":{"bytes":4096}}';;
esac"#;

#[cfg(unix)]
#[test]
fn a_tiny_run_measures_all_and_a_finished_one_is_not_redone() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = Options {
        plan: tiny_plan(),
        json: folder.path().join("intervals.json"),
        out: folder.path().join("out"),
        fresh: false,
        programs: Programs { this: Program::script(COSTS), peer: None },
    };
    let finished = run(&options).unwrap();
    assert!(!finished.is_old && finished.record.missing.is_empty());
    let cells = options.plan.cells().unwrap();
    assert_eq!(finished.record.measurements.len(), cells.len());
    let of = |app: &str| cells.iter().filter(|cell| cell.app == app).count();
    // Of the serial program once; there is no static merge sort.
    assert_eq!(["heat", "lu", "msort"].map(of), [1 + 3 * 5, 1 + 3 * 5, 1 + 3 * 4]);
    // Places are named in one application; bad ones only on intervals.
    assert_eq!(of("sorters"), (1 + 3 * 5) + (1 + 3));
    assert_eq!(summary::ratios(&finished.summary.times.inputs[4]), []);
    assert_eq!(summary::ratios(&finished.summary.times.inputs[1]).len(), 3);
    let page = std::fs::read_to_string(&finished.page).unwrap();
    let again = run(&options).unwrap();
    assert!(again.is_old && again.record == finished.record);
    assert_eq!(std::fs::read_to_string(again.page).unwrap(), page);
    options.plan.times.inputs[1].size = "17".to_owned();
    assert!(matches!(run(&options), Err(Fault::Run(_))), "such a matrix there is not");
}

#[test]
fn plans_say_what_they_measure() {
    let quick = plan(true, 1, None, 2, None).unwrap();
    assert_eq!(quick.times.workers, [1, 2, 8, 16]);
    assert!(quick.times.budget_seconds < 60.0 && quick.times.repeats >= 5);
    assert!(subset(&quick).contains("heat 1024x512x60"), "{}", subset(&quick));
    // What is asked of this experiment first: edges or barriers, where there are many more workers than processors.
    for name in ["locksley-intervals", "locksley-intervals-oldest", "locksley", "rayon", "static"] {
        let is_it = |cell: &Cell| cell.app == "heat" && cell.runtime == name && cell.workers == 16;
        assert_eq!(quick.cells().unwrap().iter().filter(|cell| is_it(cell)).count(), 2, "{name}");
    }
    let full = plan(false, 1, None, 24, None).unwrap();
    assert_eq!(full.times.workers, [1, 24, 48, 96, 192]);
    assert!(full.times.budget_seconds < 3600.0 && full.graph == 1_000_000);
    assert_eq!(plan(true, 1, None, 1, None).unwrap().times.workers, [1, 4, 8]);
    assert!(matches!(plan(true, 1, Some(0), 2, None), Err(Fault::Input(_))));
}

#[test]
fn a_peer_that_is_not_there_is_left_out_and_one_that_is_has_graphs_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let why = Peer::find(folder.path()).unwrap_err();
    assert!(why.contains("peers/build"), "{why}");
    let without = plan(true, 1, None, 2, None).unwrap();
    assert!(without.cells().unwrap().iter().all(|cell| cell.runtime != "onetbb-flow"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        use crate::experiments::memory;

        let file = folder.path().join("flow-onetbb");
        let script = "#!/bin/sh\ncase \"$1\" in\n\
            version) echo '{\"version\":\"<9>\"}';;\n\
            heat) echo '{\"seconds\":0.5}';;\n\
            *) echo because >&2; exit 2;;\nesac\n";
        std::fs::write(&file, script).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let peer = Peer::find(folder.path()).unwrap();
        let with = plan(true, 1, None, 2, Some(&peer)).unwrap();
        assert_eq!(with.peer.as_deref(), Some("<9>"));
        let cells = with.cells().unwrap();
        let its: Vec<&Cell> = cells.iter().filter(|cell| cell.runtime == "onetbb-flow").collect();
        assert_eq!(its.len(), 1 + 2 * with.times.workers.len());
        assert_eq!(peer.time(its[1], 1), Ok(Reading::Time { seconds: 0.5 }));
        let Err(why) = peer.time(its[0], 1) else { panic!("it cannot do chains") };
        assert!(why.contains("because"), "{why}");

        // What it cannot do is missing, as are costs that nobody tells; the rest is measured.
        let mut plan = Plan { peer: with.peer, ..tiny_plan() };
        plan.times.inputs.truncate(1);
        plan.times.runtimes = vec!["locksley".to_owned(), "onetbb-flow".to_owned()];
        let options = Options {
            plan,
            json: folder.path().join("intervals.json"),
            out: folder.path().join("out"),
            fresh: false,
            programs: Programs {
                this: Program::script(&COSTS.replace("memory", "time")),
                peer: Some(peer),
            },
        };
        let finished = run(&options).unwrap();
        let record = &finished.record;
        let missing: Vec<_> =
            record.missing.iter().map(|missing| missing.cell.app.as_str()).collect();
        // The time that is told of a graph has no seconds.
        let untold = if memory::can_be_told() { &["chain", "graph"][..] } else { &["chain"] };
        assert_eq!(missing, untold);
        assert!(record.missing[0].why.contains("because"), "{:?}", record.missing);
        assert_eq!(record.measurements.len(), 1 + 1 + 2 * 3);
        assert_eq!(files::read::<Record>(&options.json).unwrap(), *record);
        let page = std::fs::read_to_string(&finished.page).unwrap();
        for said in [table::text(record, &finished.summary), page] {
            assert!(said.contains("missing: chain 1500 on onetbb-flow, P = 1: "), "{said}");
        }
    }
}

#[test]
fn a_record_is_read_as_it_was_written_and_a_spoilt_one_is_refused() {
    let record = record();
    trial::is_kept(&record);
    let refused = |spoil: &dyn Fn(&mut Record)| trial::is_refused(&record, spoil);
    refused(&|record| record.measurements[0].reading = Reading::Time { seconds: -1.0 });
    refused(&|record| record.measurements[0].reading = Reading::Memory { bytes: 1 });
    refused(&|record| record.measurements[4].reading = Reading::Time { seconds: 1.0 });
    refused(&|record| record.measurements[4].cell.size = "0".to_owned());
    refused(&|record| record.measurements[5].reading = Reading::Time { seconds: 0.0 });
    refused(&|record| record.header.machine.processors = 0);
}
