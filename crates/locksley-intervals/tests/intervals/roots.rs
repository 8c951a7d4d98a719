//! Several roots: sequential, parallel, and with more workers than the arena has shards.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use locksley::Pool;
use locksley_intervals::{self as intervals, Context, Recording, Root};

use crate::common::pools;

/// Each root drops its own results when it ends, and nothing else.
#[test]
fn roots_one_after_another_in_a_run() {
    const ROOTS: usize = 200;
    for pool in pools() {
        let dropped = AtomicUsize::new(0);
        pool.install(|_| {
            let mut last = 1;
            for number in 0..ROOTS {
                assert_eq!(dropped.load(Ordering::Acquire), 3 * number);
                let (place, dropped) = (&mut last, &dropped);
                let root = intervals::run(format!("root {number}"), |root| {
                    let before = *place;
                    let one = root.interval("one").spawn(move |_| Counted(dropped, before));
                    let other = root.interval(format!("other {number}"));
                    let other = other.after(one).spawn(move |_| Counted(dropped, number));
                    root.interval("sum").after(one).after(other).spawn(move |cx| {
                        *place = one.get(cx).1 + other.get(cx).1;
                        Counted(dropped, 0)
                    });
                });
                assert_eq!(root, Ok(()));
            }
            assert_eq!(last, 1 + ROOTS * (ROOTS - 1) / 2);
        });
        assert_eq!(dropped.into_inner(), 3 * ROOTS);
    }
}

/// Workers and other threads create intervals.
#[test]
fn what_is_owned_is_dropped_once_on_whatever_thread_it_was_made() {
    const WIDTH: usize = 5;
    fn tree<'g>(cx: &Context<'g, '_>, dropped: &'g AtomicUsize, made: &'g AtomicUsize, depth: u32) {
        for n in 0..WIDTH {
            made.fetch_add(1, Ordering::AcqRel);
            cx.interval(format!("branch {n}")).spawn(move |cx| {
                if depth > 0 {
                    tree(cx, dropped, made, depth - 1);
                }
                thread::yield_now();
                Counted(dropped, n)
            });
        }
    }
    // Also more workers than shards.
    for workers in [1, 2, 19] {
        let pool = Pool::new(workers).unwrap();
        for is_recorded in [false, true] {
            let [dropped, made] = [AtomicUsize::new(0), AtomicUsize::new(0)];
            let (dropped_ref, made_ref) = (&dropped, &made);
            let mut recording = Recording::default();
            let root = Root::new("root").on(&pool);
            let root = if is_recorded { root.recorded(&mut recording) } else { root };
            let end = root.run(|root| {
                thread::scope(|threads| {
                    for _ in 0..2 {
                        threads.spawn(|| tree(root, dropped_ref, made_ref, 1));
                    }
                });
                tree(root, dropped_ref, made_ref, 2);
            });
            assert_eq!(end, Ok(()));
            let all = 2 * (WIDTH + WIDTH * WIDTH) + WIDTH + WIDTH * WIDTH + WIDTH.pow(3);
            assert_eq!((made.into_inner(), dropped.into_inner()), (all, all), "{workers}");
            if is_recorded {
                assert_eq!(recording.intervals.len(), 1 + all);
            }
        }
    }
}

/// Two roots of one pool at the same time.
#[test]
fn roots_beside_each_other() {
    for pool in pools() {
        let dropped = AtomicUsize::new(0);
        let count = |rounds: usize| {
            for _ in 0..rounds {
                let mut sum = 0;
                let (place, dropped) = (&mut sum, &dropped);
                let root = Root::new("root").on(&pool).run(|root| {
                    let ones: Vec<_> = (0..10)
                        .map(|n| root.interval("one").spawn(move |_| Counted(dropped, n)))
                        .collect();
                    let all = root.interval("all").after_all(ones.iter().copied());
                    all.spawn(move |cx| *place = ones.iter().map(|one| one.get(cx).1).sum());
                });
                assert_eq!((root, sum), (Ok(()), 45));
            }
        };
        thread::scope(|threads| (0..2).for_each(|_| _ = threads.spawn(|| count(50))));
        assert_eq!(dropped.into_inner(), 2 * 50 * 10);
    }
}

/// Counts its drops.
struct Counted<'c>(&'c AtomicUsize, usize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}
