//! `sorters(n,s)`: merge sort of n random 32-bit integers by s sorters and s - 1 mergers, as
//! LASSI's study has it (Weibel, "An Advanced Scheduler for Intervals", 2010, "Merge Sort"): each
//! sorter fills an array with its part and sorts it alone, and each merger, alone, merges two
//! neighbours into a new one. So the last mergers are alone with the machine; `msort` divides its
//! merges, too.
//!
//! On intervals it is a graph with places: what is merged lies in the cache of the place that
//! sorted it.

mod intervals;
mod locksley;
mod placement;

use std::ops::Range;

use locksley_intervals::Root;

use super::msort::{check, fork_join as whole, kernel, split};
use super::{App, Instance, Problem, size};
use crate::fork::{Fork, Rayon, Serial};
use crate::random::Random;
use placement::Placement;

/// The application.
pub static APP: App = App {
    name: "sorters",
    about: "merge sort of INTEGERS random integers by so many sorters, and mergers each of which \
        merges two neighbours alone; on intervals at places, the best, the worst, or none",
    syntax: "INTEGERSxSORTERS, INTEGERSxSORTERS-worst or INTEGERSxSORTERS-none",
    paper_size: "4194304x65536",
    quick_size: "1048576x1024",
    has_intervals: true,
    problem: |parameters| {
        let (numbers, placement) = Placement::of(parameters)?;
        let [integers, sorters] = size::numbers(numbers, 'x', 1)?;
        if sorters > integers {
            return Err(format!("there is not an integer for each of {sorters} sorters"));
        }
        // The input, the answer, and two runs of all integers: those that are merged, and what
        // they become.
        let bytes = size::product(&[4, integers, size_of::<u32>()])
            .saturating_add(size::product(&[2, sorters, INTERVAL]));
        let division = Division { integers, sorters, placement };
        Ok(Problem::new(bytes, move |seed| {
            let input = Random::new(seed).integers(integers);
            let content = check::content(&input);
            Sorting { division, input, answer: Vec::new(), content }
        }))
    },
    ..App::BLANK
};

/// The number of integers, and of sorters.
#[derive(Debug, Clone, Copy)]
struct Division {
    integers: usize,
    sorters: usize,
    placement: Placement,
}

/// What an interval, with all that belongs to it, takes at the most, in bytes.
const INTERVAL: usize = 512;

impl Division {
    /// The integers of a sorter.
    fn part<'i>(&self, input: &'i [u32], sorter: usize) -> &'i [u32] {
        let bound =
            |sorter| (sorter as u128 * self.integers as u128 / self.sorters as u128) as usize;
        &input[bound(sorter)..bound(sorter + 1)]
    }

    fn all(&self) -> Range<usize> {
        0..self.sorters
    }
}

/// The sorters of two neighbours, which a merger comes after, that has all of these; if there are
/// two.
fn halves(sorters: &Range<usize>) -> Option<[Range<usize>; 2]> {
    let middle = sorters.start + sorters.len().div_ceil(2);
    (sorters.len() > 1).then_some([sorters.start..middle, middle..sorters.end])
}

/// What a sorter makes of its part.
fn sorted(part: &[u32]) -> Vec<u32> {
    let (mut run, mut scratch) = (part.to_vec(), vec![0; part.len()]);
    whole::sort(&Serial, &mut run, &mut scratch, split::Into::Data);
    run
}

/// What a merger makes of two runs.
fn merged(left: &[u32], right: &[u32]) -> Vec<u32> {
    let mut run = vec![0; left.len() + right.len()];
    kernel::merge(left, right, &mut run);
    run
}

/// What these sorters have, sorted: without places.
fn sort(fork: &impl Fork, division: &Division, input: &[u32], sorters: Range<usize>) -> Vec<u32> {
    let Some([left, right]) = halves(&sorters) else {
        return sorted(division.part(input, sorters.start));
    };
    let (left, right) = fork
        .join(|fork| sort(fork, division, input, left), |fork| sort(fork, division, input, right));
    merged(&left, &right)
}

#[derive(Clone)]
struct Sorting {
    division: Division,
    input: Vec<u32>,
    answer: Vec<u32>,
    content: u64,
}

impl Instance for Sorting {
    fn reset(&mut self) {
        self.answer = Vec::new();
    }

    fn serial(&mut self) {
        self.answer = sort(&Serial, &self.division, &self.input, self.division.all());
    }

    fn locksley(&mut self, pool: &::locksley::Pool) {
        let places = pool.places().count();
        self.answer =
            pool.install(|worker| locksley::sort(worker, &self.division, &self.input, places));
    }

    fn intervals(&mut self, pool: &::locksley::Pool) -> Option<()> {
        let (root, places) = (Root::new("sorters").on(pool), pool.places().count());
        self.answer = intervals::sort(root, &self.division, &self.input, places);
        Some(())
    }

    fn rayon(&mut self, pool: &::rayon::ThreadPool) {
        let all = self.division.all();
        self.answer = pool.install(|| sort(&Rayon, &self.division, &self.input, all));
    }

    fn copy(&self) -> Box<dyn Instance> {
        Box::new(self.clone())
    }

    fn check(&self) -> Result<(), String> {
        check::sorted(&self.answer, self.content)
    }
}
