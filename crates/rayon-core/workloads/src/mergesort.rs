//! Merge sort with parallel merges: joins on equal halves, and results that go to and fro between
//! two buffers.

use rayon::join;

use crate::random::Random;
use crate::workload::{Computation, Instance, Workload, checked};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "mergesort",
    about: "pairs, stable, by joins down to 512 of them",
    size: 2_000_000,
    most: 1 << 27,
    prepare,
};

const SMALL: usize = 512;

/// A key, and where it was.
type Item = (u32, u32);

struct Mergesort {
    input: Vec<Item>,
    sorted: Vec<Item>,
    buffer: Vec<Item>,
}

fn prepare(size: usize, seed: u64) -> Box<dyn Instance> {
    let mut random = Random::new(seed);
    // Few enough keys that many are equal: then stability shows.
    let keys = (size as u64 / 4).max(1);
    let key =
        |n: usize, random: &mut Random| (random.below(keys) as u32 + u32::from(n == 0), n as u32);
    let input: Vec<Item> = (0..size).map(|n| key(n, &mut random)).collect();
    checked(Mergesort { sorted: input.clone(), buffer: input.clone(), input })
}

/// Sorts `items`; into `buffer`, if `away`. Both hold the same to begin with.
fn sort(items: &mut [Item], buffer: &mut [Item], away: bool) {
    if items.len() <= SMALL {
        return if away {
            buffer.sort_by_key(|item| item.0)
        } else {
            items.sort_by_key(|item| item.0)
        };
    }
    let middle = items.len() / 2;
    let (left, right) = items.split_at_mut(middle);
    let (left_buffer, right_buffer) = buffer.split_at_mut(middle);
    join(|| sort(left, left_buffer, !away), || sort(right, right_buffer, !away));
    if away { merge(left, right, buffer) } else { merge(left_buffer, right_buffer, items) }
}

/// Merges two sorted runs; of equal keys, those of the first come first.
fn merge(first: &[Item], second: &[Item], to: &mut [Item]) {
    if to.len() <= 2 * SMALL {
        let (mut first, mut second) = (first.iter().peekable(), second.iter().peekable());
        for place in to {
            let from_second = match (first.peek(), second.peek()) {
                (Some(one), Some(other)) => other.0 < one.0,
                (one, _) => one.is_none(),
            };
            let next = if from_second { second.next() } else { first.next() };
            *place = *next.expect("as many places as items");
        }
        return;
    }
    // Where the longer run is divided in the middle, the other is divided by the same key.
    let (in_first, in_second) = if first.len() >= second.len() {
        let middle = first.len() / 2;
        (middle, second.partition_point(|item| item.0 < first[middle].0))
    } else {
        let middle = second.len() / 2;
        (first.partition_point(|item| item.0 <= second[middle].0), middle)
    };
    let (first, first_rest) = first.split_at(in_first);
    let (second, second_rest) = second.split_at(in_second);
    let (to, to_rest) = to.split_at_mut(in_first + in_second);
    join(|| merge(first, second, to), || merge(first_rest, second_rest, to_rest));
}

impl Computation for Mergesort {
    type Answer = Vec<Item>;

    fn reset(&mut self) {
        self.sorted.copy_from_slice(&self.input);
        self.buffer.copy_from_slice(&self.input);
    }

    fn run(&mut self) {
        sort(&mut self.sorted, &mut self.buffer, false);
    }

    fn answer(&self) -> &Vec<Item> {
        &self.sorted
    }

    fn is_correct(&self) -> bool {
        // Where they came from makes all items different, and tells a stable order from others.
        let mut expected = self.input.clone();
        expected.sort_unstable();
        self.sorted == expected
    }
}
