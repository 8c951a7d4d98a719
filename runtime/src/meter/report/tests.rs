use super::*;
use crate::meter::path::Path;
use crate::meter::site::Origin;

#[test]
fn a_path_that_is_longer_than_it_took_is_told() {
    let tells = |path| {
        report(1000, path, path).advice().iter().any(|it| it.contains("longer than it took"))
    };
    assert_eq!([299, 300, 310].map(tells), [false, false, true]);
}

/// On 4 workers, in milliseconds.
fn report(work: u64, path: u64, burdened: u64) -> Report {
    let [work, critical_path, burdened_critical_path] =
        [work, path, burdened].map(Duration::from_millis);
    let wall = Duration::from_millis(300);
    let grant = Grant { wall, own: None, others: None, processors: 2.0 };
    let worker = WorkerStats { off_processor: Some(Duration::ZERO), ..WorkerStats::default() };
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
        grant,
        is_grant_measured: true,
        stats: PoolStats { governor: "some", workers: vec![worker; 4] },
        throttled: None,
    }
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

/// With workers that waited so many milliseconds for a processor, each.
fn off(report: Report, millis: Option<u64>) -> Report {
    let mut report = report;
    for worker in &mut report.stats.workers {
        worker.off_processor = millis.map(Duration::from_millis);
    }
    report
}

#[test]
fn advice_names_what_stands_out() {
    let only = |report: Report| {
        let advice = report.advice();
        assert_eq!(advice.len(), 1, "{advice:?}");
        advice[0].clone()
    };
    assert!(only(report(480, 200, 200)).starts_with("Parallelism 2.4 on 4 workers: the critical"));
    // 8 / (8 + 4)
    assert!(only(report(480, 60, 60)).contains("at least 67% of the full speedup"));
    assert!(only(report(480, 2, 200)).contains("tasks are small"));
    assert!(only(report(480, 2, 20)).contains("tasks are small"));
    assert!(only(report(480, 60, 200)).contains("tasks are small"));
    assert!(only(report(480, 2, 3)).contains("is enough"));
    assert!(only(report(0, 0, 0)).contains("Nothing"));
    let one = Report { workers: 1, ..report(480, 200, 200) };
    assert!(only(one).contains("of which one worker has no use"));
    let throttled = Some(Duration::from_millis(100));
    let throttled = Report { throttled, ..report(480, 2, 3) }.advice();
    assert!(throttled.len() == 2 && throttled[1].contains("A quota"), "{throttled:?}");
    let mixed = Report { is_mixed: true, ..report(480, 2, 3) };
    assert!(mixed.advice().iter().any(|said| said.contains("other pools")), "{mixed}");
    assert!(mixed.advice().iter().any(|said| said.contains("is not known")), "{mixed}");
    assert!(!mixed.to_string().contains("T1/(PA T)"), "{mixed}");
}

/// Whatever is missing or too much, one sentence says what that makes of the figures, and none says anything else.
#[test]
fn bounds_are_said_once() {
    let base = || report(480, 200, 200);
    let whole = [base()];
    let missing = [
        Report { uncarried: 7, ..base() },
        Report { under_way: 7, ..base() },
        Report { has_guest: true, ..base() },
    ];
    for (reports, is_whole) in [(&whole[..], true), (&missing[..], false)] {
        for report in reports {
            // 4 * 2 ms of 200 are below a twentieth, and 4 * 3 are not.
            for (millis, is_long) in [(Some(2), false), (Some(3), true), (None, true)] {
                let advice = off(report.clone(), millis).advice();
                let says = |part: &str| advice.iter().filter(|s| s.contains(part)).count();
                let bounds = [
                    says("are upper bounds"),
                    says("are lower bounds"),
                    says("may be more or less"),
                ];
                let expected = match (is_whole, is_long) {
                    (true, false) => [0, 0, 0],
                    (true, true) => [1, 0, 0],
                    (false, false) => [0, 1, 0],
                    (false, true) => [0, 0, 1],
                };
                assert_eq!(bounds, expected, "{advice:?}");
                assert_eq!(says("the critical path bounds"), usize::from(is_whole));
                assert_eq!(says("not known"), usize::from(millis.is_none()), "{advice:?}");
            }
        }
    }
    // Of the path all of it, of the work a quarter.
    let advice = off(report(480, 100, 100), Some(30)).advice();
    assert!(advice[1].contains("25% of T1 and 100% of T∞"), "{advice:?}");
}

/// What has been taken out makes nothing a bound.
#[test]
fn what_the_kernel_took_is_no_excess() {
    let long = off(report(480, 200, 200), Some(100));
    assert!(long.advice().iter().any(|said| said.contains("upper bounds")), "{long}");
    let taken = Some(Duration::from_millis(400));
    let corrected = Report { taken, ..long };
    assert!(!corrected.advice().iter().any(|said| said.contains("upper bounds")));
    assert!(corrected.to_string().contains("400.000ms for which the kernel ran others"));
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
    let before = Surroundings::new(Clock::Monotonic, PoolStats::none);
    let report = before.report(Duration::from_nanos(9), &figures, PoolStats::none(), 2);
    assert_eq!(report.work, report.critical_path);
    assert_eq!((report.critical_path.as_nanos(), report.under_way), (5, 1));
    assert!((report.parallelism() - 1.0).abs() < 1e-9);
}

/// The places of most of the critical path are named, in the advice where it is what bounds the speedup.
#[test]
fn advice_names_the_places() {
    let at = |name, millis| Stretch {
        origin: Origin::Function(name),
        time: Duration::from_millis(millis),
    };
    let course = vec![at("sort", 120), at("merge", 60), at("read", 10), at("write", 1)];
    let slow = Report { course: course.clone(), ..report(480, 200, 200) };
    let advice = slow.advice();
    assert!(advice[0].contains("spawned in sort (60%) and in merge (30%);"), "{advice:?}");
    let said = slow.to_string();
    assert!(said.contains(" 60% of it spawned in sort"), "{said}");
    // A hundredth, and less.
    assert!(said.contains("in read") && !said.contains("in write"), "{said}");
    let wide = Report { course, ..report(9600, 200, 200) }.advice();
    assert!(!wide.iter().any(|said| said.contains("in sort")), "{wide:?}");
}

#[test]
fn what_is_a_lower_bound_is_said_to_be_one() {
    let said = report(480, 60, 60).to_string();
    assert!(said.contains("critical path T∞") && !said.contains("at least   forks"), "{said}");
    let said_of_a_part = Report { uncarried: 1, ..report(480, 60, 60) }.to_string();
    assert!(said_of_a_part.contains("at least   forks"), "{said_of_a_part}");
    assert!(said_of_a_part.contains("; of what was followed"), "{said_of_a_part}");
    assert!(said.contains("forks: 10") && said.contains("0.83 of it"), "{said}");
    let unknown = Report { is_grant_measured: false, ..report(480, 60, 60) }.to_string();
    assert!(unknown.contains("too short"), "{unknown}");
}
