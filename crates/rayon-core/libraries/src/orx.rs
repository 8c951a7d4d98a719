//! orx-parallel on a pool of rayon's: maps, filters and sums.

mod random;

use orx_parallel::*;

fn main() {
    let pool = rayon_core::ThreadPoolBuilder::new().build();
    let pool = pool.unwrap_or_else(|error| panic!("{error}"));
    let numbers: Vec<u64> = random::numbers().take(1 << 20).collect();
    let mix = |&number: &u64| (0..number % 64).fold(number, |x, _| x ^ x << 13 ^ x >> 7) >> 32;
    for _ in 0..10 {
        let sum: u64 = numbers.par().with_pool(&pool).map(mix).sum();
        let even: Vec<u64> =
            numbers.par().with_pool(&pool).map(mix).filter(|n| n % 2 == 0).collect();
        println!("{sum} {} {}", even.len(), even[even.len() / 2]);
    }
    // Short loops.
    let short = &numbers[..256];
    let sums = (0..1000).map(|_| short.par().with_pool(&pool).map(mix).sum());
    println!("{}", sums.sum::<u64>());
}
