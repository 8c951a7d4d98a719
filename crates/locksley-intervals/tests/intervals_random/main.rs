//! Random graphs, judged by an oracle. The fuzz target `intervals` compares the same way.

#[path = "../common/mod.rs"]
mod common;
mod graph;
mod world;

use common::{divided, idle_policies, pools};
use graph::{Choices, Tally};
use locksley::Pool;

/// A random number generator (splitmix64, Steele, Lea and Flood 2014).
struct Random(u64);

impl Choices for Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % limit as u64) as usize
    }

    fn of_body(&mut self, number: usize) -> Self {
        Self(self.0 ^ (number as u64 * 0x51_7C_C1))
    }
}

fn run(pool: &Pool, seed: u64, panics: usize, is_exact: bool) -> Tally {
    graph::run(pool, Random(seed), panics, is_exact)
}

/// Returns pools of several places, with several idle policies and options.
fn divided_pools() -> impl Iterator<Item = Pool> {
    let shapes = [&[1, 1][..], &[1, 2], &[2, 2, 1]];
    shapes.into_iter().flat_map(move |shape| {
        idle_policies().into_iter().enumerate().map(move |(n, with_policy)| {
            let pool = with_policy(divided(shape));
            let pool = if n % 3 == 0 { pool } else { pool.oldest_first() };
            pool.build().expect("a pool can be built")
        })
    })
}

#[test]
fn random_graphs_at_places_keep_all_orders() {
    let (mut in_place, mut refused, mut panicked) = (0, 0, 0);
    for (n, pool) in divided_pools().enumerate() {
        for seed in 0..40 {
            let panics = if seed % 2 == 0 { 0 } else { 8 };
            let tally = run(&pool, n as u64 * 1000 + seed, panics, false);
            in_place += tally.in_place;
            (refused, panicked) = (refused + tally.refused, panicked + tally.panicked);
        }
    }
    assert!(in_place > 100 && refused > 10 && panicked > 100, "{in_place} {refused} {panicked}");
}

#[test]
fn random_graphs_keep_all_orders() {
    let mut refused = 0;
    for (n, pool) in pools().enumerate() {
        for seed in 0..60 {
            refused += run(&pool, n as u64 * 1000 + seed, 0, false).refused;
        }
    }
    assert!(refused > 10, "some edges are refused: {refused}");
}

#[test]
fn one_body_at_a_time_refuses_just_what_closes_a_cycle() {
    let pool = Pool::builder().workers(1).own_threads_only().build().unwrap();
    let refused: usize = (0..3000).map(|seed| run(&pool, seed, 0, true).refused).sum();
    assert!(refused > 300, "some edges are refused: {refused}");
}

#[test]
fn panics_end_what_depends_on_them_and_nothing_else() {
    let mut panicked = 0;
    for (n, pool) in pools().enumerate() {
        for seed in 0..60 {
            panicked += run(&pool, n as u64 * 1000 + seed, 8, false).panicked;
        }
    }
    assert!(panicked > 100, "some panic: {panicked}");
    let pool = Pool::builder().workers(1).own_threads_only().build().unwrap();
    assert!((0..500).map(|seed| run(&pool, seed, 8, true).panicked).sum::<usize>() > 100);
}
