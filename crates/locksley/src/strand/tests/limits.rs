//! What a report says where the meter does not know all: it says that.

use std::future::poll_fn;
use std::sync::mpsc::channel;
use std::task::Poll;

use super::*;
use crate::task::yield_now;

pub(super) fn metered_pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).metered_virtually().build().unwrap()
}

/// Until nothing is under way in the pool.
pub(super) fn at_rest(pool: &Pool) -> Figures {
    let patience = Instant::now() + Duration::from_secs(180);
    while pool.figures().under_way > 0 && Instant::now() < patience {
        thread::yield_now();
    }
    pool.figures()
}

/// Who asks knows of all that it has done itself, and that it has not ended.
#[test]
fn a_task_asks_in_the_middle() {
    for workers in [1, 2] {
        let pool = metered_pool(workers);
        pool.run(|worker| {
            spend(100);
            worker.spawn(|_| ());
            spend(10);
            worker.join(|_| spend(5), |_| spend(7));
            let figures = pool.figures();
            assert_eq!((figures.work, figures.path.span, figures.forks), (122, 117, 1));
            assert!((1..=2).contains(&figures.under_way), "{figures:?}");
            let report = pool.report().unwrap();
            assert!(report.work >= report.critical_path && report.under_way > 0);
            assert!(report.to_string().contains("had not ended"), "{report}");
        });
        let figures = at_rest(&pool);
        assert_eq!((figures.work, figures.path.span, figures.under_way), (122, 117, 0));
    }
}

/// Of others' tasks it is known what they had done when they last spawned or waited, and that they go on.
#[test]
fn a_thread_asks_in_the_middle() {
    let pool = metered_pool(1);
    let (begun, has_begun) = channel();
    let (ask, is_asked) = channel::<()>();
    thread::scope(|threads| {
        threads.spawn(|| {
            pool.run(move |worker| {
                spend(3);
                begun.send(()).unwrap();
                is_asked.recv().unwrap();
                spend(100);
                worker.scope(|worker, scope| scope.spawn_on(worker, |_, _| spend(10)));
                spend(20);
                begun.send(()).unwrap();
                is_asked.recv().unwrap();
            });
        });
        has_begun.recv().unwrap();
        let first = pool.report().unwrap();
        assert!(first.work.is_zero() && first.under_way == 1, "{first}");
        assert!(first.advice()[0].contains("Nothing has been metered"), "{first}");
        ask.send(()).unwrap();
        has_begun.recv().unwrap();
        let figures = pool.figures();
        assert_eq!((figures.work, figures.path.span, figures.under_way), (113, 113, 1));
        ask.send(()).unwrap();
    });
    let figures = pool.figures();
    assert_eq!((figures.work, figures.path.span, figures.under_way), (133, 133, 0));
    assert!(!pool.report().unwrap().to_string().contains("had not ended"));
}

#[test]
fn a_thread_uses_two_pools_by_turns() {
    let pools = [(); 2].map(|()| metered_pool(1));
    for _ in 0..100 {
        pools[0].run(|_| spend(1));
        pools[1].run(|_| spend(2));
    }
    for (pool, ticks) in pools.iter().zip([100, 200]) {
        let figures = pool.figures();
        assert_eq!((figures.work, figures.path.span, figures.uncarried), (ticks, ticks, 0));
    }
}

/// What tasks that are not metered have waited for is not known.
#[test]
fn tasks_that_are_not_metered_use_a_metered_pool() {
    let (plain, pool) = (Pool::new(1).unwrap(), metered_pool(1));
    for _ in 0..3 {
        plain.run(|_| pool.run(|_| spend(5)));
    }
    let figures = pool.figures();
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (15, 5, 3));
}

/// What a guest runs by `Pool::run` is metered, and comes one after the other.
#[test]
fn a_guest_has_strands() {
    let run = || {
        let builder = Pool::builder().workers(2).with_current_thread();
        let pool = builder.metered_virtually().build().unwrap();
        for _ in 0..2 {
            pool.run(|worker| {
                spend(5);
                worker.join(|_| spend(1), |_| spend(2));
            });
        }
        let figures = pool.figures();
        assert_eq!((figures.work, figures.path.span, figures.forks), (16, 14, 2));
        assert_eq!((figures.uncarried, figures.under_way), (0, 0));
        let report = pool.report().unwrap();
        assert!(report.has_guest && report.to_string().contains("program's own"), "{report}");
    };
    thread::spawn(run).join().unwrap();
    assert!(!metered_pool(2).report().unwrap().has_guest);
}

/// The work is of other workers than the time.
#[test]
fn a_region_in_two_pools_has_no_utilization() {
    let (one, other) = (metered_pool(1), metered_pool(2));
    one.run(|_| spend(1));
    assert!(!one.report().unwrap().is_mixed);
    one.run(|_| other.run(|_| spend(5)));
    for (pool, ticks) in [(&one, 6), (&other, 0)] {
        assert_eq!(pool.figures().work, ticks);
        let said = pool.report().unwrap().to_string();
        assert!(said.contains("neither utilization nor bound can be told"), "{said}");
        assert!(!said.contains("T1/(PA T)"), "{said}");
    }
    let pools = [(); 2].map(|()| Pool::new(1).unwrap());
    let elsewhere = |pool: &Pool| pool.metered_by(Clock::Virtual, |_| pools[0].run(|_| ())).1;
    assert_eq!(pools.each_ref().map(|pool| elsewhere(pool).is_mixed), [false, true]);
}

/// A detached task that one worker alone may run.
#[test]
fn a_task_that_is_addressed_comes_after_who_sent_it() {
    let pool = metered_pool(2);
    pool.run(|worker| {
        spend(5);
        (0..2).for_each(|index| worker.spawn_at(index, |_| spend(10)));
        spend(1);
    });
    let figures = at_rest(&pool);
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (26, 15, 0));
}

/// However often it is polled.
#[test]
fn a_wait_counts_once() {
    let pool = Pool::new(1).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        let mut polls = 0;
        block_on(poll_fn(|context| {
            polls += 1;
            context.waker().wake_by_ref();
            if polls > 5 { Poll::Ready(()) } else { Poll::Pending }
        }));
    });
    assert_eq!(figures.uncarried, 1);
}

/// What others do while it lets them go first is none of its own, on whatever stack they do it.
#[test]
fn who_gives_way_is_not_charged_for_others() {
    for builder in [Pool::builder(), Pool::builder().waiting_stacks(0)] {
        let pool = builder.workers(1).build().unwrap();
        let has_run = AtomicBool::new(false);
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
            spend(1);
            let stranger = || {
                pool.run(|_| {
                    spend(1000);
                    has_run.store(true, Ordering::Release);
                });
            };
            thread::scope(|threads| {
                threads.spawn(stranger);
                block_on(async {
                    while !has_run.load(Ordering::Acquire) {
                        yield_now().await;
                    }
                });
            });
            worker.join(|_| spend(10), |_| spend(20));
        });
        assert_eq!((figures.work, figures.path.span, figures.uncarried), (31, 21, 1));
    }
}

/// The time that a process waits at a channel is nobody's.
#[cfg(all(feature = "stacks", not(locksley_portable)))]
#[test]
fn processes_on_stacks_have_their_own_work() {
    use crate::kahn::Network;
    const MESSAGES: i64 = 100;
    for workers in [1, 2] {
        let pool = metered_pool(workers);
        let mut network = Network::new();
        let (sender, receiver) = network.channel("numbers", 1);
        network.process_on_stack("sends", sender, |mut sender| {
            for n in 0..MESSAGES {
                spend(10);
                sender.send_blocking(n).unwrap();
            }
        });
        network.process_on_stack("receives", receiver, |mut receiver| {
            while receiver.recv_blocking().unwrap().is_some() {
                spend(3);
            }
        });
        network.run(&pool).unwrap();
        let figures = at_rest(&pool);
        assert_eq!((figures.work, figures.under_way), (13 * MESSAGES, 0));
        // Each message is sent when the one before it has been taken.
        assert_eq!((figures.path.span, figures.uncarried), (10 * MESSAGES + 3, 0));
    }
}

/// A task that has not ended when its region has is not forgotten.
#[test]
fn what_a_region_leaves_is_told() {
    let pool = Pool::new(1).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
        worker.spawn(|_| spend(1));
        spend(2);
    });
    assert_eq!((figures.work, figures.under_way), (2, 1));
}
