//! What becomes of measurements. That they can be taken is tested from outside: they need this program's own binary.

use std::time::Duration;

use super::histogram::Histogram;
use super::plan::{Wishes, plan, subset};
use super::record::Beside;
use super::*;

fn times(microseconds: impl IntoIterator<Item = u64>) -> Histogram {
    let mut times = Histogram::default();
    microseconds.into_iter().for_each(|time| times.add(Duration::from_micros(time)));
    times
}

/// Two processors, one shape, made-up times.
fn record() -> Record {
    let wishes = Wishes { quick: true, seed: 5, runtimes: vec![], seconds: None };
    let mut plan = plan(&wishes, 2).unwrap();
    plan.shapes.truncate(1);
    let header = Header::here(plan);
    let mut samples = Vec::new();
    let mut add = |beside: Option<(&str, usize)>, late: Histogram, rounds_per_second| {
        let beside = beside.map(|(runtime, workers)| Beside {
            runtime: runtime.to_owned(),
            shape: "plenty".to_owned(),
            workers,
        });
        let repeat = samples.iter().filter(|s: &&Sample| s.beside == beside).count();
        let work = times([100]);
        let disturbance = beside.is_none().then_some(0.25);
        samples.push(Sample { beside, repeat, late, work, rounds_per_second, disturbance });
    };
    add(None, times([60; 100]), None);
    add(Some(("locksley", 2)), times(1..=1000), Some(10.0));
    add(Some(("locksley", 2)), times(1001..=2000), Some(30.0));
    add(Some(("locksley", 8)), times([500; 10]), Some(20.0));
    add(Some(("rayon", 2)), times([4000; 10]), Some(20.0));
    record_of(header, "then".to_owned(), samples)
}

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 0.03
}

#[test]
fn percentiles_are_those_of_all_wake_ups_together() {
    let summary = Summary::of(&record());
    assert!(close(summary.alone.as_ref().unwrap().late.p99, 60e-6));
    let [two, eight] = &summary.groups[..] else { panic!("P = 2 and P = 8") };
    assert_eq!((two.workers, eight.workers), (2, 8));
    let [(name, locksley), (other, rayon)] = &two.runtimes[..] else { panic!("two runtimes") };
    assert_eq!([name, other], ["locksley", "rayon"]);
    assert!(close(locksley.late.half, 1e-3) && close(locksley.late.p99, 1980e-6), "{locksley:?}");
    assert!(close(locksley.late.p999.unwrap(), 1998e-6));
    assert!(rayon.late.p999.is_none(), "ten wake-ups say nothing of one in a thousand");
    assert!(close(locksley.spread.0, 990e-6) && close(locksley.spread.1, 1990e-6));
    assert_eq!(locksley.rounds_per_second, Some(20.0));
    assert_eq!(summary.worst("locksley").unwrap().0.workers, 2);
    assert!(summary.worst("static").is_none());
}

#[test]
fn plans_say_what_they_measure() {
    let wishes = Wishes { quick: true, seed: 1, runtimes: vec![], seconds: None };
    let quick = plan(&wishes, 2).unwrap();
    assert_eq!(quick.workers, [2, 8]);
    assert_eq!(quick.cells().len(), 1 + 2 * 2 * 4);
    assert!(quick.cells()[0].is_none());
    assert!(subset(&quick).contains("plenty and little parallelism only"));
    let time =
        |plan: &Plan| plan.repeats as f64 * plan.cells().len() as f64 * (plan.seconds + 0.45);
    assert!(time(&quick) < 60.0);
    let full = plan(&Wishes { quick: false, ..wishes.clone() }, 2).unwrap();
    assert!(full.shapes.len() == 3 && time(&full) < 3600.0);
    for shape in &full.shapes {
        shape.round.validate().unwrap();
    }
    assert!(plan(&Wishes { runtimes: vec!["tbb".to_owned()], ..wishes }, 2).is_err());
}

#[test]
fn table_and_page_speak_of_all_that_was_measured() {
    let record = record();
    let summary = Summary::of(&record);
    let text = table::text(&record, &summary);
    assert!(text.contains("others used 0.25 processors"), "{text}");
    assert!(text.contains("plenty parallelism, P = 8") && text.contains("(alone)"), "{text}");
    assert!(text.lines().any(|line| line.contains("rayon") && line.contains("4.0")), "{text}");

    let folder = tempfile::tempdir().unwrap();
    let page = report::prepare(folder.path()).unwrap();
    report::neighbour::write(&page, &record, &summary).unwrap();
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 2);
    assert!(page.contains("beside rayon 4.0") && page.contains("alone 59.9 µs"), "{page}");
    for elsewhere in ["https:", "src=", "href=", "url(", "#01FE", "NaN", ">inf"] {
        assert!(!page.contains(elsewhere), "the page has {elsewhere}");
    }
}

#[test]
fn a_record_with_nothing_measured_makes_a_page() {
    let mut record = record();
    record.samples.clear();
    let summary = Summary::of(&record);
    let folder = tempfile::tempdir().unwrap();
    let page = report::prepare(folder.path()).unwrap();
    report::neighbour::write(&page, &record, &summary).unwrap();
    assert!(std::fs::read_to_string(page).unwrap().contains("<h1>"));
}

#[test]
fn times_have_three_digits_and_a_unit() {
    let text = [0.000_061_23, 0.0041, 0.123_4, 0.0, 2.0].map(table::time);
    assert_eq!(text, ["61.2 µs", "4.10 ms", "123 ms", "0.00 µs", "2.00 s"]);
}
