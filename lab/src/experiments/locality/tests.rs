//! A made-up record, and runs with scripts for programs.

use super::once::{Counts, Finding, Ground, Kind, Level, Placement};
use super::plan::{Choice, plan, subset};
use super::record::{Division, Input, Uncounted};
use super::*;
use crate::fault::Fault;
use crate::record::Cell;
use crate::record::files;
use locksley::places::{Kind as Shared, ProcessorSet, Region, Topology};

fn input(kind: &str, size: &str) -> Input {
    Input { kind: kind.to_owned(), size: size.to_owned() }
}

fn tiny_plan() -> Plan {
    Plan {
        experiment: "locality".to_owned(),
        quick: true,
        seed: 3,
        repeats: 2,
        budget_seconds: 60.0,
        limit_seconds: 60.0,
        division: Division {
            places: ["0".to_owned(), "<1>".to_owned()].to_vec(),
            reason: "by L2".to_owned(),
            kind: "L2".to_owned(),
            cache: 1000,
        },
        level: None,
        uncounted: Uncounted::default(),
        simulated: None,
        workers: 2,
        fewer: Some(1),
        inputs: [input("stress", "900"), input("sort", "10")].to_vec(),
        apps: [input("msort", "1K")].to_vec(),
        placements: ["best", "worst", "ignorant"].map(str::to_owned).to_vec(),
    }
}

/// Made-up times.
pub(crate) fn record() -> Record {
    let mut header = Header::here(tiny_plan());
    (header.machine.processors, header.machine.quota) = (2, None);
    let mut measurements = Vec::new();
    let mut found = |input: Input, placement: &str, times: &[(f64, u64)]| {
        for (repeat, &(seconds, out_of_place)) in times.iter().enumerate() {
            let counts = (placement == "best")
                .then(|| Counts { hits: 5000 + 1000 * out_of_place, misses: 2000 });
            let finding = Finding { seconds, tasks: 100, out_of_place, counts, unbound: repeat };
            let cell = input.cell(placement, 2);
            measurements.push(Measurement { cell, repeat, finding });
        }
    };
    found(input("stress", "900"), "best", &[(0.02, 0), (0.01, 12), (0.7, 0)]);
    found(input("stress", "900"), "worst", &[(0.05, 1)]);
    found(input("stress", "900"), "ignorant", &[(0.024, 50), (0.026, 50)]);
    found(input("sort", "10"), "best", &[(0.003, 0)]);
    found(input("msort", "1K"), "locksley-undivided", &[(0.2, 0), (0.1, 0), (0.3, 0)]);
    found(input("msort", "1K"), "locksley-places", &[(0.24, 0), (0.105, 0), (0.3, 0)]);
    let mut alone = measurements.clone();
    alone.retain(|found| found.cell.app != "sort" && found.cell.runtime != "worst");
    for found in &mut alone {
        (found.cell.workers, found.finding.seconds) = (1, 2.0 * found.finding.seconds);
    }
    measurements.extend(alone);
    record_of(header, "then".to_owned(), measurements)
}

/// Two processors, each with a second cache of its own.
fn ground() -> Ground {
    let cache = |it| Region::new(Shared::L2, ProcessorSet::from_iter([it])).with_bytes(2 << 20);
    let machine = Topology::of((0..2).collect(), [cache(0), cache(1)]);
    Ground::of(&machine, machine.processors(), None).unwrap()
}

#[test]
fn figures_are_medians_and_ratios_to_the_ignorant() {
    let summary = Summary::of(&record());
    let groups: Vec<_> = summary.groups.iter().map(|it| (it.subject.kind, it.workers)).collect();
    assert_eq!(groups, [(Kind::Stress, 2), (Kind::Sort, 2), (Kind::Stress, 1)]);
    assert_eq!((summary.unbound, summary.has_counts()), (2, true));
    let stress = &summary.groups[0];
    let best = stress.figure(Placement::Best).unwrap();
    assert_eq!((best.time.median, best.time.least, best.time.most), (0.02, 0.01, 0.7));
    assert!((best.of_ignorant.unwrap() - 0.8).abs() < 1e-9, "{best:?}");
    assert!((best.out_of_place - 0.04).abs() < 1e-9);
    assert!((stress.figure(Placement::Worst).unwrap().of_ignorant.unwrap() - 2.0).abs() < 1e-9);
    assert!((stress.gain().unwrap() - 1.25).abs() < 1e-9);
    assert_eq!(stress.figure(Placement::Random), None);
    assert_eq!(best.counts, Some(Counts { hits: 5000, misses: 2000 }));
    assert_eq!(stress.figure(Placement::Worst).unwrap().counts, None);
    assert_eq!(summary.groups[1].gain(), None);
    let alone = &summary.groups[2];
    assert_eq!(alone.figure(Placement::Best).unwrap().time.median, 0.04);
    assert_eq!(alone.figure(Placement::Worst), None);
    for (app, workers) in summary.apps.iter().zip([2, 1]) {
        assert!((app.ratio - 1.05).abs() < 1e-9);
        assert_eq!(app.workers, workers);
        assert!((summary.of_apps(workers).unwrap() - 1.05).abs() < 1e-9);
    }
    let mut without = record();
    without.measurements.retain(|found| found.cell.runtime != "locksley-places");
    assert_eq!(Summary::of(&without).of_apps(2), None);
}

#[test]
fn the_table_says_what_must_be_known_of_the_figures() {
    let mut record = record();
    let text = |record: &Record| table::text(record, &Summary::of(record));
    let all = text(&record);
    assert!(all.contains("did not bind 2 of the workers") && !all.contains("not counted"), "{all}");
    record.measurements.iter_mut().for_each(|found| found.finding.counts = None);
    record.measurements.iter_mut().for_each(|found| found.finding.unbound = 0);
    record.header.plan.simulated = Some("QEMU".to_owned());
    record.header.plan.uncounted.0 = Some("a reason".to_owned());
    let all = text(&record);
    assert!(all.contains("not counted: a reason") && !all.contains("bind"), "{all}");
    assert!(all.contains("simulated, by QEMU") && !all.contains("hits/1000"), "{all}");
}

#[test]
fn the_table_has_it_all() {
    let record = record();
    let text = table::text(&record, &Summary::of(&record));
    for words in [
        "2 processors",
        "2 places by L2 (0 | <1>), the least cache (L2) 1000 bytes, 2 workers",
        "Quick subset",
        "cache stress, arrays of 900 bytes, P = 2",
        "cache stress, arrays of 900 bytes, P = 1",
        "merge sort, 10 integers, P = 2",
        "applications that know nothing of places, P = 1",
        "geometric mean of the ratios: 1.050",
    ] {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    let line = text.lines().find(|line| line.trim_start().starts_with("best")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words, ["best", "20.0", "10.0", "700", "0.80", "4", "%", "5", "2"]);
}

#[test]
fn plans_say_what_they_measure() {
    let quick = plan(&Choice { quick: true, ..Choice::default() }, &ground()).unwrap();
    let full = plan(&Choice::default(), &ground()).unwrap();
    assert!(quick.repeats >= 5 && full.repeats >= 5);
    assert!(quick.budget_seconds < 60.0 && full.budget_seconds < 3600.0);
    assert!(subset(&quick).contains("sort 1048576"), "{}", subset(&quick));
    assert!(subset(&quick).contains("no applications"));
    for plan in [&quick, &full] {
        // But for the sort, whose tasks wait, in shared deques and in other orders.
        let placed = Kind::ALL.len() * Placement::ALL.len() - 3;
        // And of the stress, the best and the ignorant with fewer workers.
        assert_eq!(plan.cells().len(), placed + 2 + 2 * 2 * plan.apps.len());
        let is_alone = |cell: &&Cell| cell.workers == 1;
        assert_eq!(plan.cells().iter().filter(is_alone).count(), 2 + 2 * plan.apps.len());
        assert_eq!((plan.division.kind.as_str(), &plan.level), ("L2", &None));
        assert_eq!(plan.apps.is_empty(), plan.quick);
        assert_eq!((plan.workers, plan.division.places.len()), (2, 2));
        let cache = plan.division.cache;
        let array: u64 = plan.inputs[0].size.parse().unwrap();
        assert!(array <= cache && 2 * array > cache, "one fits, and two do not");
    }
    assert!(full.inputs.contains(&input("sort", "4194304")));
    let long = input("multiply", "2048");
    assert!(full.inputs.contains(&long));
    let often = full.repeats_of(&full.inputs[0].cell("best", 2));
    let seldom = full.repeats_of(&long.cell("best", 2));
    assert!(often == full.repeats && (5..often).contains(&seldom));
}

/// Eight processors, of which four share a third cache of so many bytes.
fn large(bytes: u64, level: Option<Level>) -> Ground {
    let cache = |kind, it: std::ops::Range<usize>| Region::new(kind, ProcessorSet::from_iter(it));
    let l3 = [0..4, 4..8].map(|it| cache(Shared::L3, it).with_bytes(bytes));
    let l2 = (0..8).map(|core| cache(Shared::L2, core..core + 1).with_bytes(1_000_000));
    let machine = Topology::of((0..8).collect(), l3.into_iter().chain(l2));
    Ground::of(&machine, machine.processors(), level).unwrap()
}

#[test]
fn arrays_are_those_of_the_paper_and_those_that_fit() {
    let sizes = |quick, bytes, level| -> Vec<String> {
        let choice = Choice { quick, level, kinds: vec!["stress".to_owned()], ..Choice::default() };
        let plan = plan(&choice, &large(bytes, level)).unwrap();
        assert_eq!((plan.workers, plan.fewer), (8, Some(2)));
        plan.inputs.into_iter().map(|input| input.size).collect()
    };
    assert_eq!(sizes(false, 32_000_000, None), ["8388608", "28800000"]);
    assert_eq!(sizes(true, 32_000_000, None), ["8388608"]);
    assert_eq!(sizes(false, 9 << 20, None), ["8493462"], "that is the paper's");
    assert_eq!(sizes(false, 32_000_000, Some(Level::L2)), ["900000"]);
}

#[test]
fn who_names_caches_gets_no_applications() {
    let choice = Choice { level: Some(Level::L2), ..Choice::default() };
    let by_level = plan(&choice, &large(1 << 25, Some(Level::L2))).unwrap();
    assert_eq!((by_level.level.as_deref(), by_level.apps.len()), (Some("l2"), 0));
    let both = Choice { kinds: vec!["apps".to_owned()], ..choice };
    assert!(matches!(plan(&both, &large(1 << 25, Some(Level::L2))), Err(Fault::Input(_))));
}

#[test]
fn plans_are_what_was_chosen() {
    let names =
        |names: &[&str]| -> Vec<String> { names.iter().map(|it| (*it).to_owned()).collect() };
    let choice = Choice {
        kinds: names(&["sort", "stress", "sort"]),
        placements: names(&["worst"]),
        repeats: Some(1),
        ..Choice::default()
    };
    let chosen = plan(&choice, &ground()).unwrap();
    let kinds: Vec<&str> = chosen.inputs.iter().map(|input| input.kind.as_str()).collect();
    assert_eq!((kinds, chosen.repeats), (vec!["stress", "sort"], 1));
    assert_eq!(chosen.placements, ["worst"]);
    assert!(chosen.apps.is_empty());
    let of = |kinds: &[&str]| {
        let choice = Choice { quick: true, kinds: names(kinds), ..Choice::default() };
        let plan = plan(&choice, &ground()).unwrap();
        (plan.inputs.len(), plan.apps.len())
    };
    assert_eq!(of(&["apps"]), (0, crate::apps::ALL.len()));
    assert_eq!(of(&["apps", "sort"]), (1, crate::apps::ALL.len()));
    for wrong in [
        Choice { repeats: Some(0), ..Choice::default() },
        Choice { kinds: names(&["wait"]), ..Choice::default() },
        Choice { placements: names(&[""]), ..Choice::default() },
    ] {
        assert!(matches!(plan(&wrong, &ground()), Err(Fault::Input(_))), "{wrong:?}");
    }
}

#[test]
fn a_record_is_read_as_it_was_written_and_a_spoilt_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.json");
    let record = record();
    files::write(&path, &record).unwrap();
    assert_eq!(files::read::<Record>(&path).unwrap(), record);
    assert_eq!(files::format_of(&path).as_deref(), Some(Record::FORMAT));
    let refused = |spoil: &dyn Fn(&mut Record)| {
        let mut spoilt = record.clone();
        spoil(&mut spoilt);
        files::write(&path, &spoilt).unwrap();
        assert!(matches!(files::read::<Record>(&path), Err(Fault::Input(_))));
    };
    refused(&|record| record.measurements[0].finding.seconds = -1.0);
    refused(&|record| record.measurements[0].cell.size = "0".to_owned());
    refused(&|record| record.measurements[0].cell.runtime = "good".to_owned());
    refused(&|record| record.header.plan.inputs[0].kind = "sleep".to_owned());
    refused(&|record| record.header.plan.placements[0].clear());
    refused(&|record| record.header.plan.apps[0].size = "x".to_owned());
    refused(&|record| record.header.plan.workers = 0);
    refused(&|record| record.measurements.last_mut().unwrap().cell.app = "stress".to_owned());
    refused(&|record| record.measurements.last_mut().unwrap().cell.runtime = "rayon".to_owned());
    refused(&|record| record.header.machine.processors = 0);
    refused(&|record| record.header.plan.fewer = Some(0));
    refused(&|record| record.header.plan.level = Some("l9".to_owned()));
}

/// Records say more than they did.
#[test]
fn a_record_of_before_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.json");
    let mut record = serde_json::to_value(record()).unwrap();
    let plan = record["plan"].as_object_mut().unwrap();
    for name in ["level", "uncounted", "simulated", "fewer"] {
        assert!(plan.remove(name).is_some(), "{name}");
    }
    plan["division"].as_object_mut().unwrap().remove("kind").unwrap();
    let measurements = record["measurements"].as_array_mut().unwrap();
    measurements.retain(|found| found["workers"] == 2);
    for found in measurements {
        let finding = found["finding"].as_object_mut().unwrap();
        finding.remove("counts").unwrap();
        finding.remove("unbound").unwrap();
    }
    std::fs::write(&path, record.to_string()).unwrap();
    let record: Record = files::read(&path).unwrap();
    let text = table::text(&record, &Summary::of(&record));
    assert!(text.contains("the least cache 1000 bytes"), "{text}");
    assert!(text.contains("not counted: nothing was counted that can be used"), "{text}");
}

/// Runs with shell scripts for programs.
#[cfg(unix)]
mod scripts {
    use std::path::Path;

    use super::*;

    /// Says what it was asked for.
    #[test]
    fn a_level_that_was_asked_for_is_passed_on() {
        let says = r#"case "$*" in *"--level l2"*) ;; *) exit 3 ;; esac; "#;
        let program = Program::script(&format!("{says}{GOOD}"));
        let mut plan = tiny_plan();
        let cell = plan.inputs[0].cell("best", 2);
        assert!(program.measure(&cell, &plan).is_err());
        plan.level = Some("l2".to_owned());
        let finding = program.measure(&cell, &plan).unwrap();
        assert_eq!((finding.counts, finding.unbound), (None, 0));
        let counts = r#","counts":{"hits":3,"misses":2},"unbound":1}'"#;
        let program = Program::script(&GOOD.replace("}'", counts));
        let finding = program.measure(&cell, &plan).unwrap();
        assert_eq!((finding.counts, finding.unbound), (Some(Counts { hits: 3, misses: 2 }), 1));
    }

    const GOOD: &str = r#"echo '{"seconds":0.25,"tasks":10,"out_of_place":1}'"#;

    fn options(folder: &Path, script: &str) -> Options {
        Options {
            plan: tiny_plan(),
            json: folder.join("locality.json"),
            out: folder.join("page"),
            fresh: false,
            program: Program::script(script),
        }
    }

    #[test]
    fn a_run_that_was_stopped_goes_on_and_a_finished_one_is_not_redone() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path(), GOOD);
        let fails = format!("if [ \"$3\" = worst ]; then echo because >&2; exit 3; fi; {GOOD}");
        options.program = Program::script(&fails);
        let Err(Fault::Run(why)) = run(&options) else { panic!("a program failed") };
        assert!(why.contains("stress 900, placement worst") && why.contains("because"), "{why}");
        assert!(!options.json.exists());

        options.program = Program::script(GOOD);
        let finished = run(&options).unwrap();
        assert!(!finished.is_old && finished.page.is_file());
        // And of fewer workers, two placements of the stress, and the application.
        assert_eq!(finished.record.measurements.len(), 2 * (2 * 3 + 2 + 2 + 2));
        options.program = Program::script("exit 3");
        let again = run(&options).unwrap();
        assert!(again.is_old && again.record == finished.record);
        options.fresh = true;
        assert!(run(&options).is_err(), "it is measured again");
    }

    /// But a record without counts is none of a machine that counts.
    #[test]
    fn a_run_goes_on_though_the_system_says_otherwise_why_nothing_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path(), GOOD);
        let mut says = |why: Option<&str>, script: &str| {
            options.plan.uncounted = Uncounted(why.map(str::to_owned));
            options.program = Program::script(script);
            run(&options)
        };
        let fails = format!("if [ \"$3\" = worst ]; then exit 3; fi; {GOOD}");
        assert!(says(Some("no rights"), &fails).is_err());
        let slower = GOOD.replace("0.25", "0.5");
        let finished = says(Some("no such counter"), &slower).unwrap();
        let seconds = finished.record.measurements.iter().map(|found| found.finding.seconds);
        assert_eq!(seconds.filter(|&seconds| seconds == 0.25).count(), 1, "that of the first run");
        assert!(says(Some("no rights"), "exit 3").unwrap().is_old);
        assert!(says(None, "exit 3").is_err(), "it is measured anew");
    }

    #[test]
    fn a_broken_program_and_one_that_hangs_are_faults_of_the_run() {
        for (script, expected) in [
            ("echo because >&2; exit 3", "because"),
            ("echo nonsense", "nonsense"),
            (r#"echo '{"seconds":1}'"#, "it printed"),
            ("exec sleep 1000", "did not end in 0.2 s"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let mut options = options(folder.path(), script);
            options.plan.limit_seconds = 0.2;
            match run(&options) {
                Err(Fault::Run(why)) => assert!(why.contains(expected), "{why}"),
                other => panic!("{script}: {other:?}"),
            }
            assert!(!options.json.exists());
        }
    }
}
