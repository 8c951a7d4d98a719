//! The sieve of Eratosthenes, by segments: parallel pieces of one array, with less and less to do
//! in each.

use rayon::prelude::*;

use crate::random::Random;
use crate::workload::{Computation, Instance, Workload, checked};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "sieve",
    about: "primes, by segments of 32 Ki",
    size: 20_000_000,
    most: 1 << 28,
    prepare,
};

const SEGMENT: usize = 1 << 15;

struct Sieve {
    seed: u64,
    /// Whether a number has been struck out.
    struck: Vec<bool>,
}

fn prepare(size: usize, seed: u64) -> Box<dyn Instance> {
    checked(Sieve { seed, struck: vec![false; size + 1] })
}

fn is_prime(n: usize) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

impl Computation for Sieve {
    type Answer = Vec<bool>;

    fn reset(&mut self) {
        self.struck.fill(false);
    }

    fn run(&mut self) {
        let limit = self.struck.len() - 1;
        let primes: Vec<usize> = (2..=limit.isqrt()).filter(|&n| is_prime(n)).collect();
        self.struck.par_chunks_mut(SEGMENT).enumerate().for_each(|(segment, struck)| {
            let (from, to) = (segment * SEGMENT, segment * SEGMENT + struck.len());
            for &prime in &primes {
                let first = (prime * prime).max(from.div_ceil(prime) * prime);
                (first..to).step_by(prime).for_each(|multiple| struck[multiple - from] = true);
            }
            if segment == 0 {
                struck.iter_mut().take(2).for_each(|none| *none = true);
            }
        });
    }

    fn answer(&self) -> &Vec<bool> {
        &self.struck
    }

    /// As many as Legendre counts (A. M. Legendre, "Théorie des nombres", 1808), and some of them
    /// looked at one by one.
    fn is_correct(&self) -> bool {
        let limit = self.struck.len() - 1;
        let counted = self.struck.iter().filter(|struck| !**struck).count();
        let mut random = Random::new(self.seed);
        counted == legendre(limit)
            && (0..200).all(|_| {
                let n = random.below(limit as u64 + 1) as usize;
                is_prime(n) != self.struck[n]
            })
    }
}

/// The number of primes up to `limit`: phi(x, a) counts the numbers up to x that none of the first
/// a primes divides.
fn legendre(limit: usize) -> usize {
    if limit < 2 {
        return 0;
    }
    // Lucy's form of the recursion, over all different values of limit / n.
    let root = limit.isqrt();
    let large = |n: usize| limit / n;
    let mut of_small: Vec<usize> = (0..=root).map(|n| n.saturating_sub(1)).collect();
    let mut of_large: Vec<usize> =
        (0..=root).map(|n| if n == 0 { 0 } else { large(n) - 1 }).collect();
    for p in 2..=root {
        if of_small[p] == of_small[p - 1] {
            continue;
        }
        let below = of_small[p - 1];
        let square = p * p;
        for n in 1..=root.min(limit / square) {
            let rest = if n * p <= root { of_large[n * p] } else { of_small[large(n) / p] };
            of_large[n] -= rest - below;
        }
        for n in (square..=root).rev() {
            of_small[n] -= of_small[n / p] - below;
        }
    }
    of_large[1]
}
