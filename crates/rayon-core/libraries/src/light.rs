//! paralight on rayon's global pool: sums and element-wise loops.

mod random;

use paralight::prelude::*;

fn main() {
    let tasks = ThreadCount::try_from(rayon_core::current_num_threads()).expect("not 0");
    let pool = RayonThreadPool::new_global(tasks, RangeStrategy::WorkStealing);
    let numbers: Vec<u64> = random::numbers().take(1 << 20).collect();
    let mix = |&number: &u64| (0..number % 64).fold(number, |x, _| x ^ x << 13 ^ x >> 7) >> 32;
    let mut mixed = vec![0; numbers.len()];
    for _ in 0..10 {
        let pairs = (mixed.par_iter_mut(), numbers.par_iter()).zip_eq();
        pairs.with_thread_pool(&pool).for_each(|(out, number)| *out += mix(number));
        println!("{}", mixed.par_iter().with_thread_pool(&pool).sum::<u64>());
    }
    // Short loops.
    let short = &numbers[..256];
    let sums = (0..1000).map(|_| short.par_iter().with_thread_pool(&pool).map(mix).sum::<u64>());
    println!("{}", sums.sum::<u64>());
}
