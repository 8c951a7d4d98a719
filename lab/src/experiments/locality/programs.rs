//! The programs of LASSI's study, with tasks at places, once.

use std::sync::atomic::{AtomicU64, Ordering};

use locksley::Worker;

use super::ground::Ground;
use super::multiply::multiply;
use super::tasks::{Case, Placed, Task, UNDIVIDED, Where, suits};
use super::{KINDS, MULTIPLY, STRESS, UNBOUND};
use crate::apps::msort::check;
use crate::experiment::{Readings, plan};
use crate::fault::{Fault, Outcome};
use crate::random::Random;

/// The kind and the size that a subject names: bytes of an array, integers, rows of a matrix.
pub(super) fn parse(subject: &str) -> Outcome<(&str, usize)> {
    let (kind, size) = subject.split_once(' ').unwrap_or((subject, ""));
    plan::chosen("kind", &[kind.to_owned()], &KINDS[..3], &[])?;
    let (least, most) = match kind {
        STRESS => (4, 1 << 32),
        // More rows take days.
        MULTIPLY => (1, 1 << 14),
        _ => (1, 1 << 32),
    };
    let size = size.parse().ok().filter(|size| (least..=most).contains(size));
    let why = || Fault::input(format!("the size of {kind} is a number from {least} to {most}"));
    Ok((kind, size.ok_or_else(why)?))
}

/// Measures a program once, in the places of `ground`.
pub(super) fn measure(
    ground: &Ground,
    (kind, size): (&str, usize),
    placement: &str,
    workers: usize,
    seed: u64,
) -> Outcome<Readings> {
    if !suits(placement, kind) {
        let why = format!("the tasks of {kind} wait for others, which {placement} cannot have");
        return Err(Fault::input(why));
    }
    let pool = ground.pool(placement, workers)?;
    let case = Case::new(&pool, placement, ground.places.count(), seed);
    let readings = pool.install(|worker| match kind {
        STRESS => stress(worker, &case, size),
        MULTIPLY => multiply(&case, size),
        _ => sort(&case, size),
    });
    let mut readings = readings.map_err(Fault::Run)?;
    let unbound = if placement == UNDIVIDED { 0 } else { workers - pool.stats().bound_workers };
    readings.insert(UNBOUND.to_owned(), unbound as f64);
    Ok(readings)
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

/// The cache stress ("Cache Stress Test"): tasks that add and multiply all elements of an array.
/// There is one array of `size` bytes for each place. The paper's tasks read their array a hundred
/// times, with four workers to a place; here a task reads it once, so that a cache that one worker
/// has alone is contended, too.
pub(super) fn stress(worker: &Worker, case: &Case<'_>, size: usize) -> Result<Readings, String> {
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
            arrays.iter().enumerate().map(move |(own, array)| Placed {
                place: (own, turn),
                task: Box::new(move || add(array)),
            })
        });
        case.run(tasks.collect())
    };
    let times = TIMES * (worker.workers() / case.places).max(1);
    // Once for the caches.
    read_all(1);
    let readings = read_all(times);
    let once = arrays.iter().map(|array| read(array)).fold(0, u64::wrapping_add);
    if total.into_inner() != once.wrapping_mul(times as u64 + 1) {
        return Err("the sum over all arrays is wrong".to_owned());
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

/// Integers that are sorted by one task.
const LEAF: usize = 1 << 15;

/// Merge sort of `size` integers: a merge finds its halves in the cache if they were sorted there.
pub(super) fn sort(case: &Case<'_>, size: usize) -> Result<Readings, String> {
    let (mut data, mut scratch) = (vec![0; size], vec![0; size]);
    let root = Node { places: (0, case.places), depth: 0, index: 0 };
    let mut parts = Vec::new();
    leaves(case, (&mut data, &mut scratch), 0, root, &mut parts);
    case.touch(parts.into_iter());
    let ((), readings) = case.time(|| sort_part(case, &mut data, &mut scratch, root));
    fill(&mut scratch, case, 0, |number| number as u32);
    check::sorted(&data, check::content(&scratch))?;
    Ok(readings)
}

/// Both arrays in the parts that are sorted by one task each; `first` is the number of their first
/// element.
fn leaves<'t>(
    case: &'t Case<'_>,
    (data, scratch): (&'t mut [u32], &'t mut [u32]),
    first: usize,
    node: Node,
    parts: &mut Vec<(Where, Task<'t>)>,
) {
    if data.len() <= LEAF {
        let task = move || {
            fill(data, case, first, |number| number as u32);
            scratch.fill(0);
        };
        return parts.push((node.place(case.places), Box::new(task)));
    }
    let (left, right, middle) = node.halves(data.len());
    let ((low, high), (low_scratch, high_scratch)) =
        (data.split_at_mut(middle), scratch.split_at_mut(middle));
    leaves(case, (low, low_scratch), first, left, parts);
    leaves(case, (high, high_scratch), first + middle, right, parts);
}

/// A part of the data.
#[derive(Clone, Copy)]
struct Node {
    /// It belongs to the places from the first one on and before the second one.
    places: (usize, usize),
    depth: usize,
    /// Its number among those of its depth.
    index: usize,
}

impl Node {
    /// Both halves; and how much of so much the first one is.
    fn halves(self, length: usize) -> (Node, Node, usize) {
        let (first, end) = self.places;
        let child = |places, index| Node { places, depth: self.depth + 1, index };
        let (left, right) = (2 * self.index, 2 * self.index + 1);
        if end - first == 1 {
            return (child(self.places, left), child(self.places, right), length / 2);
        }
        let middle = first + (end - first) / 2;
        let share = (length as u128 * (middle - first) as u128 / (end - first) as u128) as usize;
        (child((first, middle), left), child((middle, end), right), share)
    }

    /// Where it is placed; the worst placement takes siblings apart.
    fn place(self, places: usize) -> Where {
        let best = self.places.0;
        (best, self.depth + self.index + places - best)
    }
}

fn sort_part(case: &Case<'_>, data: &mut [u32], scratch: &mut [u32], node: Node) {
    if data.len() <= LEAF {
        return data.sort_unstable();
    }
    let (left, right, middle) = node.halves(data.len());
    {
        let (low, high) = data.split_at_mut(middle);
        let (low_scratch, high_scratch) = scratch.split_at_mut(middle);
        locksley::in_place_scope(|scope| {
            case.spawn(scope, right.place(case.places), move || {
                sort_part(case, high, high_scratch, right);
            });
            case.spawn(scope, left.place(case.places), move || {
                sort_part(case, low, low_scratch, left);
            });
        });
    }
    merge(&data[..middle], &data[middle..], scratch);
    data.copy_from_slice(scratch);
}

fn merge<'a>(mut left: &'a [u32], mut right: &'a [u32], out: &mut [u32]) {
    for slot in out {
        let from_left = match (left.first(), right.first()) {
            (Some(a), Some(b)) => a <= b,
            (first, _) => first.is_some(),
        };
        let run = if from_left { &mut left } else { &mut right };
        *slot = run[0];
        *run = &run[1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locksley::Pool;

    #[test]
    fn merging_loses_nothing() {
        for (left, right) in [(&[][..], &[][..]), (&[1, 4, 4], &[]), (&[2, 9], &[0, 2, 10, 11])] {
            let mut out = vec![0; left.len() + right.len()];
            merge(left, right, &mut out);
            let mut expected = [left, right].concat();
            expected.sort_unstable();
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn each_place_has_its_part_and_the_worst_is_elsewhere() {
        let root = Node { places: (0, 3), depth: 0, index: 0 };
        let (left, right, middle) = root.halves(300);
        assert_eq!((left.places, right.places, middle), ((0, 1), (1, 3), 100));
        let (a, b, half) = right.halves(200);
        assert_eq!((a.places, b.places, half), ((1, 2), (2, 3), 100));
        let (c, d, half) = left.halves(101);
        assert_eq!((c.places, d.places, half), ((0, 1), (0, 1), 50));
        for (one, other) in [(left, right), (a, b), (c, d)] {
            let worst = |node: Node| {
                let (best, turn) = node.place(3);
                (best + turn) % 3
            };
            assert_ne!(worst(one), worst(other), "siblings are apart");
        }
    }

    #[test]
    fn parts_are_filled_with_what_all_of_it_would_be_filled_with() {
        let pool = Pool::new(1).unwrap();
        let case = Case::new(&pool, "best", 1, 7);
        let (mut all, mut parts) = ([0; 100], [0; 100]);
        fill(&mut all, &case, 0, |number| number as u32);
        for (number, part) in parts.chunks_mut(17).enumerate() {
            fill(part, &case, number * 17, |number| number as u32);
        }
        assert_eq!(all, parts);
        assert!(all.windows(2).all(|two| two[0] != two[1]), "it is no constant");
    }
}
