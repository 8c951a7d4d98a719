//! More threads than processors, all operations at once: what ThreadSanitizer watches.

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use common::pools;
use locksley::{Pool, Worker};

/// A tree of joins, scopes and detached tasks, whose shape depends on `seed`; counts its nodes.
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
        w.scope(|w, scope| {
            scope.spawn_on(w, move |w, _| grow(w, seed, left, count));
            scope.spawn(move |_| {
                count.fetch_add(right << 32, Ordering::Relaxed);
            });
            scope.spawn_on(w, move |w, _| grow(w, !seed, right, count));
        });
    }
}

#[test]
fn random_trees_are_counted_right() {
    let alone = Pool::new(1).unwrap();
    for pool in pools() {
        for seed in 0..4 {
            let (expected, counted) = (AtomicU64::new(0), AtomicU64::new(0));
            alone.run(|w| grow(w, seed, 400, &expected));
            pool.run(|w| grow(w, seed, 400, &counted));
            assert_eq!(counted.into_inner(), expected.into_inner());
        }
    }
}

#[test]
fn senders_and_workers_and_sleepers_at_once() {
    for pool in pools() {
        let count = AtomicU64::new(0);
        thread::scope(|scope| {
            for seed in 0..4 {
                let (pool, count) = (&pool, &count);
                scope.spawn(move || {
                    for round in 0..30 {
                        pool.run(|w| w.join(|w| work(w, 8, count), |w| work(w, 8, count)));
                        if round % 8 == seed {
                            thread::yield_now(); // some rounds find the pool asleep, others awake
                        }
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 4 * 30 * 16);
    }
}

fn work(w: &Worker, leaves: u64, count: &AtomicU64) {
    if leaves == 1 {
        count.fetch_add(1, Ordering::Relaxed);
        return;
    }
    w.join(|w| work(w, leaves / 2, count), |w| work(w, leaves / 2, count));
}

#[test]
fn pools_come_and_go() {
    for round in 0..60 {
        let pool = Pool::new(1 + round % 5).unwrap();
        let count = std::sync::Arc::new(AtomicU64::new(0));
        for _ in 0..round % 7 {
            let count = std::sync::Arc::clone(&count);
            pool.spawn(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
        drop(pool);
        assert_eq!(count.load(Ordering::Relaxed), (round % 7) as u64);
    }
}
