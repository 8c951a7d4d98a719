//! Parallel loops, against the serial ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use locksley::loops::{Parts, chunks_mut, for_each, map, reduce, reduce_in_shape};
use locksley::{Pool, Worker};

const LENGTHS: [usize; 8] = [0, 1, 2, 3, 7, 64, 1000, 100_003];

#[test]
fn each_item_is_visited_once() {
    for workers in [1, 2, 5] {
        let pool = Pool::new(workers).unwrap();
        for length in LENGTHS {
            let visits: Vec<AtomicU32> = (0..length).map(|_| AtomicU32::new(0)).collect();
            pool.run(|w| {
                w.for_each(0..length, |i| {
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
        for_each(&mut items[..], |item| *item *= 3);
        assert!(items.iter().enumerate().all(|(i, &item)| item == 3 * i));
        let lengths = map(chunks_mut(&mut items, 10), |chunk| {
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
        let texts = map(0..length as u64, |n| n.to_string());
        assert_eq!(texts, (0..length as u64).map(|n| n.to_string()).collect::<Vec<_>>());
    }
}

#[test]
fn an_associative_reduction_is_the_serial_one() {
    for length in LENGTHS {
        // Concatenation is associative and not commutative.
        let text = reduce(
            0..length,
            String::new,
            |text, n| text + &n.to_string() + ",",
            |left, right| left + &right,
        );
        assert_eq!(text, (0..length).map(|n| n.to_string() + ",").collect::<String>());
    }
}

#[test]
fn a_reduction_in_shape_does_not_depend_on_the_workers() {
    let numbers: Vec<f32> = (1..50_000).map(|n| 1.0 / n as f32).collect();
    let sum = |w: &Worker| {
        w.reduce_in_shape(&numbers[..], 100, || 0.0_f32, |sum, n| sum + n, |a, b| a + b)
    };
    let expected = Pool::new(1).unwrap().run(sum).to_bits();
    for workers in [2, 3, 8] {
        let pool = Pool::new(workers).unwrap();
        for _ in 0..20 {
            assert_eq!(pool.run(sum).to_bits(), expected);
        }
    }
}

#[test]
fn a_panic_comes_out_and_results_are_dropped() {
    let alive = Arc::new(());
    let result = std::panic::catch_unwind(|| {
        map(0..10_000, |n| {
            assert_ne!(n, 7_777, "this one");
            Arc::clone(&alive)
        })
    });
    let payload = result.unwrap_err();
    assert!(payload.downcast_ref::<String>().unwrap().contains("this one"));
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
#[should_panic(expected = "leaves of no items")]
fn leaves_of_no_items_are_an_error() {
    reduce_in_shape(0..3, 0, || 0, |a, b| a + b, |a, b| a + b);
}

#[test]
#[should_panic(expected = "chunks of no items")]
fn chunks_of_no_items_are_an_error() {
    chunks_mut(&mut [1, 2], 0);
}

/// Says that it is longer, or shorter, than it is.
struct Liar {
    says: usize,
    is: usize,
}

impl Parts for Liar {
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
fn parts_of_a_wrong_length_are_a_panic_or_cut_off_but_never_unsound() {
    let too_few = std::panic::catch_unwind(|| map(Liar { says: 1000, is: 10 }, |n| n.to_string()));
    assert!(too_few.is_err());
    assert_eq!(map(Liar { says: 10, is: 1000 }, |n| n.to_string()).len(), 10);
}

/// Law 2: what a stuck body has not begun is done by others, but for a leaf.
#[test]
fn a_stuck_body_leaves_the_others_to_the_others() {
    let pool = Pool::new(2).unwrap();
    let (done, free) = (AtomicUsize::new(0), AtomicBool::new(false));
    const ITEMS: usize = 2_000;
    pool.run(|w| {
        w.for_each(0..ITEMS, |i| {
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
