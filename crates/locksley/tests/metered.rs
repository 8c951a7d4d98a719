//! Metering as programs use it: what a report says of programs whose shape is known.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use locksley::meter::Report;
use locksley::{Pool, Worker, loops};

/// Keeps a processor busy.
fn busy(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {}
}

/// What strands have spent at least, by the clock of the wall: what others had the processor for meanwhile, too. The system's clock and the
/// meter's are compared to a thousandth.
fn spent(report: &Report) -> Duration {
    (report.work + report.taken.unwrap_or_default()).mul_f64(1.01)
}

/// What has been spent along the critical path at least, by that clock.
fn spent_along(report: &Report) -> Duration {
    (report.critical_path + report.taken.unwrap_or_default()).mul_f64(1.01)
}

const BIT: Duration = Duration::from_millis(2);

/// A full tree whose leaves each take a bit.
fn tree(worker: &Worker, depth: u32) {
    if depth == 0 {
        return busy(BIT);
    }
    worker.join(|w| tree(w, depth - 1), |w| tree(w, depth - 1));
}

/// Whether the system counts for how long threads wait.
fn tells() -> bool {
    let numbers = std::fs::read_to_string("/proc/thread-self/schedstat");
    cfg!(all(target_os = "linux", not(locksley_portable)))
        && numbers.is_ok_and(|numbers| numbers.trim() != "0 0 0")
}

#[test]
fn a_tree_has_the_work_of_its_leaves_and_the_path_of_one() {
    for workers in [1, 2, 4] {
        let pool = Pool::new(workers).unwrap();
        let ((), report) = pool.metered(|worker| tree(worker, 4));
        assert_eq!((report.forks, report.workers, report.uncarried), (15, workers, 0));
        // Time that others have the processor may be in it, so there is no upper bound to be sure of.
        assert!(spent(&report) >= 16 * BIT, "{report}");
        assert!(spent_along(&report) >= BIT, "{report}");
        assert!(report.critical_path <= report.work, "{report}");
        assert!(!report.course.is_empty(), "{report}");
        assert!(report.burdened_critical_path >= report.critical_path, "{report}");
        assert!(report.wall.mul_f64(1.01) >= report.critical_path, "{report}");
        assert_eq!(report.stats.workers.iter().filter(|w| w.off_processor.is_some()).count(), {
            if tells() { workers } else { 0 }
        });
        assert_eq!(report.stats.workers.len(), workers);
    }
}

/// Others that have the processor may make any one strand as long as all of them, but not each time.
#[test]
fn a_tree_is_seen_to_be_parallel() {
    let pool = Pool::new(2).unwrap();
    let mut told = (0..400).map(|_| pool.metered(|worker| tree(worker, 4)).1.parallelism());
    assert!(told.any(|parallelism| (8.0..=16.1).contains(&parallelism)));
}

/// With one worker there is no time but that of strands.
#[test]
fn the_work_of_one_worker_is_the_time_that_it_took() {
    let pool = Pool::new(1).unwrap();
    let ((), report) = pool.metered(|worker| tree(worker, 4));
    assert!(report.work <= report.wall.mul_f64(1.01), "{report}");
    assert!(report.stats.total().working.mul_f64(1.01) >= report.work, "{report}");
}

#[test]
fn where_the_time_of_a_pool_that_idles_goes() {
    let pool = Pool::new(3).unwrap();
    // The two others are there, have gone to sleep, and are not woken.
    pool.broadcast(|_| ());
    sleep(Duration::from_millis(100));
    let begin = Instant::now();
    let ((), report) = pool.metered(|_| sleep(Duration::from_millis(100)));
    let most = begin.elapsed().mul_f64(1.01) * 3;
    let total = report.stats.total();
    assert!(total.working.mul_f64(1.01) >= Duration::from_millis(100), "{report}");
    assert!(total.sleeping + total.hunting >= Duration::from_millis(190), "{report}");
    let sum = total.working + total.hunting + total.sleeping;
    assert!(sum.mul_f64(1.01) >= report.wall * 3 - Duration::from_millis(5), "{report}");
    assert!(sum <= most, "{most:?}\n{report}");
    assert!(report.parallelism() <= 1.1, "{report}");
}

#[test]
fn loops_and_scopes_are_metered() {
    let pool = Pool::new(2).unwrap();
    let all = |worker: &Worker| {
        worker.for_each(0..32_u32, |_| busy(BIT));
        worker.scope(|worker, scope| {
            (0..8).for_each(|_| scope.spawn_on(worker, |_, _| busy(BIT)));
        });
        loops::for_each(0..4_u32, |_| busy(BIT));
    };
    let ((), report) = pool.metered(all);
    assert!(spent(&report) >= 44 * BIT, "{report}");
    assert!(spent_along(&report) >= 3 * BIT, "{report}");
    assert!((0..400).any(|_| pool.metered(all).1.parallelism() > 1.5));
}

#[test]
fn metering_ends_with_the_region() {
    let pool = Pool::new(2).unwrap();
    pool.run(|worker| {
        tree(worker, 1);
        let ((), report) = pool.metered(|worker| tree(worker, 2));
        assert_eq!(report.forks, 3);
        tree(worker, 1);
    });
    assert!(pool.report().is_none());
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.metered(|worker| {
            worker.join(|_| (), |_| ());
            panic!("in a region");
        })
    }));
    assert!(result.is_err());
    let ((), report) = pool.metered(|worker| tree(worker, 1));
    assert_eq!(report.forks, 1);
}

#[test]
fn a_metered_pool_adds_up_what_one_thread_asks_of_it() {
    let pool = Pool::builder().workers(2).metered(true).build().unwrap();
    for _ in 0..3 {
        pool.run(|worker| tree(worker, 2));
    }
    let report = pool.report().unwrap();
    assert_eq!(report.forks, 9);
    assert!(spent(&report) >= 12 * BIT, "{report}");
    // One after the other, as the thread has waited for each.
    assert!(spent_along(&report) >= 3 * BIT, "{report}");
    let is_done = AtomicBool::new(false);
    pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            busy(BIT);
            is_done.store(true, Ordering::Release);
        });
    });
    assert!(is_done.into_inner());
    let mut later = pool.report().unwrap();
    // It may turn out in between that not all of it is known.
    later.taken = later.taken.or(report.taken);
    assert!(spent(&later) >= report.work + report.taken.unwrap_or_default() + BIT, "{later}");
}

#[test]
fn what_is_not_followed_is_told() {
    let pool = Pool::new(2).unwrap();
    let (sum, report) = pool.metered(|worker| {
        let task = worker.spawn_future(async { 42 });
        locksley::block_on(task).unwrap()
    });
    assert_eq!(sum, 42);
    assert!(report.uncarried > 0);
    assert!(report.to_string().contains("at least"), "{report}");
    assert!(report.advice().iter().any(|said| said.contains("does not follow")), "{report}");
}

/// Whether there comes a time in which nobody works; there is nothing to be done.
fn quiet(pool: &Pool) -> bool {
    let patience = Instant::now() + Duration::from_secs(180);
    while Instant::now() < patience {
        let before = pool.stats();
        sleep(Duration::from_millis(20));
        if pool.stats().since(&before).total().working.is_zero() {
            return true;
        }
    }
    false
}

#[test]
fn a_stand_in_that_nobody_wants_does_not_work() {
    let pool = Pool::builder().workers(1).stand_ins(1).build().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    pool.run(move |worker| {
        worker.spawn(move |_| sender.send("by the stand-in").unwrap());
        worker.blocking(|| receiver.recv()).unwrap()
    });
    assert_eq!(pool.stats().workers.len(), 2, "there has been one");
    assert!(quiet(&pool), "{:?}", pool.stats());
}

/// Its thread is about something else.
#[test]
fn a_guest_that_waits_for_nothing_does_not_work() {
    std::thread::spawn(|| {
        let pool = Pool::builder().workers(2).with_current_thread().build().unwrap();
        assert!(quiet(&pool), "{:?}", pool.stats());
        // Nor after a call that blocks.
        locksley::blocking(|| ());
        assert!(quiet(&pool), "{:?}", pool.stats());
        pool.run(|worker| tree(worker, 4));
        assert!(quiet(&pool), "{:?}", pool.stats());
    })
    .join()
    .unwrap();
}

/// Process networks on stacks, which leave their stacks in the middle of what they do.
#[cfg(all(feature = "stacks", not(locksley_portable)))]
#[test]
fn networks_on_stacks_are_metered() {
    use locksley::kahn::Network;
    for workers in [1, 3] {
        let pool = Pool::new(workers).unwrap();
        let (sum, report) = pool.metered(|_| {
            let mut network = Network::new();
            let (numbers, input) = network.channel::<u64>("numbers", 2);
            network.process_on_stack("counts", numbers, |mut numbers| {
                (0..100).try_for_each(|n| numbers.send_blocking(n))
            });
            let sum = network.process_on_stack("adds", input, |mut input| {
                let mut sum = 0;
                while let Ok(Some(n)) = input.recv_blocking() {
                    sum += n;
                }
                busy(BIT);
                sum
            });
            network.run(&pool).unwrap();
            sum.take()
        });
        assert_eq!(sum, Some(4950));
        assert_eq!(report.uncarried, 0);
        assert!(spent(&report) >= BIT, "{report}");
    }
}
