use super::*;
use crate::meter::path::Path;

/// On 4 workers, in milliseconds.
pub(crate) fn report(work: u64, path: u64, burdened: u64) -> Report {
    let [work, critical_path, burdened_critical_path] =
        [work, path, burdened].map(Duration::from_millis);
    let wall = Duration::from_millis(300);
    let (allowed, processors) = (4.0, 2.0);
    let grant = Grant { wall, own: None, others: None, allowed, affinity: 4, processors };
    let (off_processor, processor_time) = (Some(Duration::ZERO), Some(wall / 2));
    let worker = WorkerStats { off_processor, processor_time, ..WorkerStats::default() };
    Report {
        wall,
        workers: 4,
        work,
        critical_path,
        burdened_critical_path,
        course: Vec::new(),
        taken: None,
        forks: 10,
        uncarried: 0,
        under_way: 0,
        is_mixed: false,
        has_guest: false,
        is_of_pool: false,
        grant,
        grant_basis: GrantBasis::Ticks,
        stats: PoolStats { governor: "some", workers: vec![worker; 4] },
        throttled: None,
    }
}

/// With workers that waited so many milliseconds for a processor, each.
pub(crate) fn off(report: Report, millis: Option<u64>) -> Report {
    let mut report = report;
    for worker in &mut report.stats.workers {
        worker.off_processor = millis.map(Duration::from_millis);
    }
    report
}

#[test]
fn figures_are_those_of_the_papers() {
    let report = report(480, 60, 120);
    assert!((report.parallelism() - 8.0).abs() < 1e-9);
    assert!((report.burdened_parallelism() - 4.0).abs() < 1e-9);
    // 480 / (2 * 300)
    assert!((report.utilization() - 0.8).abs() < 1e-9);
    // 480 / 2 + 60 * 4 / 2
    assert_eq!(report.bound(), Duration::from_millis(360));
    assert!((report.of_bound() - 300.0 / 360.0).abs() < 1e-9);
}

/// What a path has come to was done.
#[test]
fn work_is_no_less_than_the_critical_path() {
    let figures = Figures {
        clock: Clock::Monotonic,
        work: 3,
        path: Path { span: 5, burdened: 6, ..Path::default() },
        course: [Part::default(); KEPT],
        taken: None,
        forks: 0,
        uncarried: 0,
        under_way: 1,
        is_mixed: false,
    };
    let crew = Crew { size: 2, most: 2 };
    let before = Surroundings::new(Clock::Monotonic, || (PoolStats::none(), Crew::default()));
    let report = before.report(Duration::from_nanos(9), &figures, PoolStats::none(), crew);
    assert_eq!((report.workers, report.grant_basis), (2, GrantBasis::Allowance));
    assert_eq!(report.work, report.critical_path);
    assert_eq!((report.critical_path.as_nanos(), report.under_way), (5, 1));
    assert!((report.parallelism() - 1.0).abs() < 1e-9);
}

#[test]
fn what_is_a_lower_bound_is_said_to_be_one() {
    let said = report(480, 60, 60).to_string();
    assert!(said.contains("critical path T∞") && !said.contains("at least   forks"), "{said}");
    let said_of_a_part = Report { uncarried: 1, ..report(480, 60, 60) }.to_string();
    assert!(said_of_a_part.contains("at least   forks"), "{said_of_a_part}");
    assert!(said_of_a_part.contains("; of what was followed"), "{said_of_a_part}");
    assert!(said.contains("forks: 10") && said.contains("0.83 of it"), "{said}");
    for (grant_basis, label) in [
        (GrantBasis::Waits, "by what the workers waited for\n"),
        (GrantBasis::WaitsOfTooMany, "at most, by what the workers waited for"),
        (GrantBasis::Allowance, "not known what others took"),
    ] {
        let told = Report { grant_basis, ..report(480, 60, 60) }.to_string();
        assert!(told.contains(label) && !said.contains(label), "{told}");
    }
}

/// They have used and waited for as much as that, in the time of the report.
#[test]
fn what_workers_say_counts_if_all_say_it() {
    let stats = off(report(480, 60, 60), Some(150)).stats;
    let wall = Duration::from_millis(300);
    let told_by_all = told(&stats, wall).unwrap();
    assert!((told_by_all.used - 2.0).abs() < 1e-9 && (told_by_all.waited - 2.0).abs() < 1e-9);
    let mut stats = stats;
    stats.workers[3].off_processor = None;
    assert!(told(&stats, wall).is_none());
    assert!(told(&PoolStats::none(), wall).is_none());
}
