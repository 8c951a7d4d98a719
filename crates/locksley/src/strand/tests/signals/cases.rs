//! What signals carry, case by case: those that come before or early, from outside, from other regions; values, processes and computations.

use super::*;

/// The first signal is the one that comes after most, and the last one wakes.
#[test]
fn a_signal_that_came_before_is_not_forgotten() {
    for in_thread in [true, false] {
        let pool = Pool::new(1).unwrap();
        let counter = Arc::new(JoinCounter::new(2));
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
            worker.join(
                |worker| {
                    let wait = Arc::clone(&counter);
                    let waiter = threads::create(0, async move |me| {
                        if in_thread {
                            me.wait(2).await
                        } else {
                            wait.wait().await
                        }
                        spend(7);
                    });
                    let signal = || {
                        if in_thread { waiter.signal() } else { counter.signal() }
                    };
                    assert!(worker.run_one(), "it waits");
                    worker.join(|_| (spend(100), signal()), |_| (spend(5), signal()));
                    waiter.join().unwrap();
                    spend(1);
                },
                |_| spend(10),
            );
        });
        assert_eq!((figures.work, figures.path.span, figures.uncarried), (123, 108, 0));
    }
}

/// What the producer does for later ones is on no path of the first, though all signals are there when it is waited for.
#[test]
fn a_signal_for_a_later_wait_comes_early() {
    const SIGNALS: i64 = 20;
    let pool = Pool::new(1).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        let consumer = threads::create(0, async |me| {
            for _ in 0..SIGNALS {
                me.wait(1).await;
                spend(3);
            }
        });
        for _ in 0..SIGNALS {
            spend(10);
            consumer.signal();
        }
        consumer.join().unwrap();
    });
    assert_eq!((figures.work, figures.path.span), (13 * SIGNALS, 10 * SIGNALS + 3));
    assert_eq!(figures.uncarried, 0);
}

/// Of those who come from outside nothing is known, and this is said: but only if a strand goes on after them, and not a plain thread.
#[test]
fn strangers_signal() {
    let pool = Pool::new(1).unwrap();
    // Before anything of the region.
    let before = JoinCounter::new(2);
    before.signal();
    for in_strand in [true, false] {
        let counter = JoinCounter::new(2);
        let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
            spend(5);
            thread::scope(|threads| {
                threads.spawn(|| counter.signal());
            });
            counter.signal();
            if in_strand {
                block_on(counter.wait());
            } else {
                thread::scope(|threads| {
                    threads.spawn(|| block_on(counter.wait()));
                });
            }
            spend(6);
        });
        let told = (figures.work, figures.path.span, figures.uncarried);
        assert_eq!(told, (11, 11, u64::from(in_strand)));
    }
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        spend(5);
        before.signal();
        block_on(before.wait());
    });
    // Unless something else in the process was metered when the first one came.
    assert!(figures.uncarried <= 1, "{figures:?}");
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        let thread = threads::create(2, async |_| spend(3));
        thread::scope(|threads| {
            threads.spawn(|| thread.signal());
        });
        spend(5);
        thread.signal();
        thread.join().unwrap();
    });
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (8, 8, 1));
}

/// What has come to its end in one region is nothing to the next; but two that are metered at the same time do not know each other's paths.
#[test]
fn signals_from_another_region() {
    let pool = Pool::new(1).unwrap();
    let counter = JoinCounter::new(1);
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        spend(100);
        counter.signal();
        assert!(counter.is_complete());
    });
    assert_eq!(figures.uncarried, 0);
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        block_on(counter.wait());
        spend(5);
    });
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (5, 5, 0));
    let pools = [(); 2].map(|()| metered_pool(1));
    let counter = JoinCounter::new(2);
    pools[0].run(|_| {
        spend(100);
        counter.signal();
    });
    pools[1].run(|_| {
        spend(10);
        counter.signal();
        block_on(counter.wait());
    });
    pools[0].run(|_| assert!(counter.is_complete()));
    let uncarried = pools.each_ref().map(|pool| at_rest(pool).uncarried);
    assert_eq!(uncarried, [1, 1], "each lacks a signal of the other's");
    assert_eq!(at_rest(&pools[1]).path.span, 10);
}

/// The paths of a region inside of another one have the same beginning. What is made in the inner one is good in the outer one afterwards.
#[test]
fn signals_between_a_region_and_the_one_around_it() {
    let pool = Pool::new(1).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
        let counter = JoinCounter::new(2);
        let inner = |worker: &Worker, ticks| {
            let inside = worker.in_region(Clock::Virtual, Site::here(), |_| {
                spend(ticks);
                counter.signal();
            });
            inside.1.path.span
        };
        let inner_spans = worker.join(|w| inner(w, 100), |w| inner(w, 20));
        assert_eq!(inner_spans, (100, 20));
        block_on(counter.wait());
        spend(3);
    });
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (123, 103, 0));
}

/// What a thread waits for when the report has been given is not carried any more, and nothing is kept for it.
#[test]
fn a_thread_outlives_its_report() {
    let pool = Pool::new(1).unwrap();
    let (thread, _) =
        pool.metered_by(Clock::Virtual, |_| threads::create(1, async |me| me.wait(1).await));
    thread.signal();
    thread.signal();
    thread.join().unwrap();
}
/// A value comes after who has made it, and after those who have failed to before; also where it is found at once, by who has done less.
#[test]
fn a_value_comes_after_who_has_made_it() {
    let pool = Pool::new(1).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
        let (cell, other) = (OnceCell::new(), OnceCell::new());
        // On one worker, one after the other.
        worker.join(
            |_| {
                let made = block_on(cell.get_or_try_init(async || {
                    spend(30);
                    Err::<(), _>("no")
                }));
                assert_eq!(made, Err("no"));
            },
            |worker| {
                worker.join(
                    |_| {
                        block_on(cell.get_or_init(async || spend(20)));
                        spend(7);
                        assert_eq!(other.set(1), Ok(()));
                    },
                    |_| {
                        spend(5);
                        assert_eq!(other.get(), Some(&1));
                        spend(3);
                    },
                );
            },
        );
        spend(1);
    });
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (66, 61, 0));
}

/// Who sees that it has occurred comes after it, in whatever words that is asked; but for who only has it printed.
#[test]
fn who_sees_that_it_has_occurred_comes_after_it() {
    type Looks = fn(&OnceCell<i32>, &JoinCounter);
    let looks: [(Looks, i64); 5] = [
        (|cell, _| assert_eq!(cell.get(), Some(&1)), 23),
        (|cell, _| assert_eq!(cell.set(2), Err(SetError::AlreadySet(2))), 23),
        (|_, counter| assert!(counter.is_complete()), 23),
        (|_, counter| assert_eq!(counter.missing(), 0), 23),
        (|cell, _| assert_eq!(format!("{cell:?}"), "OnceCell(Some(1))"), 20),
    ];
    let pool = Pool::new(1).unwrap();
    for (number, (look, span)) in looks.into_iter().enumerate() {
        let (cell, counter) = (OnceCell::new(), JoinCounter::new(1));
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
            // On one worker, one after the other.
            let sets = || {
                spend(20);
                assert_eq!(cell.set(1), Ok(()));
                counter.signal();
            };
            let finds = || {
                spend(5);
                look(&cell, &counter);
                spend(3);
            };
            worker.join(|_| sets(), |_| finds());
        });
        let told = (figures.work, figures.path.span, figures.uncarried);
        assert_eq!(told, (28, span, 0), "{number}");
    }
}

/// A process of a network comes after what it has waited for, also where that is no channel; and it is known.
#[test]
fn a_process_waits_for_signals() {
    use crate::kahn::Network;
    for (workers, on_stack) in [(1, false), (2, false), (1, true), (2, true)] {
        if on_stack && !HAS_STACKS {
            continue;
        }
        let pool = Pool::new(workers).unwrap();
        let counter = Arc::new(JoinCounter::new(2));
        let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
            let mut network = Network::new();
            let (out, inn) = network.channel("numbers", 1);
            let early = Arc::clone(&counter);
            network.process("sends", out, async move |mut out| {
                spend(10);
                early.signal();
                out.send(1).await;
                spend(500);
                early.signal();
            });
            let wait = Arc::clone(&counter);
            if on_stack {
                network.process_on_stack("receives", inn, move |mut inn| {
                    assert_eq!(inn.recv_blocking().unwrap(), Some(1));
                    block_on(wait.wait());
                    spend(7);
                });
            } else {
                network.process("receives", inn, async move |mut inn| {
                    assert_eq!(inn.recv().await, Some(1));
                    wait.wait().await;
                    spend(7);
                });
            }
            network.run(&pool).unwrap();
        });
        let told = (figures.work, figures.path.span, figures.uncarried);
        assert_eq!(told, (517, 517, 0), "{workers} {on_stack}");
    }
}

/// Threads of a computation, too.
#[test]
fn threads_of_a_computation_signal() {
    for workers in [1, 2] {
        let pool = Pool::new(workers).unwrap();
        let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
            let ended = crate::computation::run(|all| {
                let sum = all.create("sum", 0, async |me| {
                    me.wait(2).await;
                    spend(5);
                });
                for ticks in [300, 20] {
                    let sum = sum.clone();
                    all.create("part", 0, async move |_| {
                        spend(ticks);
                        sum.signal();
                    });
                }
            });
            ended.unwrap();
        });
        // Who runs it does not come after it: that is not carried.
        assert_eq!((figures.work, figures.path.span), (325, 305));
    }
}

/// Also if a plain thread begins it in a pool that is metered: the region is that pool's, and not the global one's.
#[test]
fn threads_of_a_computation_that_is_begun_outside_signal() {
    for workers in [1, 2] {
        let pool = metered_pool(workers);
        let ended = pool.computation(|all| {
            let sum = all.create("sum", 0, async |me| {
                me.wait(2).await;
                spend(5);
            });
            for ticks in [300, 20] {
                let sum = sum.clone();
                all.create("part", 0, async move |_| {
                    spend(ticks);
                    sum.signal();
                });
            }
        });
        ended.unwrap();
        let figures = at_rest(&pool);
        assert_eq!((figures.work, figures.path.span, figures.uncarried), (325, 305, 0));
    }
}

/// A job that outlives the report of the region that it is of is metered anew, and not within that one.
#[test]
fn a_region_begins_where_the_one_around_it_is_over() {
    let pool = Pool::new(1).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    pool.metered_by(Clock::Virtual, |worker| {
        let around = Arc::clone(worker.region().unwrap());
        worker.spawn(move |worker| {
            assert!(around.is_over(), "it has ended before, on the same worker");
            let (is_within, figures) = worker.in_region(Clock::Virtual, Site::here(), |worker| {
                let (cell, is_within) = (OnceCell::new(), worker.is_in(&around));
                let sets = || {
                    spend(20);
                    assert_eq!(cell.set(1), Ok(()));
                };
                let finds = || {
                    spend(5);
                    assert_eq!(cell.get(), Some(&1));
                    spend(3);
                };
                worker.join(|_| sets(), |_| finds());
                is_within
            });
            let figures = (figures.work, figures.path.span, figures.uncarried);
            tell.send((is_within.unwrap_or(true), figures)).unwrap();
        });
    });
    assert_eq!(told.recv(), Ok((false, (28, 23, 0))));
}
