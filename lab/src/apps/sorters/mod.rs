//! `sorters(n,s)`: merge sort of n random 32-bit integers by s sorters and s - 1 mergers, as
//! LASSI's study has it (Weibel, "An Advanced Scheduler for Intervals", 2010, "Merge Sort"): each
//! sorter fills an array with its part and sorts it alone, and each merger, alone, merges two
//! neighbours into a new one. So the last mergers are alone with the machine; `msort` divides its
//! merges, too.
//!
//! On intervals it is a graph with places: what is merged lies in the cache of the place that
//! sorted it.

mod intervals;

use std::ops::Range;

use locksley_intervals::Root;

use super::msort::{check, fork_join as whole, kernel, split};
use crate::apps::prelude::*;

/// The application.
pub static APP: App = App {
    name: "sorters",
    about: "merge sort of INTEGERS random integers by so many sorters, and mergers each of which \
        merges two neighbours alone; on intervals at places, the best or the worst",
    syntax: "INTEGERSxSORTERS or INTEGERSxSORTERS-worst",
    paper_size: "4194304x65536",
    quick_size: "1048576x1024",
    has_intervals: true,
    problem: |parameters| {
        let worst = parameters.strip_suffix("-worst");
        let [integers, sorters] = size::numbers(worst.unwrap_or(parameters), 'x', 1)?;
        if sorters > integers {
            return Err(format!("there is not an integer for each of {sorters} sorters"));
        }
        // The input, the answer, and two runs of all integers: those that are merged, and what
        // they become.
        let bytes = size::product(&[4, integers, size_of::<u32>()])
            .saturating_add(size::product(&[2, sorters, INTERVAL]));
        let division = Division { integers, sorters, is_worst: worst.is_some() };
        Ok(Problem::new(bytes, move |seed| {
            let input = Random::new(seed).integers(integers);
            let content = check::content(&input);
            Sorting { division, input, answer: Vec::new(), content }
        }))
    },
    ..App::BLANK
};

/// The number of integers, and of sorters, and where these are.
#[derive(Debug, Clone, Copy)]
struct Division {
    integers: usize,
    sorters: usize,
    /// A merger is at the place after that of the one on its left, where the run lies that it
    /// reads; at best it is at the same.
    is_worst: bool,
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

    /// The place of a sorter: each place has its share of them, next to each other.
    fn of_sorter(&self, sorter: usize, places: usize) -> usize {
        (sorter as u128 * places as u128 / self.sorters as u128) as usize
    }

    /// The place of the merger that comes after one at that place, on its left.
    fn of_merger(&self, left: usize, places: usize) -> usize {
        (left + usize::from(self.is_worst)) % places
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

    fork_join!(self, fork => {
        self.answer = sort(fork, &self.division, &self.input, self.division.all());
    });

    fn intervals(&mut self, pool: &::locksley::Pool) -> Option<()> {
        let (root, places) = (Root::new("sorters").on(pool), pool.places().count());
        self.answer = intervals::sort(root, &self.division, &self.input, places);
        Some(())
    }

    fn check(&self) -> Result<(), String> {
        check::sorted(&self.answer, self.content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_has_its_share_and_the_worst_takes_neighbours_apart() {
        let division = |sorters, is_worst| Division { integers: 9, sorters, is_worst };
        let of = |sorters, places| -> Vec<usize> {
            let division = division(sorters, false);
            (0..sorters).map(|sorter| division.of_sorter(sorter, places)).collect()
        };
        assert_eq!((of(5, 2), of(4, 3)), (vec![0, 0, 0, 1, 1], vec![0, 0, 1, 2]));
        assert_eq!(of(2, 1), [0, 0]);
        assert_eq!(division(5, false).of_merger(1, 3), 1);
        assert_eq!([1, 2].map(|left| division(5, true).of_merger(left, 3)), [2, 0]);
    }
}
