//! Plans, every placement, and what is derived from a made-up record.

use locksley::places::{ProcessorSet, Region, Topology};

use super::tasks::{RANDOM, UNDIVIDED, WORST};
use super::*;
use crate::experiment::record::Sample;
use crate::fault::Fault;

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    run: crate::experiment::Run<Locality>,
}

fn planned(arguments: &[&str], ground: &Ground) -> Outcome<Plan> {
    let line = <Line as clap::Parser>::parse_from([&["locality"], arguments].concat());
    line.run.experiment.plan_on(&line.run.course, ground)
}

/// Two processors, each with a second cache of its own.
fn ground() -> Ground {
    let cache = |it| Region::new(Kind::L2, ProcessorSet::from_iter([it])).with_bytes(2 << 20);
    let machine = Topology::of((0..2).collect(), [cache(0), cache(1)]);
    Ground::of(&machine, machine.processors()).unwrap()
}

/// Eight processors, of which four share a third cache of so many bytes.
fn large(bytes: u64) -> Ground {
    let cache = |kind, it: std::ops::Range<usize>| Region::new(kind, ProcessorSet::from_iter(it));
    let l3 = [0..4, 4..8].map(|it| cache(Kind::L3, it).with_bytes(bytes));
    let l2 = (0..8).map(|core| cache(Kind::L2, core..core + 1).with_bytes(1_000_000));
    let machine = Topology::of((0..8).collect(), l3.into_iter().chain(l2));
    Ground::of(&machine, machine.processors()).unwrap()
}

fn record() -> Record {
    let mut record = Record::new("locality", planned(&["--quick"], &ground()).unwrap());
    for (subject, runtime, times) in [
        ("stress 900", BEST, &[(20.0, 0), (10.0, 12), (700.0, 0)][..]),
        ("stress 900", WORST, &[(50.0, 1)]),
        ("stress 900", IGNORANT, &[(24.0, 50), (26.0, 50)]),
        ("sort 10", BEST, &[(3.0, 0)]),
        ("msort 1K", RUNTIMES[0], &[(200.0, 0), (100.0, 0), (300.0, 0)]),
        ("msort 1K", RUNTIMES[1], &[(240.0, 0), (105.0, 0), (300.0, 0)]),
    ] {
        for (repeat, &(ms, out)) in times.iter().enumerate() {
            let mut readings = vec![(MS, ms), (UNBOUND, repeat as f64)];
            if !RUNTIMES.contains(&runtime) {
                readings.extend([(TASKS, 100.0), (OUT_OF_PLACE, f64::from(out))]);
            }
            for (metric, value) in readings {
                let experiment = record.experiment.clone();
                let [subject, runtime, metric] = [subject, runtime, metric].map(str::to_owned);
                let (workers, value) = (2, value);
                let sample =
                    Sample { experiment, subject, runtime, workers, repeat, metric, value };
                record.samples.push(sample);
            }
        }
    }
    record
}

#[test]
fn figures_are_medians_and_ratios() {
    let mut record = record();
    let report = Locality::report(&record);
    let table = |title: &str| -> Vec<Vec<String>> {
        let tables = report.sections.iter().flat_map(|section| &section.tables);
        tables.filter(|table| table.title.contains(title)).flat_map(|it| it.rows.clone()).collect()
    };
    assert!(report.headline.ends_with(": stress 1.25"), "{}", report.headline);
    assert!(report.notes[0].contains("did not bind 2 of the workers"), "{:?}", report.notes);
    let ratios: Vec<(String, String)> = table("milliseconds")
        .iter()
        .map(|row| (row[1].clone(), row[row.len() - 1].clone()))
        .collect();
    let of = |name: &str, ratio: &str| (name.to_owned(), ratio.to_owned());
    let expected =
        [of(BEST, "0.80"), of(WORST, "2.00"), of(IGNORANT, "1.00"), of(BEST, ""), of("2", "1.050")];
    assert_eq!(ratios[..5], expected);
    let shares: Vec<String> = table("out of place").iter().map(|row| row[2].clone()).collect();
    assert_eq!(shares, ["4 %", "1 %", "50 %", "0 %"]);
    let apps = table("applications");
    assert_eq!(apps[0], ["msort 1K", "2", "200", "240", "1.050"]);
    assert_eq!(apps[1], ["geometric mean", "2", "", "", "1.050"]);
    record.samples.retain(|sample| sample.runtime != RUNTIMES[1]);
    record.samples.retain(|sample| sample.runtime != BEST);
    let report = Locality::report(&record);
    assert!(report.sections.last().unwrap().is_empty());
    assert!(report.headline.starts_with("The gain"));
}

#[test]
fn every_placement_finds_the_answer() {
    for places in [2, 3] {
        let cache = |it| Region::new(Kind::L2, ProcessorSet::from_iter([it])).with_bytes(1 << 16);
        let machine = Topology::of((0..places).collect(), (0..places).map(cache));
        let ground = Ground::of(&machine, machine.processors()).unwrap();
        for (placement, _) in PLACEMENTS {
            for (kind, size) in [(STRESS, 4096), (MULTIPLY, 150), (MULTIPLY, 1)] {
                for workers in [1, places] {
                    let found = programs::measure(&ground, (kind, size), placement, workers, 5);
                    let found = found.unwrap();
                    assert!(found[MS] > 0.0 && found[OUT_OF_PLACE] <= found[TASKS], "{found:?}");
                    assert!(found[UNBOUND] <= workers as f64, "{found:?}");
                    if placement == UNDIVIDED {
                        assert_eq!((found[OUT_OF_PLACE], found[UNBOUND]), (0.0, 0.0));
                    }
                }
            }
        }
    }
}

#[test]
fn sizes_are_read() {
    assert_eq!(parse("stress 4"), Ok((STRESS, 4)));
    assert_eq!(parse("multiply 16384"), Ok((MULTIPLY, 1 << 14)));
    for wrong in [
        "",
        "wait 1",
        "apps 1",
        "stress 3",
        "stress",
        "sort 1",
        "multiply 0",
        "multiply 16385",
        "multiply x",
        "multiply 1 l2",
    ] {
        assert!(matches!(parse(wrong), Err(Fault::Input(_))), "{wrong}");
    }
}

#[test]
fn plans_say_what_they_measure() {
    let quick = planned(&["--quick"], &ground()).unwrap();
    let full = planned(&[], &ground()).unwrap();
    assert!(quick.budget_seconds < 60.0 && full.budget_seconds < 3600.0);
    for plan in [&quick, &full] {
        let apps = if plan.quick { 0 } else { apps::ALL.len() };
        let placed = 2 * PLACEMENTS.len();
        // And of the stress, the best and the ignorant with fewer workers.
        assert_eq!(plan.cells.len(), placed + 2 + 2 * 2 * apps);
        let alone = plan.cells.iter().filter(|cell| cell.workers == 1);
        assert_eq!(alone.count(), 2 + 2 * apps);
        let (_, array) = parse(&plan.cells[0].subject).unwrap();
        let cache = 2 << 20;
        assert!(array <= cache && 2 * array > cache, "one fits, and two do not");
    }
    let long = full.cells.iter().find(|cell| cell.subject == "multiply 2048").unwrap();
    assert_eq!((full.cells[0].repeats, long.repeats, quick.cells[0].repeats), (21, 9, 7));
}

#[test]
fn arrays_are_those_of_the_paper_and_those_that_fit() {
    let subjects = |arguments: &[&str], bytes| -> Vec<String> {
        let arguments = [&["--kinds", STRESS], arguments].concat();
        let plan = planned(&arguments, &large(bytes)).unwrap();
        let mut workers: Vec<usize> = plan.cells.iter().map(|cell| cell.workers).collect();
        workers.dedup();
        assert_eq!(workers, [8, 2]);
        let mut subjects: Vec<String> = plan.cells.into_iter().map(|cell| cell.subject).collect();
        subjects.sort();
        subjects.dedup();
        subjects
    };
    assert_eq!(subjects(&[], 32_000_000), ["stress 28800000", "stress 8388608"]);
    assert_eq!(subjects(&["--quick"], 32_000_000), ["stress 8388608"]);
    assert_eq!(subjects(&[], 9 << 20), ["stress 8493462"], "that is the paper's");
}

#[test]
fn plans_are_what_was_chosen() {
    let chosen = planned(
        &["--kinds", "multiply,stress,multiply", "--placements", WORST, "--repeats", "1"],
        &ground(),
    );
    let cells: Vec<String> = chosen.unwrap().cells.iter().map(ToString::to_string).collect();
    assert_eq!(cells, ["stress 1887435 on worst, P = 2", "multiply 2048 on worst, P = 2"]);
    let numbers = |arguments: &[&str]| {
        let plan = planned(&[&["--quick", "--placements", RANDOM], arguments].concat(), &ground());
        let cells = plan.unwrap().cells;
        let is_app = |cell: &&Cell| RUNTIMES.contains(&cell.runtime.as_str());
        (cells.len(), cells.iter().filter(is_app).count())
    };
    let apps = 4 * apps::ALL.len();
    assert_eq!(numbers(&["--kinds", "apps"]), (apps, apps));
    assert_eq!(numbers(&["--kinds", "apps,multiply"]), (apps + 1, apps));
    for wrong in [["--repeats", "0"], ["--kinds", "wait"], ["--placements", ""]] {
        assert!(matches!(planned(&wrong, &ground()), Err(Fault::Input(_))), "{wrong:?}");
    }
}
