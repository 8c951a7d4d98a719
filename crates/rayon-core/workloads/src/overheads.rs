//! What rayon's operations cost: computations with next to no work in each piece.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::workload::{Computation, Workload, checked};

pub(crate) const JOINS: Workload = Workload {
    name: "joins",
    about: "a Fibonacci number, doubly recursive: one join for each call",
    size: 27,
    most: 50,
    prepare: |n, _| checked(Sum::new(n as u64, |n| fib(*n), |n| fibonacci(*n))),
};

pub(crate) const SHORT_LOOPS: Workload = Workload {
    name: "short-loops",
    about: "parallel loops over 256 numbers, one after the other",
    size: 100,
    most: 1 << 20,
    prepare: |loops, seed| {
        let run = |&(loops, seed): &(usize, u64)| (0..loops).map(|_| short_loop(seed)).sum();
        let right = |&(loops, seed): &(usize, u64)| {
            loops as u64 * (0..ITEMS).map(|item| mix(item ^ seed)).sum::<u64>()
        };
        checked(Sum::new((loops, seed), run, right))
    },
};

pub(crate) const BRIDGE: Workload = Workload {
    name: "bridge",
    about: "numbers from a sequential iterator, by par_bridge",
    size: 200_000,
    most: 1 << 28,
    prepare: |items, seed| {
        let numbers = |&(items, seed): &(u64, u64)| (0..items).map(move |item| item ^ seed);
        let run = move |input: &_| numbers(input).par_bridge().map(mix).sum();
        checked(Sum::new((items as u64, seed), run, move |input| numbers(input).map(mix).sum()))
    },
};

pub(crate) const SPAWNS: Workload = Workload {
    name: "spawns",
    about: "tasks that a scope spawns one by one",
    size: 1000,
    most: 1 << 24,
    prepare: |tasks, _| checked(Sum::new(tasks as u64, |tasks| spawn(*tasks), |&tasks| tasks)),
};

/// The numbers of a short loop.
const ITEMS: u64 = 256;

/// A sum, computed in two ways.
struct Sum<I, F, G> {
    input: I,
    parallel: F,
    sequential: G,
    answer: u64,
}

impl<I, F: Fn(&I) -> u64, G: Fn(&I) -> u64> Sum<I, F, G> {
    fn new(input: I, parallel: F, sequential: G) -> Self {
        Sum { input, parallel, sequential, answer: 0 }
    }
}

impl<I: Send, F: Fn(&I) -> u64 + Send, G: Fn(&I) -> u64 + Send> Computation for Sum<I, F, G> {
    type Answer = u64;

    fn reset(&mut self) {
        self.answer = 0;
    }

    fn run(&mut self) {
        self.answer = (self.parallel)(&self.input);
    }

    fn answer(&self) -> &u64 {
        &self.answer
    }

    fn is_correct(&self) -> bool {
        self.answer == (self.sequential)(&self.input)
    }
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn fibonacci(n: u64) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

/// Some tens of nanoseconds, and few enough bits that sums do not overflow.
fn mix(number: u64) -> u64 {
    let mixed = (0..number % 64).fold(number | 1, |x, _| x ^ x << 13 ^ x >> 7);
    mixed >> 40
}

fn short_loop(seed: u64) -> u64 {
    (0..ITEMS).into_par_iter().map(|item| mix(item ^ seed)).sum()
}

fn spawn(tasks: u64) -> u64 {
    let count = AtomicU64::new(0);
    rayon::scope(|scope| {
        for _ in 0..tasks {
            scope.spawn(|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    count.into_inner()
}
