//! All operations at once, with more threads than processors. Also run by ThreadSanitizer.
//!
//! The threads here are joined one by one, which the sanitizer understands.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use common::{on_worker, pools};
use locksley::{Pool, Worker};

/// Runs a tree of joins, scopes and detached tasks, and counts its nodes. `seed` selects its shape.
fn grow(w: &Worker, seed: u64, size: u64, count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
    if size < 2 {
        return;
    }
    let seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let left = 1 + (seed >> 33) % (size - 1);
    let right = size - left;
    if seed >> 60 < 11 {
        w.join(|w| grow(w, seed, left, count), |w| grow(w, !seed, right, count));
    } else {
        locksley::in_place_scope(|scope| {
            scope.spawn(move |_| on_worker(|w| grow(w, seed, left, count)));
            scope.spawn(move |_| {
                count.fetch_add(right << 32, Ordering::Relaxed);
            });
            scope.spawn(move |_| on_worker(|w| grow(w, !seed, right, count)));
        });
    }
}

#[test]
fn random_trees_have_the_right_number_of_nodes() {
    let alone = Pool::new(1).unwrap();
    for pool in pools() {
        for seed in 0..20 {
            let (expected, counted) = (AtomicU64::new(0), AtomicU64::new(0));
            alone.install(|w| grow(w, seed, 400, &expected));
            pool.install(|w| grow(w, seed, 400, &counted));
            assert_eq!(counted.load(Ordering::Relaxed), expected.load(Ordering::Relaxed));
        }
    }
}

#[test]
fn threads_send_while_workers_park_and_wake() {
    for pool in pools() {
        let (pool, count) = (Arc::new(pool), Arc::new(AtomicU64::new(0)));
        let senders = (0..4).map(|seed| {
            let (pool, count) = (Arc::clone(&pool), Arc::clone(&count));
            thread::spawn(move || {
                for round in 0..100 {
                    pool.install(|w| w.join(|w| work(w, 8, &count), |w| work(w, 8, &count)));
                    if round % 8 == seed {
                        thread::yield_now(); // some rounds find the pool asleep, others awake
                    }
                }
            })
        });
        let senders: Vec<_> = senders.collect();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        assert_eq!(count.load(Ordering::Relaxed), 4 * 100 * 16);
    }
}

fn work(w: &Worker, leaves: u64, count: &AtomicU64) {
    if leaves == 1 {
        count.fetch_add(1, Ordering::Relaxed);
        return;
    }
    w.join(|w| work(w, leaves / 2, count), |w| work(w, leaves / 2, count));
}

/// Plain data that passes from task to task: a race here is a race in the runtime.
#[test]
fn plain_data_passes_through_joins_and_scopes() {
    fn add_one(w: &Worker, numbers: &mut [u64], depth: u32) {
        if numbers.len() == 1 {
            numbers[0] += 1;
        } else {
            let (left, right) = numbers.split_at_mut(numbers.len() / 2);
            if depth % 2 == 0 {
                w.join(|w| add_one(w, left, depth + 1), |w| add_one(w, right, depth + 1));
            } else {
                locksley::in_place_scope(|scope| {
                    scope.spawn(|_| on_worker(|w| add_one(w, left, depth + 1)));
                    scope.spawn(|_| on_worker(|w| add_one(w, right, depth + 1)));
                });
            }
        }
    }
    for pool in pools() {
        let mut numbers = vec![0; 256];
        for _ in 0..20 {
            pool.install(|w| add_one(w, &mut numbers, 0));
        }
        assert!(numbers.iter().all(|&n| n == 20));
    }
}

#[test]
fn pools_are_built_and_dropped() {
    for round in 0..100 {
        let pool = Pool::new(1 + round % 5).unwrap();
        let count = Arc::new(AtomicU64::new(0));
        for _ in 0..round % 7 {
            let count = Arc::clone(&count);
            pool.spawn(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
        drop(pool);
        assert_eq!(count.load(Ordering::Relaxed), (round % 7) as u64);
    }
}
