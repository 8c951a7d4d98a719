//! The programs of LASSI's study, with tasks at places, once.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use locksley::Worker;

use super::ground::Ground;
use super::multiply::multiply;
use super::tasks::{Case, THREADS, Task};
use super::{MULTIPLY, STRESS, simulation};
use crate::experiment::prelude::*;
use crate::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    /// Each task reads its array this often.
    Stress(u64),
    Multiply,
}

/// What a subject names: a program; whether caches are simulated; and bytes of an array, rows of a
/// matrix, or bytes of a simulated cache. The first is `stress BYTESxREADINGS`.
pub(super) fn parse(subject: &str) -> Outcome<(Program, bool, usize)> {
    let (kind, size) = subject.split_once(' ').unwrap_or((subject, ""));
    let name = kind.strip_prefix(simulation::PREFIX);
    // A simulated task reads its array once.
    let (size, readings) = match kind {
        STRESS => size.split_once('x').unwrap_or((size, "")),
        _ => (size, "1"),
    };
    let readings = readings.parse().ok().filter(|it| (1..=MOST_READINGS).contains(it));
    let readings = readings.ok_or_else(|| {
        Fault::input(format!("{STRESS} is followed by BYTESxREADINGS; the latter from 1 on"))
    })?;
    let program = match name.unwrap_or(kind) {
        STRESS => Program::Stress(readings),
        MULTIPLY => Program::Multiply,
        unknown => {
            let why = format!("unknown kind '{unknown}'; there are {STRESS} and {MULTIPLY}");
            return Err(Fault::input(why));
        }
    };
    let (least, most) = match (program, name) {
        (_, Some(_)) => (1 << 12, simulation::MOST_BYTES),
        (Program::Stress(_), None) => (size_of::<u32>(), 1 << 32),
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
        Program::Stress(readings) => stress(worker, &case, size, readings),
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
/// The most often that a task reads its array: more take hours.
const MOST_READINGS: u64 = 10_000;
/// How many elements are added and multiplied at a time, so that the memory limits the speed and
/// not the latency of a product.
const LANES: usize = 16;

/// The cache stress ("Cache Stress Test"): tasks that add and multiply all elements of an array so
/// many times, in the paper a hundred times. There is one array of `size` bytes for each place, and
/// the tasks use one array after the other, in the paper half of them each of two arrays. As many
/// tasks are there as the paper has threads on its cores.
pub(super) fn stress(
    worker: &Worker,
    case: &Case<'_>,
    size: usize,
    readings: u64,
) -> Outcome<Readings> {
    let length = size / size_of::<u32>();
    // Each of pages that were not written yet: a copy of another one would be written here.
    let mut arrays: Vec<Vec<u32>> = (0..case.places).map(|_| vec![0; length]).collect();
    let parts = arrays.iter_mut().enumerate().flat_map(|(own, array)| {
        array.chunks_mut(PIECE).enumerate().map(move |(piece, part)| {
            let first = own * length + piece * PIECE;
            let task = move || fill(part, case, first, |number| number as u32);
            ((own, piece), Box::new(task) as Task<'_>)
        })
    });
    case.touch(parts);
    let (arrays, total) = (&arrays, &AtomicU64::new(0));
    let tasks = (0..THREADS * worker.workers()).map(|number| {
        let own = number % case.places;
        let task = move || {
            // For all that the compiler knows, each reading finds another array.
            let sums = (0..readings).map(|_| read(black_box(&arrays[own])));
            total.fetch_add(sums.fold(0, u64::wrapping_add), Ordering::Relaxed);
        };
        ((own, number / case.places), Box::new(task) as Task<'_>)
    });
    let tasks: Vec<_> = tasks.collect();
    let once = tasks.iter().map(|((own, _), _)| read(&arrays[*own])).fold(0, u64::wrapping_add);
    let found = case.run(tasks)?;
    if total.load(Ordering::Relaxed) != once.wrapping_mul(readings) {
        return Err(Fault::run("the sum over all arrays is wrong"));
    }
    Ok(found)
}

/// The paper's arithmetic over every element: a sum and a product.
#[inline(never)]
fn read(array: &[u32]) -> u64 {
    let (mut sums, mut products) = ([0_u32; LANES], [1_u32; LANES]);
    let mut chunks = array.chunks_exact(LANES);
    for chunk in &mut chunks {
        for lane in 0..LANES {
            sums[lane] = sums[lane].wrapping_add(chunk[lane]);
            products[lane] = products[lane].wrapping_mul(chunk[lane] | 1);
        }
    }
    let rest = chunks.remainder().iter();
    let sum = sums.iter().chain(rest.clone()).fold(0_u32, |all, &one| all.wrapping_add(one));
    let product = products.iter().chain(rest).fold(1_u32, |all, &one| all.wrapping_mul(one | 1));
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
