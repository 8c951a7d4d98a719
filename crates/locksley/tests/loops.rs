//! Parallel loops, compared with serial ones.

mod common;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use common::places::divided;
use locksley::loops::{Parts, par};
use locksley::{Cancellation, Pool, Worker};

const LENGTHS: [usize; 8] = [0, 1, 2, 3, 7, 64, 1000, 100_003];

#[test]
fn each_item_is_visited_once() {
    for workers in [1, 2, 5] {
        let pool = Pool::new(workers).unwrap();
        for length in LENGTHS {
            let visits: Vec<AtomicU32> = (0..length).map(|_| AtomicU32::new(0)).collect();
            pool.install(|_| {
                par(0..length).for_each(|i| {
                    visits[i].fetch_add(1, Ordering::Relaxed);
                });
            });
            assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1));
        }
    }
}

#[test]
fn slices_and_chunks_are_changed_in_place() {
    for length in LENGTHS {
        let mut items: Vec<usize> = (0..length).collect();
        par(&mut items).for_each(|item| *item *= 3);
        assert!(items.iter().enumerate().all(|(i, &item)| item == 3 * i));
        let lengths = par(&mut items).chunks(10).map(|chunk| {
            chunk.reverse();
            chunk.len()
        });
        assert_eq!(lengths, items.chunks(10).map(<[_]>::len).collect::<Vec<_>>());
        assert!(items.chunks(10).all(|chunk| chunk.is_sorted_by(|a, b| a > b)));
    }
}

#[test]
fn a_map_keeps_the_order() {
    for length in LENGTHS {
        let texts = par(0..length as u64).map(|n| n.to_string());
        assert_eq!(texts, (0..length as u64).map(|n| n.to_string()).collect::<Vec<_>>());
    }
}

#[test]
fn an_associative_reduction_is_the_serial_one() {
    for length in LENGTHS {
        // Concatenation is associative and not commutative.
        let text = par(0..length).reduce(
            String::new,
            |text, n| text + &n.to_string() + ",",
            |left, right| left + &right,
        );
        assert_eq!(text, (0..length).map(|n| n.to_string() + ",").collect::<String>());
    }
}

#[test]
fn a_reduction_with_a_grain_does_not_depend_on_the_workers() {
    let numbers: Vec<f32> = (1..50_000).map(|n| 1.0 / n as f32).collect();
    let sum =
        |_: &Worker| par(&numbers).grain(100).reduce(|| 0.0_f32, |sum, n| sum + n, |a, b| a + b);
    let expected = Pool::new(1).unwrap().install(sum).to_bits();
    for workers in [2, 3, 8] {
        let pool = Pool::new(workers).unwrap();
        for _ in 0..20 {
            assert_eq!(pool.install(sum).to_bits(), expected);
        }
    }
}

#[test]
fn a_panic_arrives_and_results_are_dropped() {
    let alive = Arc::new(());
    let result = catch_unwind(|| {
        par(0..10_000).map(|n| {
            assert_ne!(n, 7_777, "this one");
            Arc::clone(&alive)
        })
    });
    let payload = result.unwrap_err();
    assert!(payload.downcast_ref::<String>().unwrap().contains("this one"));
    assert_eq!(Arc::strong_count(&alive), 1);
}

/// The items for which a function panicked, and the threads.
#[derive(Default)]
struct Panics(Mutex<Vec<(usize, ThreadId)>>);

impl Panics {
    fn panic(&self, item: usize) -> ! {
        self.0.lock().unwrap().push((item, thread::current().id()));
        resume_unwind(Box::new(item))
    }
}

/// A thread that has panicked in one part of a loop sees that, and begins no other part. So there
/// are at most as many panics as threads, however late each thread sees those of the others.
#[test]
fn a_panic_ends_the_loop() {
    const ITEMS: usize = 100_000;
    type Loop = fn(&Panics);
    let loops: [Loop; 7] = [
        |panics| par(0..ITEMS).for_each(|n| panics.panic(n)),
        |panics| par(0..ITEMS).grain(1).for_each(|n| panics.panic(n)),
        |panics| drop(par(0..ITEMS).map(|n| -> String { panics.panic(n) })),
        |panics| _ = par(0..ITEMS).cancel(&Cancellation::new()).for_each(|n| panics.panic(n)),
        |panics| par(0..ITEMS).grain(1).reduce(|| (), |(), _| (), |(), ()| panics.panic(0)),
        |panics| par(0..ITEMS).place(0).for_each(|n| panics.panic(n)),
        |panics| par(0..ITEMS).by_place().for_each(|n| panics.panic(n)),
    ];
    let pools = [1, 2, 4].map(|workers| Pool::new(workers).unwrap());
    for pool in pools.iter().chain([&divided(&[2, 1]).build().unwrap()]) {
        for (number, run) in loops.iter().enumerate() {
            let panics = Panics::default();
            let result = catch_unwind(AssertUnwindSafe(|| pool.install(|_| run(&panics))));
            let payload = *result.unwrap_err().downcast::<usize>().expect("that of an item");
            let (items, threads): (Vec<_>, Vec<_>) =
                panics.0.into_inner().unwrap().into_iter().unzip();
            let distinct = HashSet::<ThreadId>::from_iter(threads).len();
            assert_eq!(items.len(), distinct, "a thread panics once: loop {number}");
            assert!(items.contains(&payload), "{payload} {items:?}");
            let is_by_place = number == 6 && pool.places().count() > 1;
            assert!(is_by_place || payload == *items.iter().min().unwrap(), "{payload} {items:?}");
        }
    }
}

#[test]
#[should_panic(expected = "leaves of no items")]
fn a_grain_of_zero_panics() {
    let _ = par(0..3).grain(0);
}

#[test]
#[should_panic(expected = "the size of a chunk is 0")]
fn chunks_of_zero_items_panic() {
    let _ = par(&mut [1, 2]).chunks(0);
}

#[test]
fn ranges_arrays_vectors_and_slices_can_be_divided() {
    let (mut array, mut vec) = ([1; 100], vec![1; 100]);
    par(&mut array).for_each(|item| *item += 1);
    par(&mut vec).for_each(|item| *item += 1);
    par(&mut vec[10..]).for_each(|item| *item += 1);
    assert!(par(&array).map(|&item| item).iter().all(|&item| item == 2));
    assert_eq!(par(&vec).reduce(|| 0, |sum, item| sum + item, |a, b| a + b), 290);
    assert_eq!(par(&vec[10..]).map(|item| item + 1), [4; 90]);
    assert_eq!(par(0_u8..=255).map(|n| n), (0..=255).collect::<Vec<_>>());
    assert_eq!(par(-3..=3_i64).grain(2).map(|n| n), [-3, -2, -1, 0, 1, 2, 3]);
    let sums = par(0..=100_u32).chunks(7).grain(1).map(|range| range.sum());
    assert_eq!(sums.len(), 15);
    assert_eq!(sums.iter().sum::<u32>(), 5050);
}

#[test]
fn a_grain_limits_the_items_of_a_leaf() {
    for (items, grain, expected) in [(8, 2, 4), (9, 3, 4), (1, 1, 1), (0, 5, 1), (100, 100, 1)] {
        let (leaves, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let identity = || {
            leaves.fetch_add(1, Ordering::Relaxed);
            0
        };
        let count = |before: usize, _| {
            most.fetch_max(before + 1, Ordering::Relaxed);
            before + 1
        };
        let sum = par(0..items).grain(grain).reduce(identity, count, |a, b| a + b);
        assert_eq!((sum, leaves.into_inner()), (items, expected));
        assert!(most.into_inner() <= grain);
    }
}

#[test]
fn a_loop_may_be_sent_to_a_place() {
    let pool = Pool::new(2).unwrap();
    let last = pool.places().count() - 1;
    assert_eq!(pool.install(|_| par(0..4).place(last).map(|n| n + 1)), [1, 2, 3, 4]);
    assert_eq!(par(0..4).place(0).map(|n| n + 1), [1, 2, 3, 4]);
    let no_such_place = AssertUnwindSafe(|| pool.install(|_| par(0..4).place(99).map(|n| n)));
    assert!(catch_unwind(no_such_place).is_err());
}

/// A sequence that reports a wrong length.
struct WrongLength {
    says: usize,
    is: usize,
}

impl Parts for WrongLength {
    type Item = usize;
    fn len(&self) -> usize {
        self.says
    }
    fn split_at(self, middle: usize) -> (Self, Self) {
        let left = Self { says: middle, is: self.is / 2 };
        (left, Self { says: self.says - middle, is: self.is - self.is / 2 })
    }
    fn into_items(self) -> impl Iterator<Item = usize> {
        0..self.is
    }
}

#[test]
fn parts_of_a_wrong_length_panic_or_are_cut_off() {
    let too_few = catch_unwind(|| {
        let few = WrongLength { says: 1000, is: 10 };
        par(few).map(|n| n.to_string())
    });
    assert!(too_few.is_err());
    assert_eq!(par(WrongLength { says: 10, is: 1000 }).map(|n| n.to_string()).len(), 10);
}

/// Law 2: other workers run all items that have not begun, except for the rest of one leaf.
#[test]
fn other_workers_run_the_items_after_a_stuck_body() {
    let pool = Pool::new(2).unwrap();
    let (done, free) = (AtomicUsize::new(0), AtomicBool::new(false));
    const ITEMS: usize = 2_000;
    pool.install(|_| {
        par(0..ITEMS).for_each(|i| {
            if i == 0 {
                while !free.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            } else {
                // Long enough for leaves of one item.
                thread::sleep(Duration::from_micros(5));
                if done.fetch_add(1, Ordering::AcqRel) + 1 == ITEMS - 1 {
                    free.store(true, Ordering::Release);
                }
            }
        });
    });
    assert_eq!(done.into_inner(), ITEMS - 1);
}
