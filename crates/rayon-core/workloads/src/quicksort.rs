//! Quicksort: joins on halves of any proportion.

use rayon::join;

use crate::random::Random;
use crate::workload::{Computation, Instance, Workload, checked};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "quicksort",
    about: "numbers, by joins down to 32 of them",
    size: 4_000_000,
    most: 1 << 28,
    prepare,
};

struct Quicksort {
    input: Vec<u64>,
    sorted: Vec<u64>,
}

fn prepare(size: usize, seed: u64) -> Box<dyn Instance> {
    let mut random = Random::new(seed);
    let input: Vec<u64> =
        (0..size).map(|n| random.below(size as u64 * 4) + (size - n) as u64).collect();
    checked(Quicksort { sorted: input.clone(), input })
}

fn sort(items: &mut [u64]) {
    if items.len() <= 32 {
        return insert(items);
    }
    let (left, right) = partition(items);
    join(|| sort(left), || sort(right));
}

/// Hoare's partition about the median of three. Neither part is empty.
fn partition(items: &mut [u64]) -> (&mut [u64], &mut [u64]) {
    let mut three = [items[0], items[items.len() / 2], items[items.len() - 1]];
    three.sort_unstable();
    let pivot = three[1];
    let (mut low, mut high) = (0, items.len() - 1);
    loop {
        while items[low] < pivot {
            low += 1;
        }
        while items[high] > pivot {
            high -= 1;
        }
        if low >= high {
            break;
        }
        items.swap(low, high);
        low += 1;
        high -= 1;
    }
    let middle = low.clamp(1, items.len() - 1);
    items.split_at_mut(middle)
}

fn insert(items: &mut [u64]) {
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && items[at - 1] > items[at] {
            items.swap(at - 1, at);
            at -= 1;
        }
    }
}

impl Computation for Quicksort {
    type Answer = Vec<u64>;

    fn reset(&mut self) {
        self.sorted.copy_from_slice(&self.input);
    }

    fn run(&mut self) {
        sort(&mut self.sorted);
    }

    fn answer(&self) -> &Vec<u64> {
        &self.sorted
    }

    fn is_correct(&self) -> bool {
        let mut expected = self.input.clone();
        expected.sort_unstable();
        self.sorted == expected
    }
}
