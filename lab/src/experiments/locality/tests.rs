//! Plans, every placement, and what is derived from a made-up record.

use locksley::places::{ProcessorSet, Region, Topology};

use super::programs::Program;
use super::tasks::{RANDOM, THREADS, UNDIVIDED, WORST};
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

#[test]
fn every_placement_finds_the_answer() {
    for places in [2, 3] {
        let cache = |it| Region::new(Kind::L2, ProcessorSet::from_iter([it])).with_bytes(1 << 16);
        let machine = Topology::of((0..places).collect(), (0..places).map(cache));
        let ground = Ground::of(&machine, machine.processors()).unwrap();
        for (placement, _) in PLACEMENTS {
            for (kind, size) in [
                (Program::Stress(3), 4096),
                (Program::Stress(1), 4),
                (Program::Multiply, 150),
                (Program::Multiply, 1),
            ] {
                for workers in [1, places] {
                    let found = programs::measure(&ground, (kind, size), placement, workers, 5);
                    let found = found.unwrap();
                    let most = found[TASKS];
                    assert!(found[MS] > 0.0 && found[OUT_OF_PLACE] <= most, "{found:?}");
                    // As the paper has threads, and eight products and four sums.
                    let is_stress = matches!(kind, Program::Stress(_));
                    let tasks = if is_stress { THREADS * workers } else { 12 };
                    assert_eq!(found[TASKS], tasks as f64);
                    let is_threads = ON_THREADS.contains(&placement);
                    let most = if is_threads { tasks } else { workers };
                    assert!(found[UNBOUND] <= most as f64, "{found:?}");
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
    assert_eq!(parse("stress 4x100"), Ok((Program::Stress(100), false, 4)));
    assert_eq!(parse("simulated-stress 8192"), Ok((Program::Stress(1), true, 8192)));
    assert_eq!(parse("multiply 16384"), Ok((Program::Multiply, false, 1 << 14)));
    assert_eq!(parse("simulated-multiply 8192"), Ok((Program::Multiply, true, 8192)));
    for wrong in [
        "",
        "wait 1",
        "apps 1",
        "stress 3x1",
        "stress 4",
        "stress 4x0",
        "stress 4x10001",
        "stress x1",
        "stress",
        "simulated-stress 8192x1",
        "multiply 4x1",
        "sort 1",
        "multiply 0",
        "multiply 16385",
        "multiply x",
        "multiply 1 l2",
        "simulated-stress 100",
        "simulated-wait 8192",
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
        let simulated = if plan.quick { 0 } else { 16 };
        // No threads multiply.
        let placed = 2 * PLACEMENTS.len() - ON_THREADS.len();
        // And of the stress, the best and the ignorant with fewer workers.
        assert_eq!(plan.cells.len(), placed + simulated + 2);
        let alone = plan.cells.iter().filter(|cell| cell.workers == 1);
        assert_eq!(alone.count(), 2);
        let stress = plan.cells.iter().find(|cell| cell.subject.starts_with(STRESS)).unwrap();
        let (program, _, array) = parse(&stress.subject).unwrap();
        assert_eq!(program, Program::Stress(if plan.quick { 10 } else { 100 }));
        let cache = 2 << 20;
        assert!(array <= cache && 2 * array > cache, "one fits, and two do not");
    }
    let long = full.cells.iter().find(|cell| cell.subject == "multiply 2048").unwrap();
    let repeats = [&full.cells[16], long, &quick.cells[0]].map(|cell| cell.repeats);
    assert_eq!(repeats, [21, 9, 7]);
}

#[test]
fn pages_say_what_ran_out_of_place_and_what_was_not_bound() {
    let mut record = Record::new("locality", planned(&[], &ground()).unwrap());
    for (metric, value) in [(TASKS, 100.0), (OUT_OF_PLACE, 25.0), (UNBOUND, 0.0)] {
        let [subject, metric] = ["stress 4x100", metric].map(str::to_owned);
        let (experiment, runtime) = (record.experiment.clone(), BEST.to_owned());
        let sample = Sample { experiment, subject, runtime, workers: 2, repeat: 0, metric, value };
        record.samples.push(sample);
    }
    let report = Locality::report(&record);
    let table = &report.sections.last().unwrap().tables[0];
    // Of misses, hits and times there are none.
    assert!(report.sections[..3].iter().all(Section::is_empty));
    assert_eq!(table.rows, [["stress 4x100, P = 2", BEST, "25 %"]]);
    assert!(report.notes.is_empty());
    record.samples[2].value = 1.0;
    assert!(Locality::report(&record).notes[0].contains("did not bind 1 "));
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
    assert_eq!(subjects(&[], 32_000_000), ["stress 28800000x100", "stress 8388608x100"]);
    assert_eq!(subjects(&["--quick"], 32_000_000), ["stress 8388608x10"]);
    assert_eq!(subjects(&[], 9 << 20), ["stress 8493462x100"], "that is the paper's");
}

#[test]
fn plans_are_what_was_chosen() {
    let chosen = planned(
        &["--kinds", "multiply,stress,multiply", "--placements", WORST, "--repeats", "1"],
        &ground(),
    );
    let cells: Vec<String> = chosen.unwrap().cells.iter().map(ToString::to_string).collect();
    assert_eq!(cells, ["stress 1887435x100 on worst, P = 2", "multiply 2048 on worst, P = 2"]);
    let quick = planned(&["--quick", "--kinds", "misses", "--placements", RANDOM], &ground());
    let cells: Vec<String> = quick.unwrap().cells.iter().map(ToString::to_string).collect();
    let own = 2 << 20;
    assert_eq!(cells[0], "simulated-stress 8388608 on random, P = 8");
    assert_eq!(cells[3], format!("simulated-multiply {own} on random, P = 2"));
    assert_eq!(cells.len(), 4);
    // Caches that are too large to be simulated, and those of the study.
    for (bytes, most) in [(96 << 20, 4), (8 << 20, 2)] {
        let misses = planned(&["--kinds", "misses", "--placements", RANDOM], &large(bytes));
        let cells = misses.unwrap().cells;
        assert_eq!(cells.len(), most);
        assert!(cells.iter().all(|cell| parse(&cell.subject).is_ok()), "{cells:?}");
    }
    for wrong in [["--repeats", "0"], ["--kinds", "apps"], ["--placements", ""]] {
        assert!(matches!(planned(&wrong, &ground()), Err(Fault::Input(_))), "{wrong:?}");
    }
}
