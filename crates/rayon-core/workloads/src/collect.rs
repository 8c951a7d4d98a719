//! Parallel iterators end to end: map, filter, flatten, collect, sum, and searches that end early.

use rayon::prelude::*;

use crate::random::Random;
use crate::workload::{Computation, Instance, Workload, checked};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "collect",
    about: "map, filter, collect, sum and find over many small items",
    size: 4_000_000,
    most: 1 << 28,
    prepare,
};

struct Collect {
    numbers: Vec<u64>,
    needle: u64,
    answer: Option<Answer>,
}

#[derive(Clone, PartialEq)]
struct Answer {
    kept: Vec<u64>,
    pieces: Vec<(usize, u64)>,
    sum: u64,
    first: Option<usize>,
    any: bool,
    last: Option<u64>,
}

fn prepare(size: usize, seed: u64) -> Box<dyn Instance> {
    let mut random = Random::new(seed);
    let numbers: Vec<u64> = (0..size).map(|_| random.next()).collect();
    let needle = numbers[size * 3 / 4];
    checked(Collect { numbers, needle, answer: None })
}

fn mix(number: u64) -> u64 {
    let mixed = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ mixed >> 27
}

impl Computation for Collect {
    type Answer = Option<Answer>;

    fn reset(&mut self) {
        self.answer = None;
    }

    fn run(&mut self) {
        let numbers = &self.numbers;
        let needle = self.needle;
        self.answer = Some(Answer {
            kept: numbers.par_iter().map(|&n| mix(n)).filter(|n| n % 3 == 0).collect(),
            pieces: numbers
                .par_chunks(1000)
                .enumerate()
                .flat_map_iter(|(at, chunk)| chunk.iter().max().map(|&most| (at, most)))
                .collect(),
            sum: numbers.par_iter().map(|&n| mix(n)).reduce(|| 0, u64::wrapping_add),
            first: numbers.par_iter().position_first(|&n| n == needle),
            any: numbers.par_iter().find_any(|&&n| n == needle).is_some(),
            last: numbers.par_iter().map(|&n| mix(n)).find_last(|n| n % 1009 == 0),
        });
    }

    fn answer(&self) -> &Option<Answer> {
        &self.answer
    }

    fn is_correct(&self) -> bool {
        let numbers = &self.numbers;
        let expected = Answer {
            kept: numbers.iter().map(|&n| mix(n)).filter(|n| n % 3 == 0).collect(),
            pieces: numbers
                .chunks(1000)
                .enumerate()
                .flat_map(|(at, chunk)| chunk.iter().max().map(|&most| (at, most)))
                .collect(),
            sum: numbers.iter().map(|&n| mix(n)).fold(0, u64::wrapping_add),
            first: numbers.iter().position(|&n| n == self.needle),
            any: true,
            last: numbers.iter().rev().map(|&n| mix(n)).find(|n| n % 1009 == 0),
        };
        self.answer.as_ref() == Some(&expected)
    }
}
