use locksley::stats::WorkerStats;

use super::*;
use crate::report::tests::report;

/// With workers that waited so many milliseconds for a processor, each.
fn off(mut report: Report, millis: Option<u64>) -> Report {
    for worker in &mut report.stats.workers {
        worker.off_processor = millis.map(Duration::from_millis);
    }
    report
}

#[test]
fn a_span_that_is_longer_than_the_time_is_told() {
    let tells = |span| {
        report(1000, span, span).advice().iter().any(|it| it.contains("longer than it took"))
    };
    assert_eq!([299, 300, 310].map(tells), [false, false, true]);
}

#[test]
fn advice_names_what_stands_out() {
    // Runs that took no longer than they had to.
    let only = |mut report: Report| {
        report.wall = report.span.max(report.work / 4);
        let advice = report.advice();
        assert_eq!(advice.len(), 1, "{advice:?}");
        advice[0].clone()
    };
    assert!(only(report(480, 200, 200)).starts_with("Parallelism 2.4 on 4 workers: the span"));
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
    let untold = Report { taken: None, ..report(1100, 2, 3) }.advice();
    assert!(untold.len() == 2 && untold[1].contains("upper bounds"), "{untold:?}");
}

/// On 4 workers for 300 ms; work and span in milliseconds, and how many of these each worker
/// waited, searched and slept.
fn spent(work: u64, span: u64, [waited, searched, slept]: [u64; 3]) -> Report {
    let mut report = off(report(work, span, span), Some(waited));
    report.grant.processors = 4.0;
    for worker in &mut report.stats.workers {
        worker.searching = Duration::from_millis(searched);
        worker.sleeping = Duration::from_millis(slept);
        worker.working = report.wall - worker.searching - worker.sleeping;
    }
    report
}

/// Which of the three its advice says it was.
fn blames(report: &Report) -> [bool; 3] {
    let advice = report.advice();
    let says = |part: &str| advice.iter().any(|said| said.contains(part));
    [says("span bounds"), says("Want of processors"), says("The runtime")]
}

#[test]
fn near_the_bound_nothing_is_blamed() {
    // 1140 of 1200 are work.
    let report = spent(1140, 2, [5, 5, 5]);
    assert_eq!((blames(&report), report.advice().len()), ([false; 3], 1), "{report}");
    // Some time was lost, but not more than the model allows, where P - 1 may idle along the span.
    let report = spent(1000, 60, [0, 25, 25]);
    assert!(report.of_bound() < 1.1, "{report}");
    assert_eq!((blames(&report), report.advice().len()), ([false; 3], 1), "{report}");
}

#[test]
fn want_of_parallelism_is_no_want_of_processors_and_not_the_runtimes() {
    // One task, beside which the others search; when they yield, they wait for each other, too.
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
    assert!(said.contains("for 47% of their time") && said.contains("PA was 2.00 processors of 4"));
    // Also near the bound, since the bound is that of the processors that there were.
    assert!(report.of_bound() < 1.1, "{report}");
    report.grant_basis = GrantBasis::WaitsOfTooMany;
    assert!(report.to_string().contains("PA was at most 2.00"), "{report}");
    // The system does not tell for how long they waited.
    let report = off(report, None);
    assert_eq!(blames(&report), [false, true, false], "{report}");
    // Half of the workers sleep, since the pool keeps no more awake than there are processors.
    let mut asleep = spent(540, 2, [0, 10, 150]);
    (asleep.grant.allowed, asleep.grant.affinity, asleep.grant.processors) = (2.0, 2, 2.0);
    assert_eq!(blames(&asleep), [false, true, false], "{asleep}");
    // Little is not worth a sentence.
    assert_eq!(blames(&spent(1100, 2, [25, 0, 0])), [false; 3]);
}

/// Two workers, 75 ms: they had half a processor for lack of more.
#[test]
fn a_short_run_without_processors_is_not_told_of_its_tasks_alone() {
    let mut report = spent(37, 1, [54, 6, 6]);
    (report.workers, report.wall) = (2, Duration::from_millis(75));
    report.stats.workers.truncate(2);
    report.burdened_span = Duration::from_millis(20);
    assert_eq!(blames(&report), [false, true, false], "{report}");
    assert!(report.advice()[0].contains("tasks are small"), "{report}");
}

/// Where the span is long and its worker waits, the others wait for it, and not for the runtime.
#[test]
fn waits_of_the_span_are_not_the_runtimes() {
    // Parallelism 5: the span would take 120 of 200 ms, and takes 240.
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

/// One of four rests in turn so that the quota lasts: none is stopped.
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

/// More workers than may work sleep: where the others were busy all the time, that is not idle.
#[test]
fn workers_that_may_not_be_awake_are_not_idle() {
    let mut report = spent(600, 2, [0, 0, 0]);
    let mut slept: WorkerStats = report.stats.workers[0];
    (slept.sleeping, slept.working) = (report.wall, Duration::ZERO);
    report.stats.workers.extend([slept; 5]);
    assert_eq!(blames(&report), [false, false, true], "{report}");
    assert!(report.to_string().contains("between tasks"), "{report}");
}

/// A pool's report is of the time between its calls, too.
#[test]
fn what_a_pool_was_not_asked_for_is_not_blamed() {
    // 20 of 300 ms.
    let pool = |times| Report { is_of_pool: true, ..spent(76, 2, times) };
    let seldom = pool([0, 1, 279]);
    assert_eq!(blames(&seldom), [false; 3], "{seldom}");
    let said = seldom.advice().pop().unwrap();
    assert!(said.contains("For 93% of the time of the processors allowed"), "{said}");
    // Processors that the pool would keep its workers from were not wanted.
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
    parallel.span = Duration::from_millis(10);
    assert_eq!(blames(&parallel), [false, true, false], "{parallel}");
    let slow = pool([0, 1, 259]);
    assert_eq!(blames(&slow), [false, false, true], "{slow}");
    // A pool that always has tasks has no such sentence, and the span may be too long for any.
    let busy = Report { is_of_pool: true, ..spent(1140, 2, [5, 5, 5]) };
    assert_eq!((blames(&busy), busy.advice().len()), ([false; 3], 1), "{busy}");
    let serial = Report { is_of_pool: true, ..spent(300, 300, [0, 5, 220]) };
    assert_eq!(blames(&serial), [true, false, false], "{serial}");
}

#[test]
fn the_runtime_is_named_where_nothing_else_explains_it() {
    let report = spent(600, 2, [0, 100, 45]);
    assert_eq!(blames(&report), [false, false, true], "{report}");
    let said = report.advice().pop().unwrap();
    assert!(said.contains("searched or slept for 48%") && !said.contains("small"), "{said}");
    // With tasks that are too small.
    let small = Report { burdened_span: Duration::from_millis(100), ..report.clone() };
    assert!(small.advice().pop().unwrap().contains("the burdened parallelism is 6.0"), "{small}");
    // Time that is in no activity.
    let busy = spent(600, 2, [0, 5, 5]);
    assert_eq!(blames(&busy), [false, false, true], "{busy}");
    assert!(busy.to_string().contains("between tasks"), "{busy}");
    // Others had more of it.
    assert_eq!(blames(&spent(600, 2, [100, 40, 0])), [false, true, false]);
    // What takes 100 µs is what it takes to wake a worker.
    let mut short = report;
    for time in [&mut short.wall, &mut short.work, &mut short.span] {
        *time /= 1000;
    }
    short.burdened_span = short.span;
    assert_eq!(blames(&short), [false; 3], "{short}");
}

/// Nothing is explained twice, and nothing is left.
#[test]
fn losses_are_what_was_not_work() {
    let parts = [0.0, 0.1, 0.3, 0.9];
    for work in [0.1, 0.5, 1.0, 1.1] {
        for (span, off) in parts.into_iter().flat_map(|span| parts.map(|off| (span, off))) {
            let beyond = if off > span { 0.25 } else { 0.0 };
            for (throttled, idle) in parts.into_iter().flat_map(|it| parts.map(|idle| (it, idle))) {
                let beyond_quota = if throttled > idle { beyond / 2.0 } else { 0.0 };
                let shares = Shares { work, span, off, throttled, beyond, beyond_quota, idle };
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
