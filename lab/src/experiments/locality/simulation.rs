//! Hits and misses of simulated caches: the study counts those of third caches, which the machines
//! of the records neither have nor count.

use std::collections::VecDeque;
use std::iter;

use super::multiply::{BLOCK, PRODUCTS, inputs_of, of_product, of_sum};
use super::programs::Program;
use super::tasks::{BEST, IGNORANT, RANDOM, WORST, Where, place};
use super::{HITS, MISSES};
use crate::experiment::prelude::*;
use crate::random::{Random, mix};

pub(super) const PLACEMENTS: [&str; 4] = [BEST, WORST, RANDOM, IGNORANT];

/// Subjects of simulations begin with this.
pub(super) const PREFIX: &str = "simulated-";

/// The largest cache, in bytes: more take minutes.
pub(super) const MOST_BYTES: usize = 1 << 26;

/// Two places, each with one cache.
const PLACES: usize = 2;
/// Rows of the matrices.
const ROWS: usize = 2048;
/// How many tasks read each array, once each: a hundred readings, as published, would take minutes.
const TIMES: usize = 64;
const LINE: usize = 64;
const WAYS: usize = 16;
/// Lines of a page.
const PAGE: usize = 64;

/// A cache that forgets the line of a set that was not used for the longest time.
struct Cache {
    /// The lines of each set, the last used one first.
    sets: Vec<[usize; WAYS]>,
    hits: u64,
    misses: u64,
}

impl Cache {
    fn of(bytes: usize) -> Cache {
        let sets = vec![[usize::MAX; WAYS]; (bytes / LINE / WAYS).max(1)];
        Cache { sets, hits: 0, misses: 0 }
    }

    fn access(&mut self, line: usize) {
        // Pages that follow one another lie anywhere in the memory.
        let frame = mix((line / PAGE) as u64) as usize % (1 << 32);
        let index = (frame * PAGE + line % PAGE) % self.sets.len();
        let set = &mut self.sets[index];
        let found = set.iter().position(|&it| it == line);
        *if found.is_some() { &mut self.hits } else { &mut self.misses } += 1;
        set[..=found.unwrap_or(WAYS - 1)].rotate_right(1);
        set[0] = line;
    }
}

/// The lines that a task accesses, in order, without those that the caches of a core keep.
type Lines = Box<dyn Iterator<Item = usize>>;

/// What `workers` of two places with caches of so many bytes read and miss.
pub(super) fn measure(
    (program, bytes): (Program, usize),
    placement: &str,
    workers: usize,
    seed: u64,
) -> Readings {
    let mut caches = [(); PLACES].map(|()| Cache::of(bytes));
    let mut random = Random::new(mix(seed));
    let mut phase = |mut tasks: Vec<(Where, Lines)>| {
        if placement == IGNORANT {
            random.shuffle(&mut tasks);
        }
        // Last, those without a place.
        let mut queues = [(); PLACES + 1].map(|()| VecDeque::new());
        for (at, lines) in tasks {
            queues[place(placement, PLACES, seed, at).unwrap_or(PLACES)].push_back(lines);
        }
        let idle = |worker| (worker * PLACES / workers, Box::new(iter::empty()) as Lines);
        let mut running: Vec<(usize, Lines)> = (0..workers).map(idle).collect();
        while !running.is_empty() {
            // Workers differ in speed, as on a machine.
            let worker = (random.next_u64() % running.len() as u64) as usize;
            let (own, lines) = &mut running[worker];
            if let Some(line) = lines.next() {
                caches[*own].access(line);
                continue;
            }
            let mut order = [*own, PLACES].into_iter().chain(0..PLACES);
            match order.find_map(|queue| queues[queue].pop_front()) {
                Some(next) => *lines = next,
                None => drop(running.swap_remove(worker)),
            }
        }
    };
    match program {
        Program::Stress(_) => phase(stress(bytes)),
        Program::Multiply => {
            phase(products(ROWS / 2));
            phase(sums(ROWS / 2));
        }
    }
    let sum = |of: fn(&Cache) -> u64| caches.iter().map(of).sum::<u64>() as f64;
    named([(HITS, sum(|it| it.hits)), (MISSES, sum(|it| it.misses))])
}

/// Each array is as large as a cache, as in the study.
fn stress(bytes: usize) -> Vec<(Where, Lines)> {
    let length = bytes / LINE;
    let read = |own: usize| Box::new(own * length..(own + 1) * length) as Lines;
    (0..TIMES).flat_map(|turn| (0..PLACES).map(move |own| ((own, turn), read(own)))).collect()
}

/// The quarters of the left and of the right factor, the products, and the quarters of the product.
fn quarter(number: usize, half: usize) -> usize {
    number * half * row(half)
}

/// The lines from one row to the next. The study's rows are arrays of Java, which have a header;
/// without one, a column of blocks would share few sets.
fn row(half: usize) -> usize {
    lines(half) + 1
}

/// The lines of so many elements.
fn lines(elements: usize) -> usize {
    elements * size_of::<u32>() / LINE
}

fn products(half: usize) -> Vec<(Where, Lines)> {
    let product = |number: usize| {
        let (left, right) = inputs_of(number);
        let [a, b, out] = [left, 4 + right, 8 + number].map(|number| quarter(number, half));
        let (row, block) = (row(half), lines(BLOCK));
        let starts = move || (0..lines(half)).step_by(block);
        let blocks = starts().flat_map(move |across| starts().map(move |from| (across, from)));
        let of_block = move |(across, from): (usize, usize)| {
            let part = move |first: usize| first..first + block;
            let first = from / block * BLOCK;
            let of_b = (first..first + BLOCK).flat_map(move |k| part(b + k * row + across));
            let of_rows = (0..half)
                .flat_map(move |it| part(a + it * row + from).chain(part(out + it * row + across)));
            of_b.chain(of_rows)
        };
        (of_product(number, PLACES), Box::new(blocks.flat_map(of_block)) as Lines)
    };
    (0..PRODUCTS).map(product).collect()
}

fn sums(half: usize) -> Vec<(Where, Lines)> {
    let sum = |number: usize| {
        let parts = [8 + 2 * number, 9 + 2 * number, 8 + PRODUCTS + number];
        let starts = parts.map(|number| quarter(number, half));
        let all = (0..half * row(half)).flat_map(move |line| starts.map(|start| start + line));
        (of_sum(number, PLACES), Box::new(all) as Lines)
    };
    (0..4).map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_forgets_what_was_not_used_for_the_longest_time() {
        let mut cache = Cache::of(WAYS * LINE);
        assert_eq!(cache.sets.len(), 1);
        (0..WAYS).for_each(|line| cache.access(line));
        cache.access(0);
        cache.access(WAYS);
        assert_eq!((cache.hits, cache.misses), (1, WAYS as u64 + 1));
        cache.access(0);
        cache.access(1);
        assert_eq!((cache.hits, cache.misses), (2, WAYS as u64 + 2));
    }

    #[test]
    fn arrays_that_share_a_cache_are_missed_more_often() {
        let found = |placement| measure((Program::Stress(1), 1 << 20), placement, 4, 7);
        let (lines, all) = ((2 << 20) / LINE, (2 << 20) / LINE * TIMES);
        let best = found(BEST);
        for placement in PLACEMENTS {
            let found = found(placement);
            assert_eq!(found[HITS] + found[MISSES], all as f64);
            assert!(found[MISSES] >= lines as f64, "all lines are missed once");
            assert!(placement == BEST || found[MISSES] > 1.5 * best[MISSES], "{placement}");
        }
    }

    #[test]
    fn a_multiplication_accesses_each_part_of_its_matrices() {
        let half = 2 * BLOCK;
        let mut seen: Vec<usize> = products(half).into_iter().flat_map(|it| it.1).collect();
        // 4 times the blocks of the right factor, and for each the rows of two others.
        assert_eq!(seen.len(), PRODUCTS * 4 * (BLOCK + 2 * half) * lines(BLOCK));
        seen.extend(sums(half).into_iter().flat_map(|it| it.1));
        seen.sort_unstable();
        seen.dedup();
        // No headers of the eight factors.
        assert_eq!(seen.len(), quarter(20, half) - 8 * half);
        assert!(seen.last() < Some(&quarter(20, half)));
    }
}
