//! `ep(class)`: EP, "embarrassingly parallel", of the NAS Parallel Benchmarks (Bailey et al.,
//! RNR-94-007, section 2.2): pairs of pseudorandom numbers are made Gaussian deviates, summed, and
//! counted by how large they are. Blocks of 2^16 pairs are independent of one another and cost the
//! same: each computes where in the one sequence its numbers begin.

mod check;
mod kernel;
use super::{App, Instance, Problem, size};
use kernel::Tally;

/// The application.
pub static APP: App = App {
    name: "ep",
    about: "EP of the NAS Parallel Benchmarks: Gaussian deviates; CLASS S, W, A or B, or BLOCKS of \
        65536 pairs",
    syntax: "CLASS or BLOCKS",
    paper_size: "B",
    quick_size: "64",
    problem: |parameters| {
        let new = |blocks, expected| Counting { blocks, tally: Tally::NONE, expected };
        let bytes = size_of::<Tally>() as u128;
        if let Some(class) = check::CLASSES.iter().find(|class| class.name == parameters) {
            return Ok(Problem::new(bytes, move |_| new(class.blocks, class.expected)));
        }
        let [blocks] = size::numbers(parameters, ',', 1)
            .map_err(|reason| format!("it is no class (S, W, A, B), and as blocks, {reason}"))?;
        let blocks = blocks as u64;
        if blocks > kernel::MOST_BLOCKS {
            return Err(format!("there can be at most {} blocks", kernel::MOST_BLOCKS));
        }
        Ok(Problem::new(bytes, move |_| new(blocks, check::serially(blocks))))
    },
    ..App::BLANK
};

#[derive(Clone)]
struct Counting {
    blocks: u64,
    tally: Tally,
    expected: check::Expected,
}

impl Instance for Counting {
    fn reset(&mut self) {
        self.tally = Tally::NONE;
    }

    fork_join!(self, fork => self.tally = kernel::count(fork, 0..self.blocks));

    fn check(&self) -> Result<(), String> {
        check::verify(&self.tally, &self.expected)
    }
}
