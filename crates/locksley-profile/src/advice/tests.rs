use locksley::stats::WorkerStats;

use super::*;
use crate::report::tests::report;

/// The report with workers that each waited this long for a processor.
fn off(mut report: Report, millis: Option<u64>) -> Report {
    for worker in &mut report.stats.workers {
        worker.off_processor = millis.map(Duration::from_millis);
    }
    report
}

#[test]
fn a_span_longer_than_the_elapsed_time_is_reported() {
    let tells = |span| {
        report(1000, span, span)
            .advice()
            .iter()
            .any(|it| it.contains("longer than the elapsed time"))
    };
    assert_eq!([299, 300, 310].map(tells), [false, false, true]);
}

#[test]
fn advice_names_large_losses() {
    // Runs that were as fast as possible.
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

/// A report on 4 workers for 300 ms: work, span, and the times that each worker waited, searched
/// and slept, in milliseconds.
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

/// The causes that the advice names: parallelism, processors, runtime.
fn causes_named(report: &Report) -> [bool; 3] {
    let advice = report.advice();
    let says = |part: &str| advice.iter().any(|said| said.contains(part));
    [says("span bounds"), says("Lack of processors"), says("The runtime")]
}

#[test]
fn near_the_bound_no_cause_is_named() {
    // 1140 of 1200 are work.
    let report = spent(1140, 2, [5, 5, 5]);
    assert_eq!((causes_named(&report), report.advice().len()), ([false; 3], 1), "{report}");
    // The loss is within the bound, in which P - 1 workers may idle beside the span.
    let report = spent(1000, 60, [0, 25, 25]);
    assert!(report.of_bound() < 1.1, "{report}");
    assert_eq!((causes_named(&report), report.advice().len()), ([false; 3], 1), "{report}");
}

#[test]
fn lack_of_parallelism_is_neither_lack_of_processors_nor_the_runtimes() {
    // One task, while the other workers search, and wait for each other when they yield.
    for waits in [[0, 225, 0], [0, 0, 225], [100, 225, 0]] {
        let report = spent(300, 300, waits);
        assert_eq!(causes_named(&report), [true, false, false], "{report}");
        assert!(report.advice()[0].ends_with("nothing to do for 75% of their time."), "{report}");
    }
    // Only the time without waits is reported.
    let waits = spent(300, 290, [100, 30, 0]);
    assert!(waits.advice()[0].ends_with("nothing to do for 10% of their time."), "{waits}");
}

#[test]
fn lack_of_processors_is_named() {
    // 600 of 1200 are work, and for 560 the workers were runnable.
    let mut report = spent(600, 2, [140, 0, 0]);
    report.grant.processors = 2.0;
    assert_eq!(causes_named(&report), [false, true, false], "{report}");
    let said = report.advice().pop().unwrap();
    assert!(said.contains("for 47% of their time") && said.contains("PA was 2.00 processors of 4"));
    // Also near the bound, since the bound depends on the granted processors.
    assert!(report.of_bound() < 1.1, "{report}");
    report.grant_basis = GrantBasis::WaitsOfTooMany;
    assert!(report.to_string().contains("PA was at most 2.00"), "{report}");
    // The waits are unknown.
    let report = off(report, None);
    assert_eq!(causes_named(&report), [false, true, false], "{report}");
    // Half of the workers sleep, since the pool keeps only as many awake as there are processors.
    let mut asleep = spent(540, 2, [0, 10, 150]);
    (asleep.grant.allowed, asleep.grant.affinity, asleep.grant.processors) = (2.0, 2, 2.0);
    assert_eq!(causes_named(&asleep), [false, true, false], "{asleep}");
    // A small loss is not worth a sentence.
    assert_eq!(causes_named(&spent(1100, 2, [25, 0, 0])), [false; 3]);
}

/// Two workers, 75 ms: they had half a processor for lack of more.
#[test]
fn a_short_run_without_processors_is_advised_on_them() {
    let mut report = spent(37, 1, [54, 6, 6]);
    (report.workers, report.wall) = (2, Duration::from_millis(75));
    report.stats.workers.truncate(2);
    report.burdened_span = Duration::from_millis(20);
    assert_eq!(causes_named(&report), [false, true, false], "{report}");
    assert!(report.advice()[0].contains("tasks are small"), "{report}");
}

/// The worker on a long span waits for a processor, and the others idle meanwhile.
#[test]
fn waits_of_the_span_are_not_the_runtimes() {
    // Parallelism 5: the span would take 120 of 200 ms, and takes 240.
    let report = spent(600, 120, [75, 0, 75]);
    assert!(!causes_named(&report)[2], "{report}");
}

#[test]
fn throttled_time_is_not_that_of_other_programs() {
    let throttled = Some(Duration::from_millis(560));
    for waited in [140, 0] {
        let report = Report { throttled, ..spent(600, 2, [waited, 0, 0]) };
        assert_eq!(causes_named(&report), [false; 3], "{report}");
        assert!(report.advice()[1].contains("A quota"), "{report}");
    }
    // Both.
    let throttled = Some(Duration::from_millis(200));
    let both = Report { throttled, ..spent(600, 2, [140, 0, 0]) };
    assert_eq!(causes_named(&both), [false, true, false], "{both}");
    assert!(both.advice().iter().any(|said| said.contains("for 30% of their time")), "{both}");
    assert!(both.advice().iter().any(|said| said.contains("A quota")), "{both}");
}

/// Three of four workers are awake, so that the quota suffices: the process is not throttled.
#[test]
fn processors_beyond_a_quota_are_not_those_of_other_programs() {
    let mut report = spent(880, 2, [0, 10, 70]);
    (report.grant.allowed, report.grant.processors) = (3.0, 3.0);
    assert_eq!(causes_named(&report), [false; 3], "{report}");
    let said = report.advice().pop().unwrap();
    assert!(said.starts_with("A quota allows 3.00 processors") && said.contains("25%"), "{said}");
    report.grant.affinity = 3;
    assert_eq!(causes_named(&report), [false, true, false], "{report}");
}

/// Workers over the size of the pool sleep. That is not idle time.
#[test]
fn workers_that_may_not_be_awake_are_not_idle() {
    let mut report = spent(600, 2, [0, 0, 0]);
    let mut slept: WorkerStats = report.stats.workers[0];
    (slept.sleeping, slept.working) = (report.wall, Duration::ZERO);
    report.stats.workers.extend([slept; 5]);
    assert_eq!(causes_named(&report), [false, false, true], "{report}");
    assert!(report.to_string().contains("between tasks"), "{report}");
}

/// A pool's report includes the time between calls.
#[test]
fn time_without_tasks_is_no_loss_of_a_pool() {
    // 20 of 300 ms.
    let pool = |times| Report { is_of_pool: true, ..spent(76, 2, times) };
    let seldom = pool([0, 1, 279]);
    assert_eq!(causes_named(&seldom), [false; 3], "{seldom}");
    let said = seldom.advice().pop().unwrap();
    assert!(said.contains("For 93% of the time of the processors allowed"), "{said}");
    // Processors that the pool's workers may not use are not missing.
    let mut few = seldom;
    (few.grant.allowed, few.grant.affinity, few.grant.processors) = (2.0, 2, 2.0);
    assert_eq!(causes_named(&few), [false; 3], "{few}");
    // Two processors have only that time.
    let busy = [150, 150, 0, 0].map(Duration::from_millis);
    few.stats.workers.iter_mut().zip(busy).for_each(|(worker, time)| worker.working = 2 * time);
    assert!(!few.to_string().contains("no worker had a task"), "{few}");
    // The time of tasks without work is reported.
    let waited = pool([20, 1, 259]);
    assert_eq!(causes_named(&waited), [false, true, false], "{waited}");
    assert!(waited.to_string().contains("for 50% of the time in which they had tasks"), "{waited}");
    let mut parallel = waited;
    parallel.span = Duration::from_millis(10);
    assert_eq!(causes_named(&parallel), [false, true, false], "{parallel}");
    let slow = pool([0, 1, 259]);
    assert_eq!(causes_named(&slow), [false, false, true], "{slow}");
    // A pool that always has tasks has no such sentence, nor has one with too long a span.
    let busy = Report { is_of_pool: true, ..spent(1140, 2, [5, 5, 5]) };
    assert_eq!((causes_named(&busy), busy.advice().len()), ([false; 3], 1), "{busy}");
    let serial = Report { is_of_pool: true, ..spent(300, 300, [0, 5, 220]) };
    assert_eq!(causes_named(&serial), [true, false, false], "{serial}");
}

#[test]
fn the_runtime_is_named_if_nothing_else_explains_the_loss() {
    let report = spent(600, 2, [0, 100, 45]);
    assert_eq!(causes_named(&report), [false, false, true], "{report}");
    let said = report.advice().pop().unwrap();
    assert!(said.contains("searched or slept for 48%") && !said.contains("small"), "{said}");
    // Tasks that are too small.
    let small = Report { burdened_span: Duration::from_millis(100), ..report.clone() };
    assert!(small.advice().pop().unwrap().contains("the burdened parallelism is 6.0"), "{small}");
    // Time without an activity.
    let busy = spent(600, 2, [0, 5, 5]);
    assert_eq!(causes_named(&busy), [false, false, true], "{busy}");
    assert!(busy.to_string().contains("between tasks"), "{busy}");
    // Other programs had more of it.
    assert_eq!(causes_named(&spent(600, 2, [100, 40, 0])), [false, true, false]);
    // 100 µs may be the time to wake a worker.
    let mut short = report;
    for time in [&mut short.wall, &mut short.work, &mut short.span] {
        *time /= 1000;
    }
    short.burdened_span = short.span;
    assert_eq!(causes_named(&short), [false; 3], "{short}");
}

/// No time is counted twice, and none is missing.
#[test]
fn losses_add_up_to_the_time_without_work() {
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
