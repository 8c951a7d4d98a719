use super::*;
use crate::meter::report::tests::{off, report};
use crate::meter::{Origin, Stretch, WorkerStats};

#[test]
fn a_path_that_is_longer_than_it_took_is_told() {
    let tells = |path| {
        report(1000, path, path).advice().iter().any(|it| it.contains("longer than it took"))
    };
    assert_eq!([299, 300, 310].map(tells), [false, false, true]);
}

#[test]
fn advice_names_what_stands_out() {
    // Runs that took no longer than they had to.
    let only = |mut report: Report| {
        report.wall = report.critical_path.max(report.work / 4);
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
    let throttled = Report { throttled, ..report(1100, 2, 3) }.advice();
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

/// On 4 workers for 300 ms; work and path in milliseconds, and how many of these each worker waited, hunted and slept.
fn spent(work: u64, path: u64, [waited, hunted, slept]: [u64; 3]) -> Report {
    let mut report = off(report(work, path, path), Some(waited));
    report.taken = Some(Duration::ZERO);
    report.grant.processors = 4.0;
    for worker in &mut report.stats.workers {
        worker.hunting = Duration::from_millis(hunted);
        worker.sleeping = Duration::from_millis(slept);
        worker.working = report.wall - worker.hunting - worker.sleeping;
    }
    report
}

/// Which of the three its advice says it was.
fn blames(report: &Report) -> [bool; 3] {
    let advice = report.advice();
    let says = |part: &str| advice.iter().any(|said| said.contains(part));
    [says("critical path bounds"), says("Want of processors"), says("The runtime")]
}

#[test]
fn near_the_bound_nobody_is_blamed() {
    // 1140 of 1200 are work.
    let report = spent(1140, 2, [5, 5, 5]);
    assert_eq!((blames(&report), report.advice().len()), ([false; 3], 1), "{report}");
    // Some time was lost, but not more than the model allows where P - 1 may idle along the path.
    let report = spent(1000, 60, [0, 25, 25]);
    assert!(report.of_bound() < 1.1, "{report}");
    assert_eq!((blames(&report), report.advice().len()), ([false; 3], 1), "{report}");
}

#[test]
fn want_of_parallelism_is_no_want_of_processors_and_not_the_runtimes() {
    // One strand, beside which the others hunt; when they yield, they wait for each other, too.
    for waits in [[0, 225, 0], [0, 0, 225], [100, 225, 0]] {
        let report = spent(300, 300, waits);
        assert_eq!(blames(&report), [true, false, false], "{report}");
        assert!(report.advice()[0].ends_with("nothing to do for 75% of their time."), "{report}");
    }
    // Where most of it was waiting, only what was not is told.
    let waits = spent(300, 290, [100, 30, 0]);
    assert!(waits.advice()[0].ends_with("nothing to do for 10% of their time."), "{waits}");
}

#[test]
fn want_of_processors_is_named() {
    // 600 of 1200 are work, and for 560 they could have run.
    let mut report = spent(600, 2, [140, 0, 0]);
    report.grant.processors = 2.0;
    assert_eq!(blames(&report), [false, true, false], "{report}");
    let said = report.advice().pop().unwrap();
    assert!(said.contains("for 47% of their time") && said.contains("PA 2.00 processors of 4"));
    // Also where the run came near its bound, since the bound is that of the processors that it had.
    assert!(report.of_bound() < 1.1, "{report}");
    report.grant_basis = GrantBasis::WaitsOfTooMany;
    assert!(report.to_string().contains("PA at most 2.00"), "{report}");
    // The system does not say for how long they waited.
    let report = off(report, None);
    assert_eq!(blames(&report), [false, true, false], "{report}");
    // Half of the workers sleep, since a governor keeps no more awake than there are processors.
    let mut asleep = spent(540, 2, [0, 10, 150]);
    (asleep.grant.allowed, asleep.grant.affinity, asleep.grant.processors) = (2.0, 2, 2.0);
    assert_eq!(blames(&asleep), [false, true, false], "{asleep}");
    // Or they sleep since there was nothing to do for as long as somebody waited for what is not followed.
    let uncertain = Report { uncarried: 1, ..asleep };
    assert_eq!(blames(&uncertain), [false; 3], "{uncertain}");
    // Little is not worth a word.
    assert_eq!(blames(&spent(1100, 2, [25, 0, 0])), [false; 3]);
}

/// Two workers, 75 ms: they had half a processor for lack of more.
#[test]
fn a_short_run_that_had_no_processor_is_not_told_of_its_tasks_alone() {
    let mut report = spent(37, 1, [54, 6, 6]);
    (report.workers, report.wall) = (2, Duration::from_millis(75));
    report.stats.workers.truncate(2);
    report.burdened_critical_path = Duration::from_millis(20);
    assert_eq!(blames(&report), [false, true, false], "{report}");
    assert!(report.advice()[0].contains("tasks are small"), "{report}");
}

/// Where the path is long and its worker waits, the others do, too: for it, and not for the runtime.
#[test]
fn who_waits_for_a_path_that_waits_is_not_idle_for_the_runtimes_sake() {
    // Parallelism 5: the path would take 120 of 200 ms, and takes 240.
    let report = spent(600, 120, [75, 0, 75]);
    assert!(!blames(&report)[2], "{report}");
}

#[test]
fn what_a_quota_took_is_not_what_others_took() {
    let throttled = Some(Duration::from_millis(560));
    for waited in [140, 0] {
        let report = Report { throttled, ..spent(600, 2, [waited, 0, 0]) };
        assert_eq!(blames(&report), [false; 3], "{report}");
        assert!(report.advice()[1].contains("A quota"), "{report}");
    }
    // Both.
    let throttled = Some(Duration::from_millis(200));
    let both = Report { throttled, ..spent(600, 2, [140, 0, 0]) };
    assert_eq!(blames(&both), [false, true, false], "{both}");
    assert!(both.advice().iter().any(|said| said.contains("for 30% of their time")), "{both}");
    assert!(both.advice().iter().any(|said| said.contains("A quota")), "{both}");
}

/// One of four rests in turn so that the quota lasts: nobody is stopped.
#[test]
fn what_a_quota_does_not_allow_is_not_what_others_took() {
    let mut report = spent(880, 2, [0, 10, 70]);
    (report.grant.allowed, report.grant.processors) = (3.0, 3.0);
    assert_eq!(blames(&report), [false; 3], "{report}");
    let said = report.advice().pop().unwrap();
    assert!(said.starts_with("A quota allows 3.00 processors") && said.contains("25%"), "{said}");
    report.grant.affinity = 3;
    assert_eq!(blames(&report), [false, true, false], "{report}");
}

/// More workers than may be at work, who only sleep: where the others were busy all the time, that was not spent asleep.
#[test]
fn who_may_not_be_awake_is_not_idle() {
    let mut report = spent(600, 2, [0, 0, 0]);
    let slept =
        WorkerStats { sleeping: report.wall, working: Duration::ZERO, ..report.stats.workers[0] };
    report.stats.workers.extend([slept; 5]);
    assert_eq!(blames(&report), [false, false, true], "{report}");
    assert!(report.to_string().contains("between tasks"), "{report}");
}

/// A pool's report is of the time between its calls, too.
#[test]
fn what_a_pool_was_not_asked_for_is_nobodys_fault() {
    // 20 of 300 ms.
    let pool = |times| Report { is_of_pool: true, ..spent(76, 2, times) };
    let seldom = pool([0, 1, 279]);
    assert_eq!(blames(&seldom), [false; 3], "{seldom}");
    let said = seldom.advice().pop().unwrap();
    assert!(said.contains("For 93% of the time of the processors allowed"), "{said}");
    // Processors that a governor would keep them from were not wanted.
    let mut few = seldom;
    (few.grant.allowed, few.grant.affinity, few.grant.processors) = (2.0, 2, 2.0);
    assert_eq!(blames(&few), [false; 3], "{few}");
    // Two processors have no more time than that.
    let busy = [150, 150, 0, 0].map(Duration::from_millis);
    few.stats.workers.iter_mut().zip(busy).for_each(|(worker, time)| worker.working = 2 * time);
    assert!(!few.to_string().contains("no worker had a task"), "{few}");
    // What of their tasks' time was not work is told.
    let waited = pool([20, 1, 259]);
    assert_eq!(blames(&waited), [false, true, false], "{waited}");
    assert!(waited.to_string().contains("for 50% of the time in which they had tasks"), "{waited}");
    let mut parallel = waited;
    parallel.critical_path = Duration::from_millis(10);
    assert_eq!(blames(&parallel), [false, true, false], "{parallel}");
    let slow = pool([0, 1, 259]);
    assert_eq!(blames(&slow), [false, false, true], "{slow}");
    // One that always has tasks has no such sentence, and a path may be too long for any.
    let busy = Report { is_of_pool: true, ..spent(1140, 2, [5, 5, 5]) };
    assert_eq!((blames(&busy), busy.advice().len()), ([false; 3], 1), "{busy}");
    let serial = Report { is_of_pool: true, ..spent(300, 300, [0, 5, 220]) };
    assert_eq!(blames(&serial), [true, false, false], "{serial}");
}

#[test]
fn the_runtime_is_named_where_neither_explains_it() {
    let report = spent(600, 2, [0, 100, 45]);
    assert_eq!(blames(&report), [false, false, true], "{report}");
    let said = report.advice().pop().unwrap();
    assert!(said.contains("hunted or slept for 48%") && !said.contains("small"), "{said}");
    // With tasks that are too small.
    let small = Report { burdened_critical_path: Duration::from_millis(100), ..report.clone() };
    assert!(small.advice().pop().unwrap().contains("the burdened parallelism is 6.0"), "{small}");
    // Time that is nowhere.
    let busy = spent(600, 2, [0, 5, 5]);
    assert_eq!(blames(&busy), [false, false, true], "{busy}");
    assert!(busy.to_string().contains("between tasks"), "{busy}");
    // What was not followed may be what they waited for, and what is not of these workers is not known.
    for uncertain in [
        Report { uncarried: 1, ..report.clone() },
        Report { under_way: 1, ..report.clone() },
        Report { has_guest: true, ..report.clone() },
        Report { is_mixed: true, ..report.clone() },
    ] {
        assert!(!blames(&uncertain)[2], "{uncertain}");
    }
    // Others had more of it.
    assert_eq!(blames(&spent(600, 2, [100, 40, 0])), [false, true, false]);
    // What takes 100 µs is what it takes to wake somebody.
    let mut short = report;
    for time in [&mut short.wall, &mut short.work, &mut short.critical_path] {
        *time /= 1000;
    }
    short.burdened_critical_path = short.critical_path;
    assert_eq!(blames(&short), [false; 3], "{short}");
}

/// Nothing is explained twice, and nothing is left.
#[test]
fn losses_are_what_was_not_work() {
    let parts = [0.0, 0.1, 0.3, 0.9];
    for work in [0.1, 0.5, 1.0, 1.1] {
        for (path, off) in parts.into_iter().flat_map(|path| parts.map(|off| (path, off))) {
            let beyond = if off > path { 0.25 } else { 0.0 };
            for (throttled, idle) in parts.into_iter().flat_map(|it| parts.map(|idle| (it, idle))) {
                let beyond_quota = if throttled > idle { beyond / 2.0 } else { 0.0 };
                let shares = Shares { work, path, off, throttled, beyond, beyond_quota, idle };
                let losses = Losses::new(&shares, 4);
                let explained =
                    [losses.parallelism, losses.processors, losses.quota, losses.runtime];
                assert!(explained.iter().all(|&part| part >= 0.0), "{losses:?}");
                let all: f64 = explained.iter().sum();
                assert!((all - (1.0 - work).max(0.0)).abs() < 1e-9, "{losses:?}");
                assert!((0.0..=losses.runtime).contains(&losses.idle), "{losses:?}");
            }
        }
    }
}
