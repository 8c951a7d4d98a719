//! Memory as programs see it: outcomes that sequential consistency allows, and costs of sharing.

use std::time::Duration;

use manycore::sync::Barrier;
use manycore::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*, fence};
use manycore::time::Instant;
use manycore::{Machine, os, thread};

#[global_allocator]
static ALLOCATOR: manycore::Allocator = manycore::Allocator;

/// Runs two threads that start within a few hundred nanoseconds of each other.
fn pair<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    let start = AtomicUsize::new(0);
    let meet = || {
        start.fetch_add(1, SeqCst);
        while start.load(SeqCst) < 2 {
            manycore::hint::spin_loop();
        }
        os::work(Duration::from_nanos(os::random() % 300));
    };
    thread::scope(|scope| {
        let a = scope.spawn(|| {
            meet();
            a()
        });
        let b = scope.spawn(|| {
            meet();
            b()
        });
        (a.join().unwrap(), b.join().unwrap())
    })
}

/// The outcomes of many runs, each with its own seed.
fn outcomes<T: Ord + 'static>(
    run: impl Fn() -> T + Copy + 'static,
) -> std::collections::BTreeSet<T> {
    (1..200).map(|seed| Machine::builder().cores(3).seed(seed).run(run).value).collect()
}

#[repr(align(64))]
#[derive(Default)]
struct Line(AtomicU64);

// Any engine that runs one thread's accesses in order passes the next two, as far as they exclude
// outcomes. What they can find is that an allowed outcome never comes.

#[test]
fn store_buffering_has_the_outcomes_of_sequential_consistency() {
    let seen = outcomes(|| {
        let (x, y) = (Line::default(), Line::default());
        let side = |mine: &Line, other: &Line| {
            mine.0.store(1, Relaxed);
            fence(SeqCst);
            other.0.load(Relaxed)
        };
        pair(|| side(&x, &y), || side(&y, &x))
    });
    assert!(!seen.contains(&(0, 0)));
    assert!(seen.len() >= 2, "{seen:?}");
}

#[test]
fn a_message_that_is_seen_has_its_content() {
    let seen = outcomes(|| {
        let (data, flag) = (Line::default(), Line::default());
        let send = || {
            data.0.store(1, Relaxed);
            flag.0.store(1, Release);
        };
        let receive = || (flag.0.load(Acquire), data.0.load(Relaxed));
        pair(send, receive).1
    });
    assert!(!seen.contains(&(1, 0)));
    assert!(seen.contains(&(0, 0)) && seen.contains(&(1, 1)), "{seen:?}");
}

#[test]
fn one_of_two_exchanges_wins() {
    let seen = outcomes(|| {
        let word = Line::default();
        let take = |by| word.0.compare_exchange(0, by, AcqRel, Acquire).is_ok();
        pair(|| take(1), || take(2))
    });
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [(false, true), (true, false)]);
}

/// Nanoseconds for each addition, of threads that add to words that lie `stride` words apart.
fn additions(threads: usize, stride: usize) -> f64 {
    const ROUNDS: u32 = 10_000;
    #[repr(align(64))]
    struct Aligned([AtomicU64; 33]);
    let outcome = Machine::builder().cores(threads).run(move || {
        let words = Aligned(std::array::from_fn(|_| AtomicU64::new(0)));
        let all = Barrier::new(threads);
        let add = |word: &AtomicU64| {
            all.wait();
            let start = Instant::now();
            for _ in 0..ROUNDS {
                word.fetch_add(1, Relaxed);
            }
            start.elapsed()
        };
        thread::scope(|scope| {
            let spawn = |thread: usize| {
                let (add, word) = (&add, &words.0[thread * stride]);
                scope.spawn(move || add(word))
            };
            let threads: Vec<_> = (0..threads).map(spawn).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap()
        })
    });
    outcome.value.as_nanos() as f64 / f64::from(ROUNDS)
}

#[test]
fn words_of_one_line_cost_what_one_word_costs() {
    let (one, same_line, own_lines) = (additions(4, 0), additions(4, 1), additions(4, 8));
    assert!((same_line / one - 1.0).abs() < 0.2, "{same_line} and {one}");
    assert!(own_lines < same_line / 4.0, "{own_lines} and {same_line}");
}

#[test]
fn the_hottest_line_is_the_contended_one() {
    let outcome = Machine::builder().cores(4).run(|| {
        let (hot, cold) = (Box::new(Line::default()), Box::new(Line::default()));
        os::name(&*hot, "hot");
        os::name(&*cold, "cold");
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..1000 {
                        hot.0.fetch_add(1, Relaxed);
                        if n % 100 == 0 {
                            cold.0.fetch_add(1, Relaxed);
                        }
                    }
                });
            }
        });
    });
    let names: Vec<_> =
        outcome.statistics.hottest.iter().filter_map(|it| it.name.clone()).collect();
    assert_eq!(names, ["hot", "cold"]);
}

/// A loop that looks at a word a hundred times takes the time of a hundred looks.
#[test]
fn sleeping_spins_count_the_iterations_of_bounded_loops() {
    let time = |quantum| {
        let outcome = Machine::builder().cores(2).noise(0).spin_quantum(quantum).run(|| {
            let word = Line::default();
            let look = || {
                let start = Instant::now();
                for _ in 0..1_000 {
                    if word.0.load(Relaxed) != 0 {
                        break;
                    }
                    manycore::hint::spin_loop();
                }
                start.elapsed()
            };
            // Another thread's turns: without them, no loop has to sleep.
            pair(look, || os::work(Duration::from_micros(100))).0
        });
        outcome.value.as_nanos() as f64
    };
    let (with, without) = (time(500), time(0));
    assert!((with / without - 1.0).abs() < 0.1, "{with} and {without}");
}

/// A thread that spins on a line sleeps until the line changes: that must not change the time.
#[test]
fn sleeping_spins_take_the_time_of_spins() {
    let time = |quantum| {
        let outcome = Machine::builder().cores(2).noise(0).spin_quantum(quantum).run(|| {
            let (there, back) = (Line::default(), Line::default());
            let start = Instant::now();
            thread::scope(|scope| {
                scope.spawn(|| {
                    for n in 1..=500 {
                        while there.0.load(Acquire) != n {
                            manycore::hint::spin_loop();
                        }
                        back.0.store(n, Release);
                    }
                });
                for n in 1..=500 {
                    there.0.store(n, Release);
                    while back.0.load(Acquire) != n {
                        manycore::hint::spin_loop();
                    }
                }
            });
            start.elapsed()
        });
        outcome.value.as_nanos() as f64
    };
    let (with, without) = (time(500), time(0));
    assert!((with / without - 1.0).abs() < 0.1, "{with} and {without}");
}
