//! A made-up record, and runs with scripts for programs. Runs with this program's own binary are tested from outside.

use super::once::{CURRENT, Finding, LAST, SERIAL, STATIC, Subject};
use super::plan::{Choice, Experiment, extent, plan};
use super::record::{Measurement, Part};
use super::summary::Bound;
use super::*;
use crate::experiments::trial;
use crate::fault::Fault;
use crate::record::Cell;

fn part(experiment: &str, networks: &[&str]) -> Part {
    let networks = networks.iter().map(|&network| network.to_owned()).collect();
    Part { experiment: experiment.to_owned(), networks }
}

fn tiny_plan(parts: Vec<Part>) -> Plan {
    Plan {
        experiment: "scatter".to_owned(),
        quick: true,
        seed: 3,
        repeats: 2,
        budget_seconds: 60.0,
        limit_seconds: 60.0,
        divisor: 7,
        workers: 2,
        parts,
    }
}

const FINDING: Finding = Finding {
    seconds: 1.0,
    divisions: 100,
    answer: 0,
    steals: 0,
    failed_steals: 0,
    running_seconds: 2.0,
};

/// Two networks of experiment 1, one each of 2 and 4, and both of utilization; made-up times.
pub(crate) fn record() -> Record {
    let (coarse, fine) = ("50x10x1000000", "50x100x10000");
    let (other, saw) = ("8x5x100000", "17x5x800000");
    let (hundred, ten) = ("250x4x100000", "250x40x10000");
    let parts = vec![
        part("1", &[coarse, fine]),
        part("2", &[other]),
        part("4", &[saw]),
        part("utilization", &[hundred, ten]),
    ];
    let mut header = Header::here(tiny_plan(parts));
    (header.machine.processors, header.machine.quota) = (2, None);
    let mut measurements = Vec::new();
    let mut found = |size: &str, runtime: &str, workers, times: &[f64]| {
        for (repeat, &seconds) in times.iter().enumerate() {
            let (size, runtime) = (size.to_owned(), runtime.to_owned());
            let cell = Cell { app: "1".to_owned(), size, runtime, workers };
            let (steals, failed_steals) = if workers == 1 { (0, 0) } else { (1000, 3000) };
            let finding = Finding { seconds, steals, failed_steals, ..FINDING };
            measurements.push(Measurement { cell, repeat, finding });
        }
    };
    found(coarse, LAST, 1, &[1.0, 0.9, 5.0]);
    found(coarse, LAST, 2, &[0.5]);
    found(coarse, CURRENT, 2, &[0.5]);
    found(fine, LAST, 1, &[1.2]);
    found(fine, LAST, 2, &[0.72]);
    found(fine, CURRENT, 2, &[0.8]);
    found(other, LAST, 1, &[0.004]);
    found(other, LAST, 2, &[0.0021]);
    found(other, CURRENT, 2, &[0.002]);
    found(saw, LAST, 1, &[0.068]);
    found(saw, LAST, 2, &[0.036]);
    found(hundred, SERIAL, 1, &[0.1]);
    found(hundred, STATIC, 2, &[0.05]);
    found(hundred, LAST, 2, &[0.051]);
    found(hundred, CURRENT, 2, &[0.0625]);
    found(ten, SERIAL, 1, &[0.1]);
    found(ten, LAST, 2, &[0.0625]);
    Record::of(header, "then".to_owned(), measurements, Vec::new())
}

#[test]
fn speedups_are_over_the_time_with_one_worker() {
    let summary = Summary::of(&record());
    assert_eq!((summary.workers, summary.experiments.len()), (2, 3));
    let first = summary.on(Experiment::Division).unwrap();
    let [coarse, fine] = &first.networks[..] else { panic!("{first:?}") };
    assert_eq!((coarse.division(), fine.division()), (1000, 100_000));
    assert_eq!(coarse.one.median, 1.0);
    let last = coarse.last.unwrap();
    assert!((last.speedup - 2.0).abs() < 1e-9 && (last.attempts - 2000.0).abs() < 1e-9);
    assert_eq!(coarse.ratio(), Some(1.0));
    assert!((fine.ratio().unwrap() - 0.9).abs() < 1e-9);
    assert!((fine.current.unwrap().speedup - 1.5).abs() < 1e-9);
    let saw = &summary.on(Experiment::Sawtooth).unwrap().networks[0];
    assert!(saw.current.is_none() && saw.ratio().is_none());
    assert!(summary.on(Experiment::Work).is_none());

    let [hundred, current, ten] = &summary.utilizations[..] else { panic!("{summary:?}") };
    assert!((hundred.utilization - 0.1 / 0.102).abs() < 1e-9 && hundred.ceiling == Some(1.0));
    assert!((current.utilization - 0.8).abs() < 1e-9 && current.runtime == CURRENT);
    assert!((ten.utilization - 0.8).abs() < 1e-9 && ten.ceiling.is_none());
}

#[test]
fn what_a_division_took_for_a_process_is_taken_out() {
    let mut record = record();
    // One worker's process believed that it could divide half as often: what it did took half as long.
    let one = &mut record.measurements[0];
    assert_eq!((one.finding.seconds, one.cell.workers), (1.0, 1));
    (one.finding.seconds, one.finding.divisions) = (0.5, 50);
    let summary = Summary::of(&record);
    assert_eq!(summary.experiments[0].networks[0].one.median, 1.0);
}

#[test]
fn targets_are_reached_or_missed() {
    let mut record = record();
    let verdicts = |record: &Record| -> Vec<&'static str> {
        Summary::of(record).targets.iter().map(summary::Target::verdict).collect()
    };
    let targets = Summary::of(&record).targets;
    let bounds: Vec<Bound> = targets.iter().map(|target| target.bound).collect();
    let wanted = [Bound::Least(0.97), Bound::Least(0.90), Bound::Most(1.02), Bound::Most(0.98)];
    assert_eq!(bounds, wanted);
    // Of the placements, the worst is that of experiment 2; the fine network of experiment 1 is ahead.
    assert!((targets[2].is - 1.05).abs() < 1e-9 && targets[2].about.contains("n = 8, w = 100 µs"));
    assert!((targets[3].is - 0.9).abs() < 1e-9);
    assert_eq!(verdicts(&record), ["reached", "missed", "missed", "reached"]);
    for found in &mut record.measurements {
        match (found.cell.size.as_str(), found.cell.runtime.as_str(), found.cell.workers) {
            ("250x4x100000", LAST, 2) => found.finding.seconds = 0.06,
            ("250x40x10000", LAST, 2) => found.finding.seconds = 0.055,
            ("8x5x100000", LAST, 2) => found.finding.seconds = 0.002,
            ("50x100x10000", LAST, 2) => found.finding.seconds = 0.8,
            _ => {}
        }
    }
    assert_eq!(verdicts(&record), ["missed", "reached", "reached", "missed"]);
    record.measurements.clear();
    assert!(verdicts(&record).is_empty());
}

#[test]
fn the_table_has_it_all() {
    let record = record();
    let text = table::text(&record, &Summary::of(&record));
    for words in [
        "2 processors",
        "one in 7 of its rounds",
        "experiment 1: speedup of 2 workers over 1",
        "experiment 4",
        "utilization of 2 workers",
        "utilization at w = 100 µs, n = 250: 0.980  wanted: at least 0.97: reached",
        "utilization at w = 10 µs, n = 250: 0.800  wanted: at least 0.90: missed",
        "(n = 8, w = 100 µs): 1.050  wanted: at most 1.02: missed",
        "the median: 0.900  wanted: at most 0.98: reached",
    ] {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    let row = |start: &[&str]| {
        let of =
            |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
        let mut rows = text.lines().map(of);
        rows.find(|row| row.len() > start.len() && row[..start.len()] == *start).unwrap()
    };
    assert_eq!(row(&["50", "10"])[2..], ["100", "1.2000", "1.667", "2.0", "1.500", "2.0", "0.900"]);
    assert_eq!(row(&["17", "800"])[2..], ["5", "0.0680", "1.889", "2.0", "-", "-", "-"]);
    assert_eq!(row(&["250", "100"])[2..], ["4", "locksley", "0.980", "1.000", "2.0"]);
}

#[test]
fn plans_are_the_studys_scaled_down() {
    let full = plan(&Choice::default(), 2).unwrap();
    let quick = plan(&Choice { quick: true, ..Choice::default() }, 2).unwrap();
    assert!(quick.budget_seconds < 60.0 && full.budget_seconds < 3600.0);
    assert_eq!((full.repeats, full.divisor, full.workers), (9, 125, 2));
    let networks = |plan: &Plan, place: usize| -> Vec<Subject> {
        let sizes = plan.parts[place].networks.iter();
        sizes.map(|size| Subject::find(size).unwrap()).collect()
    };
    // Experiment 1: m = 50 d/n, here a 50th: a second of work in total. Where that is no whole number of rounds, it is not the same work.
    let first = networks(&full, 0);
    assert_eq!(first[0], Subject { processes: 50, rounds: 2, nanos: 10_000_000 });
    assert_eq!(first[2], Subject { processes: 50, rounds: 200, nanos: 100_000 });
    assert_eq!(first[54], Subject { processes: 1000, rounds: 100, nanos: 10_000 });
    let work = |subject: &Subject| (subject.messages() * subject.nanos) as f64 / 1e9;
    assert!(first.iter().all(|subject| (0.9..=1.1).contains(&work(subject))), "{first:?}");
    // Of 5 times 12, a round of the longest messages is more, but for 50 processes; 1.33 rounds of the second longest are neither
    // one nor two.
    assert_eq!(first.len(), 5 * 12 - 4 - 1);
    assert!(!first.iter().any(|found| found.processes == 750 && found.nanos == 1_000_000));
    assert_eq!(networks(&full, 1).len(), 7);
    assert!(networks(&full, 1).iter().all(|found| found.rounds == 100 && found.nanos == 100_000));
    assert_eq!(networks(&full, 2).len(), 3 * 6);
    let saw = networks(&full, 3);
    assert!(saw.iter().map(|found| found.processes).eq(16..=48));
    assert!(saw.iter().all(|found| found.rounds == 100 && found.nanos == 800_000));
    let own = networks(&full, 4);
    let subject = |rounds, nanos| Subject { processes: 250, rounds, nanos };
    assert_eq!(own, [subject(160, 100_000), subject(1600, 10_000)]);
    // What two experiments have in common is measured once: 16 to 256 processes with 100 µs.
    let cells = full.cells().unwrap();
    let shared = cells.iter().filter(|cell| cell.size == "16x100x100000").count();
    assert_eq!(shared, 3);
    // Nothing is there twice.
    let mut others = cells.clone();
    others.sort_by_key(|cell| (cell.size.clone(), cell.runtime.clone(), cell.workers));
    others.dedup();
    assert_eq!(others.len(), cells.len());
    // A quick run's rounds are a tenth, and its networks are some of them.
    assert_eq!(quick.divisor, 1250);
    let kinds = |plan: &Plan, place| -> Vec<(u64, u64)> {
        networks(plan, place).iter().map(|found| (found.processes, found.nanos)).collect()
    };
    for place in 0..5 {
        let all = kinds(&full, place);
        assert!(kinds(&quick, place).iter().all(|found| all.contains(found)), "{place}");
    }
    assert!(extent(&quick).contains("one in 1250") && extent(&quick).contains("quick subset"));
    assert!(extent(&full).contains("one in 125 ") && extent(&full).contains("one in 50,"));
    assert!(!extent(&full).contains("quick"));
}

#[test]
fn plans_are_what_was_chosen() {
    let choice = Choice {
        experiments: vec!["4".to_owned(), "2".to_owned()],
        divisor: Some(12_500),
        repeats: Some(1),
        ..Choice::default()
    };
    let chosen = plan(&choice, 1).unwrap();
    let names: Vec<&str> = chosen.parts.iter().map(|part| part.experiment.as_str()).collect();
    assert_eq!((names, chosen.repeats, chosen.workers), (vec!["2", "4"], 1, 2));
    assert_eq!(chosen.parts[1].networks[0], "16x1x800000");
    // Experiment 4 has one placement.
    assert!(
        chosen
            .cells()
            .unwrap()
            .iter()
            .filter(|cell| cell.app == "4")
            .all(|cell| { cell.runtime == LAST })
    );
    for wrong in [
        Choice { divisor: Some(0), ..Choice::default() },
        Choice { repeats: Some(0), ..Choice::default() },
        Choice { experiments: vec!["5".to_owned()], ..Choice::default() },
        // Not even a round of the finest messages is as little work.
        Choice { experiments: vec!["1".to_owned()], divisor: Some(1_000_000), ..Choice::default() },
        Choice { experiments: vec![String::new()], ..Choice::default() },
    ] {
        assert!(matches!(plan(&wrong, 2), Err(Fault::Input(_))), "{wrong:?}");
    }
}

#[test]
fn a_record_is_read_as_it_was_written_and_a_spoilt_one_is_refused() {
    let record = record();
    trial::is_kept(&record);
    let refused = |spoil: &dyn Fn(&mut Record)| trial::is_refused(&record, spoil);
    refused(&|record| record.measurements[0].finding.seconds = 0.0);
    refused(&|record| record.measurements[0].finding.divisions = 0);
    refused(&|record| record.measurements[0].finding.running_seconds = -1.0);
    refused(&|record| record.measurements[0].cell.size = "1x2".to_owned());
    refused(&|record| record.measurements[0].cell.workers = 0);
    refused(&|record| record.header.plan.parts[0].experiment = "5".to_owned());
    refused(&|record| record.header.plan.parts[0].networks[0] = "0x1x1".to_owned());
    refused(&|record| record.header.plan.workers = 0);
    refused(&|record| record.header.plan.divisor = 0);
    refused(&|record| record.header.machine.processors = 0);
}

/// Runs with shell scripts for programs.
#[cfg(unix)]
mod scripts {
    use std::path::Path;

    use super::*;
    use crate::record::files;

    /// Says what is right for `2x3x1000` and seed 3, where a message is one division, whose quotient is 1.
    fn good() -> String {
        // Of p from 1 to 6: p·(3 + p - 1 + 1), which is the sum of squares and three times that of numbers.
        let answer = (1..=6u64).map(|place| place * (place + 3)).sum::<u64>();
        format!(
            r#"echo '{{"seconds":0.5,"divisions":1,"answer":{answer},"steals":1,"failed_steals":2,"running_seconds":0.75}}'"#
        )
    }

    fn options(folder: &Path, script: &str) -> Options {
        Options {
            plan: tiny_plan(vec![part("2", &["2x3x1000"])]),
            json: folder.join("scatter.json"),
            out: folder.join("page"),
            fresh: false,
            programs: Program::script(script),
        }
    }

    #[test]
    fn a_run_that_was_stopped_goes_on_and_a_finished_one_is_not_redone() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path(), "");
        // What WS-CUR was to measure is wrong.
        let wrong = good().replace("\"divisions\":1", "\"divisions\":2");
        let cheats = format!("if [ \"$2\" = locksley-cur ]; then {wrong}; else {}; fi", good());
        options.programs = Program::script(&cheats);
        let Err(Fault::Run(why)) = run(&options) else { panic!("an answer was wrong") };
        assert!(why.contains("2x3x1000 on locksley-cur, P = 2"), "{why}");
        assert!(why.contains("is wrong") && !options.json.exists(), "{why}");

        options.programs = Program::script(&good());
        let finished = run(&options).unwrap();
        assert!(!finished.is_old && finished.page.is_file());
        assert_eq!(finished.record.measurements.len(), 2 * 3);
        assert!(finished.record.missing.is_empty());
        options.programs = Program::script("exit 3");
        let again = run(&options).unwrap();
        assert!(again.is_old && again.record == finished.record);
        options.fresh = true;
        assert!(run(&options).is_err(), "it is measured again");
    }

    #[test]
    fn what_fails_or_hangs_is_missing_and_the_rest_is_measured() {
        let timeless = good().replace("0.5", "0.0");
        for (fails, expected) in [
            ("echo because >&2; exit 3", "because"),
            ("echo nonsense", "nonsense"),
            (timeless.as_str(), "nobody can measure"),
            ("exec sleep 1000", "did not end in 2 s"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let script = format!("if [ \"$2\" = locksley-cur ]; then {fails}; else {}; fi", good());
            let mut options = options(folder.path(), &script);
            options.plan.limit_seconds = 2.0;
            let finished = run(&options).unwrap();
            assert_eq!(finished.record.measurements.len(), 2 * 2);
            let [missing] = &finished.record.missing[..] else { panic!("{:?}", finished.record) };
            assert_eq!((missing.cell.runtime.as_str(), missing.repeat), (CURRENT, 0));
            assert!(missing.why.contains(expected), "{missing:?}");
            assert_eq!(files::read::<Record>(&options.json).unwrap(), finished.record);
            let text = table::text(&finished.record, &finished.summary);
            let page = std::fs::read_to_string(&finished.page).unwrap();
            for said in [text, page] {
                assert!(said.contains("missing: 2 2x3x1000 on locksley-cur, P = 2: "), "{said}");
            }
        }
    }

    #[test]
    fn a_wrong_answer_is_a_fault_of_the_run_and_so_is_a_program_that_measures_nothing() {
        let wrong = good().replace("\"divisions\":1", "\"divisions\":2");
        for (script, expected) in [
            (wrong.as_str(), "is wrong"),
            (
                "echo because >&2; exit 3",
                "nothing could be measured; 2 2x3x1000 on locksley, P = 1",
            ),
            ("echo nonsense", "nonsense"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let options = options(folder.path(), script);
            trial::has_failed(run(&options), expected, &options.json);
        }
    }
}
