//! Reports of programs with a known shape.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::sleep;
use std::time::{Duration, Instant};

use locksley::{Pool, Worker, loops};
use locksley_profile::{Profiler, Report};

/// Calls `task` with the worker that the calling thread is.
fn on_worker<R>(task: impl FnOnce(&Worker) -> R) -> R {
    Worker::with_current(|current| task(current.expect("a worker's thread")))
}

/// Keeps a processor busy.
fn busy(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {}
}

/// The time, plus the time taken by other threads: at least the time for which the tasks were busy.
/// Allows for a difference of a thousandth between the clocks.
fn with_taken(time: Duration, report: &Report) -> Duration {
    (time + report.taken.unwrap_or_default()).mul_f64(1.01)
}

const BIT: Duration = Duration::from_millis(2);

fn profiled(workers: usize) -> (Profiler, Pool) {
    let profiler = Profiler::new();
    let pool = Pool::builder().workers(workers).observer(profiler.clone()).build().unwrap();
    (profiler, pool)
}

/// Asserts at least this many bits of work and of span.
#[track_caller]
fn assert_bits(report: &Report, work: u32, span: u32) {
    assert!(with_taken(report.work, report) >= work * BIT, "{report}");
    assert!(with_taken(report.span, report) >= span * BIT, "{report}");
    assert!(report.span <= report.work, "{report}");
    assert!(report.burdened_span >= report.span, "{report}");
}

/// Asserts the parallelism for one of several runs: other programs may prolong one task in some
/// runs.
#[track_caller]
fn assert_parallel_once(least: f64, mut measure: impl FnMut() -> Report) {
    assert!((0..400).any(|_| measure().parallelism() >= least), "{}", measure());
}

/// A full tree. Each leaf takes a bit of time.
fn tree(worker: &Worker, depth: u32) {
    if depth == 0 {
        return busy(BIT);
    }
    worker.join(|w| tree(w, depth - 1), |w| tree(w, depth - 1));
}

#[test]
fn a_tree_has_the_work_of_its_leaves_and_the_span_of_one() {
    for workers in [1, 2, 4] {
        let (profiler, pool) = profiled(workers);
        let ((), report) = profiler.measure(&pool, |worker| tree(worker, 4));
        assert_bits(&report, 16, 1);
        assert_eq!((report.tasks, report.workers), (15, workers), "{report}");
        assert!(report.wall.mul_f64(1.01) >= report.span, "{report}");
        assert_parallel_once(8.0, || profiler.measure(&pool, |worker| tree(worker, 4)).1);
    }
}

/// One worker cannot work longer than the elapsed time.
#[test]
fn the_work_of_one_worker_is_at_most_the_time_that_it_took() {
    let (profiler, pool) = profiled(1);
    let ((), report) = profiler.measure(&pool, |worker| tree(worker, 4));
    assert!(report.work <= report.wall.mul_f64(1.01), "{report}");
    assert!(report.stats.total().working.mul_f64(1.01) >= report.work, "{report}");
}

/// The path after a scope follows the longest of its tasks, and not their sum.
#[test]
fn a_scope_ends_with_its_longest_task() {
    let (profiler, pool) = profiled(2);
    let scoped = || {
        profiler.measure(&pool, |_| {
            busy(BIT);
            locksley::in_place_scope(|scope| {
                for bits in [1, 2, 3, 2, 1] {
                    scope.spawn(move |_| busy(bits * BIT));
                }
            });
            busy(BIT);
        })
    };
    let ((), report) = scoped();
    assert_bits(&report, 11, 5);
    assert_eq!(report.tasks, 5, "{report}");
    assert_parallel_once(1.8, || scoped().1);
}

#[test]
fn iterations_of_a_loop_are_parallel() {
    let (profiler, pool) = profiled(2);
    let looped = || profiler.measure(&pool, |_| loops::par(0..32_u32).for_each(|_| busy(BIT)));
    let ((), report) = looped();
    assert_bits(&report, 32, 1);
    assert_parallel_once(1.5, || looped().1);
}

#[test]
fn code_that_waits_for_a_future_comes_after_it() {
    for workers in [1, 2] {
        let (profiler, pool) = profiled(workers);
        let (sum, report) = profiler.measure(&pool, |_| {
            busy(BIT);
            let inner = locksley::task::spawn(async {
                busy(BIT);
                2
            });
            let outer = locksley::task::spawn(async move {
                let two = inner.await.unwrap();
                busy(BIT);
                two + 3
            });
            let five = locksley::block_on(outer).unwrap();
            busy(BIT);
            five
        });
        assert_eq!(sum, 5);
        assert_bits(&report, 4, 4);
    }
}

#[test]
fn a_wait_is_neither_work_nor_span() {
    let (profiler, pool) = profiled(2);
    let ((), report) = profiler.measure(&pool, |worker| {
        worker.join(
            |_| (),
            |w| {
                w.join(|_| busy(10 * BIT), |_| busy(10 * BIT));
            },
        );
    });
    assert_bits(&report, 20, 10);
    assert!(report.work <= report.wall * 2 + BIT, "{report}");
}

#[test]
fn the_profiler_works_after_a_panic() {
    for workers in [1, 3] {
        let (profiler, pool) = profiled(workers);
        let panics = |measured: &(dyn Fn(&Worker) + Sync)| {
            let result = catch_unwind(AssertUnwindSafe(|| profiler.measure(&pool, measured)));
            assert!(result.is_err());
        };
        panics(&|_| panic!("in a region"));
        panics(&|worker| {
            worker.join(|w| tree(w, 2), |_| panic!("in a second half"));
        });
        panics(&|worker| {
            worker.join(|_| panic!("in a first half"), |w| tree(w, 2));
        });
        panics(&|_| {
            locksley::in_place_scope(|scope| {
                scope.spawn(|_| panic!("in a task"));
                scope.spawn(|_| on_worker(|worker| tree(worker, 2)));
            });
        });
        let ((), report) = profiler.measure(&pool, |worker| tree(worker, 3));
        assert_bits(&report, 8, 1);
        assert_eq!(report.tasks, 7, "{report}");
    }
}

#[test]
fn a_region_may_lie_in_another_one() {
    for workers in [1, 2] {
        let (profiler, pool) = profiled(workers);
        let (inner, outer) = profiler.measure(&pool, |worker| {
            busy(BIT);
            let ((), inner) = profiler.measure(&pool, |worker| tree(worker, 2));
            tree(worker, 1);
            inner
        });
        assert_bits(&inner, 4, 1);
        assert_eq!((inner.tasks, outer.tasks), (3, 4), "{inner}\n{outer}");
        assert_bits(&outer, 7, 3);
        assert!(outer.span > inner.span, "{inner}\n{outer}");
    }
}

/// A path goes from one pool to the other and back. Each pool reports its own work.
#[test]
fn two_pools_have_a_profiler_each() {
    let ((here, pool), (there, other)) = (profiled(2), profiled(1));
    let ((), report) = here.measure(&pool, |_| {
        busy(BIT);
        other.install(|worker| tree(worker, 1));
        busy(BIT);
    });
    let report_there = there.report(&other);
    assert!(with_taken(report_there.work, &report_there) >= 2 * BIT, "{report_there}");
    // The path began on this thread, which the kernel may have preempted.
    let taken_here = report.taken.unwrap_or_default();
    let span = with_taken(report_there.span + taken_here, &report_there);
    assert!(span >= 2 * BIT, "from here: {report_there}");
    assert!(with_taken(report.work, &report) >= 2 * BIT, "{report}");
    let taken = report_there.taken.unwrap_or_default();
    assert!(with_taken(report.span + taken, &report) >= 3 * BIT, "{report}");
    // A profiler does not observe the other pool. A task of its own pool still counts for a moment
    // after its result has arrived here.
    let began = Instant::now();
    let nothing = loop {
        let ((), report) = here.measure(&other, |worker| tree(worker, 1));
        if report.work.is_zero() && report.span.is_zero() {
            break report;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{report}");
    };
    assert!(nothing.advice()[0].starts_with("Nothing was measured"), "{nothing}");
}

#[test]
fn a_pools_report_is_of_all_that_it_did() {
    let (profiler, pool) = profiled(2);
    for _ in 0..3 {
        pool.install(|worker| tree(worker, 2));
    }
    let report = profiler.report(&pool);
    assert_bits(&report, 12, 1);
    assert_eq!(report.tasks, 3 * (1 + 3), "{report}");
    pool.install(|_| busy(BIT));
    let later = profiler.report(&pool);
    assert!(with_taken(later.work, &later) >= 13 * BIT, "{later}");
}

#[test]
fn a_pool_that_idles_has_no_work() {
    let (profiler, pool) = profiled(3);
    pool.broadcast(|_| ()); // all workers have begun
    let ((), report) = profiler.measure(&pool, |_| sleep(Duration::from_millis(100)));
    assert_bits(&report, 50, 50);
    let total = report.stats.total();
    assert!(total.sleeping + total.searching >= Duration::from_millis(150), "{report}");
    assert!(report.parallelism() <= 1.1, "{report}");
    // Fewer than three may be active, if they have waited for processors.
    assert!((1..=3).contains(&report.workers), "{report}");
    if report.workers > 1 {
        let advice = format!("Parallelism 1.0 on {} workers", report.workers);
        assert!(report.advice()[0].starts_with(&advice), "{report}");
    }
}
