//! The programs of LASSI's study, with tasks at places, once.

use std::sync::atomic::{AtomicU64, Ordering};

use locksley::Worker;

use super::ground::Ground;
use super::multiply::multiply;
use super::tasks::{Case, Task};
use super::{MULTIPLY, STRESS, simulation};
use crate::experiment::prelude::*;
use crate::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Stress,
    Multiply,
}

/// What a subject names: a program; whether caches are simulated; and bytes of an array, rows of a
/// matrix, or bytes of a simulated cache.
pub(super) fn parse(subject: &str) -> Outcome<(Program, bool, usize)> {
    let (kind, size) = subject.split_once(' ').unwrap_or((subject, ""));
    let name = kind.strip_prefix(simulation::PREFIX);
    let program = match name.unwrap_or(kind) {
        STRESS => Program::Stress,
        MULTIPLY => Program::Multiply,
        unknown => {
            let why = format!("unknown kind '{unknown}'; there are {STRESS} and {MULTIPLY}");
            return Err(Fault::input(why));
        }
    };
    let (least, most) = match (program, name) {
        (_, Some(_)) => (1 << 12, simulation::MOST_BYTES),
        (Program::Stress, None) => (4, 1 << 32),
        // More rows take days.
        (Program::Multiply, None) => (1, 1 << 14),
    };
    let size = size.parse().ok().filter(|size| (least..=most).contains(size));
    let why = || Fault::input(format!("the size of {kind} is a number from {least} to {most}"));
    Ok((program, name.is_some(), size.ok_or_else(why)?))
}

/// Measures a program once, in the places of `ground`.
pub(super) fn measure(
    ground: &Ground,
    (program, size): (Program, usize),
    placement: &str,
    workers: usize,
    seed: u64,
) -> Outcome<Readings> {
    let pool = ground.pool(placement, workers)?;
    let machine = ground.machine(placement, workers)?;
    let (machine, places) = (machine.as_ref(), ground.places.count());
    let case = Case { pool: &pool, machine, placement, places, seed };
    pool.install(|worker| match program {
        Program::Stress => stress(worker, &case, size),
        Program::Multiply => multiply(&case, size),
    })
}

/// Fills a part with random numbers: those that a sequence has from the `first` one on.
pub(super) fn fill<T>(part: &mut [T], case: &Case<'_>, first: usize, made: fn(u64) -> T) {
    let mut random = Random::new(case.seed).ahead(first as u64);
    part.fill_with(|| made(random.next_u64()));
}

/// Elements of an array that are filled at once: some pages.
const PIECE: usize = 1 << 14;
/// How often each array is read, for each worker of a place.
const TIMES: usize = 100;
/// How many elements are added and multiplied at a time. Each x86-64 and AArch64 has the product of
/// this width in its vector instructions, so that the memory limits the speed and not the
/// multiplier.
const LANES: usize = 32;

/// The cache stress ("Cache Stress Test"): intervals that add and multiply all elements of an
/// array. There is one array of `size` bytes for each place. The paper's tasks read their array a
/// hundred times, with four workers to a place; here a task reads it once, so that a cache that one
/// worker has alone is contended, too.
pub(super) fn stress(worker: &Worker, case: &Case<'_>, size: usize) -> Outcome<Readings> {
    let length = size / 2;
    // Each of pages that were not written yet: a copy of another one would be written here.
    let mut arrays: Vec<Vec<u16>> = (0..case.places).map(|_| vec![0; length]).collect();
    let parts = arrays.iter_mut().enumerate().flat_map(|(own, array)| {
        array.chunks_mut(PIECE).enumerate().map(move |(piece, part)| {
            let first = own * length + piece * PIECE;
            let task = move || fill(part, case, first, |number| number as u16);
            ((own, piece), Box::new(task) as Task<'_>)
        })
    });
    case.touch(parts);
    let total = AtomicU64::new(0);
    let add = |array: &Vec<u16>| _ = total.fetch_add(read(array), Ordering::Relaxed);
    let add = &add;
    let read_all = |times: usize| {
        let tasks = (0..times).flat_map(|turn| {
            let task = |array| Box::new(move || add(array)) as Task<'_>;
            arrays.iter().enumerate().map(move |(own, array)| ((own, turn), task(array)))
        });
        case.run(tasks.collect())
    };
    let times = TIMES * (worker.workers() / case.places).max(1);
    // Once for the caches.
    read_all(1)?;
    let readings = read_all(times)?;
    let once = arrays.iter().map(|array| read(array)).fold(0, u64::wrapping_add);
    if total.into_inner() != once.wrapping_mul(times as u64 + 1) {
        return Err(Fault::run("the sum over all arrays is wrong"));
    }
    Ok(readings)
}

/// The paper's arithmetic over every element: a sum and a product.
#[inline(never)]
fn read(array: &[u16]) -> u64 {
    let (mut sums, mut products) = ([0_u16; LANES], [1_u16; LANES]);
    let mut chunks = array.chunks_exact(LANES);
    for chunk in &mut chunks {
        for lane in 0..LANES {
            sums[lane] = sums[lane].wrapping_add(chunk[lane]);
            products[lane] = products[lane].wrapping_mul(chunk[lane] | 1);
        }
    }
    let rest = chunks.remainder().iter();
    let sum = sums.iter().chain(rest.clone()).fold(0_u16, |all, &one| all.wrapping_add(one));
    let product = products.iter().chain(rest).fold(1_u16, |all, &one| all.wrapping_mul(one | 1));
    u64::from(sum) << 32 | u64::from(product)
}

#[cfg(test)]
mod tests {
    use super::*;
    use locksley::Pool;

    #[test]
    fn parts_are_filled_with_what_all_of_it_would_be_filled_with() {
        let pool = Pool::new(1).unwrap();
        let case = Case { pool: &pool, machine: None, placement: "best", places: 1, seed: 7 };
        let (mut all, mut parts) = ([0; 100], [0; 100]);
        fill(&mut all, &case, 0, |number| number as u32);
        for (number, part) in parts.chunks_mut(17).enumerate() {
            fill(part, &case, number * 17, |number| number as u32);
        }
        assert_eq!(all, parts);
        assert!(all.windows(2).all(|two| two[0] != two[1]), "it is no constant");
    }
}
