//! A made-up record, and runs with scripts for programs. Runs with this program's own binary are tested from outside.

use super::once::{Kind, Subject};
use super::plan::{Choice, plan, subset};
use super::record::{Measurement, Reading};
use super::*;
use crate::apps;
use crate::experiments::estimate::Verdict;
use crate::experiments::trial;
use crate::fault::Fault;
use crate::record::Cell;

fn cell(app: &str, size: &str, workers: usize) -> Cell {
    let [app, size, runtime] = [app, size, plan::LOCKSLEY].map(str::to_owned);
    Cell { app, size, runtime, workers }
}

fn tiny_plan(cells: Vec<Cell>) -> Plan {
    Plan {
        experiment: "meter".to_owned(),
        quick: true,
        seed: 3,
        repeats: 2,
        budget_seconds: 60.0,
        limit_seconds: 60.0,
        pairs: 4,
        seconds: 0.1,
        cells,
    }
}

/// Made-up figures: a fork is within its target, leaves are beyond it, and of the applications one is, one is not, and one is not decided.
pub(crate) fn record() -> Record {
    let cells = vec![
        cell("fork", "5", 1),
        cell("leaves", "4x1000", 1),
        cell("leaves", "4x1000", 2),
        cell("leaves", "4x100", 2),
        cell("ep", "1", 2),
        cell("msort", "10K", 2),
        cell("mm", "64", 2),
        cell("regions", "8", 1),
    ];
    // One in three is as usual, one is a little cheaper, and one a little dearer.
    let around = |off: u64, cost: f64, by: f64| -> Vec<[u64; 2]> {
        [0.0, -by, by].map(|by| [off, (off as f64 * (cost + by)).round() as u64]).to_vec()
    };
    let pairs = [
        // 7 forks: 5 ns each, and 20 more, or 21.
        vec![[35, 175], [35, 175], [35, 182]],
        around(4_000_000, 1.08, 0.01),
        around(4_000_000, 1.07, 0.01),
        around(400_000, 1.5, 0.1),
        around(1_000_000, 1.001, 0.001),
        around(1_000_000, 1.05, 0.01),
        around(1_000_000, 1.009, 0.005),
        vec![[16_000, 416_000]],
    ];
    let mut header = Header::here(tiny_plan(cells.clone()));
    (header.machine.processors, header.machine.quota) = (2, None);
    let mut measurements = Vec::new();
    for (cell, nanos) in cells.into_iter().zip(pairs) {
        for repeat in 0..3 {
            let reading = Reading { nanos: nanos.clone() };
            measurements.push(Measurement { cell: cell.clone(), repeat, reading });
        }
    }
    Record::of(header, "then".to_owned(), measurements, Vec::new())
}

#[test]
fn figures_are_medians_of_pairs_and_are_held_against_what_is_wanted() {
    let summary = Summary::of(&record());
    let verdicts: Vec<Option<Verdict>> =
        summary.figures.iter().map(summary::Figure::verdict).collect();
    use Verdict::{Met, Missed, Undecided};
    let expected = [
        Some(Met),
        Some(Missed),
        Some(Missed),
        None,
        Some(Met),
        Some(Missed),
        Some(Undecided),
        None,
    ];
    assert_eq!(verdicts, expected, "{:#?}", summary.figures);
    let fork = &summary.figures[0];
    assert_eq!((fork.off, fork.on, fork.cost.figure, fork.pairs), (5.0, 25.0, 20.0, 9));
    assert_eq!((fork.cost.low, fork.cost.high), (20.0, 21.0));
    let leaves = &summary.figures[1];
    assert_eq!((leaves.off, leaves.on), (1000.0, 1080.0));
    assert_eq!((leaves.workers, leaves.cost.figure), (1, 1.08));
    let regions = summary.of_kind(Kind::Regions).next().unwrap();
    assert_eq!((regions.off, regions.cost.figure), (2.0, 50.0));

    let [mean] = summary.means[..] else { panic!("{:?}", summary.means) };
    assert_eq!((mean.workers, mean.number), (2, 3));
    let product: f64 = 1.001 * 1.05 * 1.009;
    assert!((mean.cost.figure - product.cbrt()).abs() < 1e-9, "{mean:?}");
    assert_eq!(mean.verdict(), Missed);
}

#[test]
fn an_empty_record_has_an_empty_summary() {
    let mut record = record();
    record.measurements.clear();
    let summary = Summary::of(&record);
    assert!(summary.figures.is_empty() && summary.means.is_empty());
    assert!(table::text(&record, &summary).contains("2 processors"));
}

#[test]
fn the_table_has_it_all() {
    let record = record();
    let text = table::text(&record, &Summary::of(&record));
    let line = |start: &str| -> String {
        let found = text.lines().find(|line| line.trim_start().starts_with(start));
        let words: Vec<&str> = found.unwrap_or_default().split_whitespace().collect();
        words.join(" ")
    };
    assert!(line("Quick subset").contains("0.1 s of pairs"), "{text}");
    assert_eq!(line("fib 5, P = 1"), "fib 5, P = 1 5.00 25.0 20.0 (20.0 to 21.0) 30.0 met");
    let leaves = "4 leaves of 1 µs, P = 1 1000 1080 8.00 % (7.00 % to 9.00 %) 5.00 % missed";
    assert_eq!(line("4 leaves of 1 µs, P = 1"), leaves, "{text}");
    let short = line("4 leaves of 0.1 µs, P = 2");
    assert!(short.starts_with("4 leaves of 0.1 µs, P = 2 100 150 50.00 %"), "{text}");
    assert!(short.ends_with(" %)"), "there is no target: {text}");
    assert!(line("mm 64, P = 2").ends_with("1.00 % not decided"), "{text}");
    let mean = line("geometric mean");
    assert!(mean.starts_with("geometric mean of 3, P = 2 1.98 %"), "{text}");
    assert!(mean.ends_with("1.00 % missed"), "{text}");
    assert!(line("an empty region").contains("2.00 52.0 50.0"), "{text}");
}

#[test]
fn plans_say_what_they_measure() {
    let quick = plan(&Choice { quick: true, ..Choice::default() }, 4).unwrap();
    let full = plan(&Choice::default(), 4).unwrap();
    assert!(quick.budget_seconds < 60.0 && full.budget_seconds < 300.0);
    assert!(subset(&quick).contains("one worker only"), "{}", subset(&quick));
    let all = apps::ALL.len();
    // Forks on one worker; leaves of three lengths; regions.
    assert_eq!((quick.cells.len(), full.cells.len()), (1 + 6 + all + 1, 1 + 6 + 2 * all + 1));
    for plan in [&quick, &full] {
        for cell in &plan.cells {
            let subject = Subject::find(&cell.app, &cell.size).unwrap();
            assert!(cell.workers == 1 || cell.workers == 4 && subject.kind().is_ratio());
        }
    }
    // One worker is all that some machines have.
    let single = plan(&Choice::default(), 1).unwrap();
    assert_eq!(single.cells.len(), 1 + 3 + all + 1);
}

#[test]
fn plans_are_what_was_chosen() {
    let kinds = ["regions", "fork", "fork"].map(str::to_owned).to_vec();
    let choice = Choice { kinds, repeats: Some(1), seconds: Some(0.5), ..Choice::default() };
    let chosen = plan(&choice, 2).unwrap();
    let kinds: Vec<&str> = chosen.cells.iter().map(|cell| cell.app.as_str()).collect();
    assert_eq!(kinds, ["fork", "regions"]);
    assert_eq!((chosen.repeats, chosen.seconds), (1, 0.5));
    let named = |name: &str| vec![name.to_owned()];
    for wrong in [
        Choice { repeats: Some(0), ..Choice::default() },
        Choice { kinds: named("app"), ..Choice::default() },
        Choice { kinds: named(""), ..Choice::default() },
    ] {
        assert!(matches!(plan(&wrong, 2), Err(Fault::Input(_))), "{wrong:?}");
    }
}

#[test]
fn a_record_is_read_as_it_was_written_and_a_spoilt_one_is_refused() {
    let record = record();
    trial::is_kept(&record);
    let refused = |spoil: &dyn Fn(&mut Record)| trial::is_refused(&record, spoil);
    refused(&|record| record.measurements[0].reading.nanos.clear());
    refused(&|record| record.measurements[0].reading.nanos[1] = [5, 0]);
    refused(&|record| record.measurements[0].cell.size = "many".to_owned());
    refused(&|record| record.header.plan.cells[0].app = "nothing".to_owned());
    refused(&|record| record.header.plan.cells[0].workers = 0);
    refused(&|record| record.header.machine.processors = 0);
}

/// Runs with shell scripts for programs.
#[cfg(unix)]
mod scripts {
    use std::path::Path;

    use super::*;
    use crate::record::files;

    const GOOD: &str = r#"echo '{"read":{"nanos":[[100,200],[100,300]]}}'"#;

    fn options(folder: &Path, script: &str) -> Options {
        Options {
            plan: tiny_plan(vec![cell("fork", "9", 1), cell("ep", "1", 2)]),
            programs: Program::script(script),
            json: folder.join("meter.json"),
            out: folder.join("page"),
            fresh: false,
        }
    }

    #[test]
    fn what_a_program_says_is_recorded_and_not_measured_again() {
        let folder = tempfile::tempdir().unwrap();
        // It is told what, with how many workers, how many pairs, for how long, and from which seed.
        let asks = r#"[ "$1 $2 $3 $4 $5 $6 $7 $8 $9" = "ep 1 2 --pairs 4 --secs 0.1 --seed 3" ] || [ "$1" = fork ] || exit 3"#;
        let mut options = options(folder.path(), &format!("{asks}\n{GOOD}"));
        let finished = run(&options).unwrap();
        assert_eq!((finished.record.measurements.len(), finished.record.missing.len()), (4, 0));
        assert_eq!(files::read::<Record>(&options.json).unwrap(), finished.record);
        options.programs = Program::script("exit 3");
        let again = run(&options).unwrap();
        assert!(again.is_old && again.record == finished.record);
        assert_eq!(again.summary.figures, finished.summary.figures);
    }

    #[test]
    fn what_fails_is_missing_and_the_rest_is_measured() {
        for (fails, expected) in [
            ("echo because >&2; exit 3", "because"),
            ("echo nonsense", "nonsense"),
            (r#"echo '{"read":{"nanos":[[1,0]]}}'"#, "something else"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let script = format!("if [ \"$1\" = ep ]; then {fails}; else {GOOD}; fi");
            let finished = run(&options(folder.path(), &script)).unwrap();
            assert_eq!(finished.record.measurements.len(), 2);
            let [missing] = &finished.record.missing[..] else { panic!("{:?}", finished.record) };
            assert_eq!((missing.cell.app.as_str(), missing.repeat), ("ep", 0));
            assert!(missing.why.contains(expected), "{missing:?}");
            let page = std::fs::read_to_string(&finished.page).unwrap();
            assert!(page.contains("missing: ep 1 on locksley, P = 2: "), "{page}");
        }
    }

    #[test]
    fn a_wrong_answer_is_a_fault_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let options = options(folder.path(), r#"echo '{"wrong":"5 and not 34"}'"#);
        trial::has_failed(run(&options), "the answer is wrong: 5 and not 34", &options.json);
    }
}
