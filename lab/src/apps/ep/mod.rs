//! `ep(class)`: EP, "embarrassingly parallel", of the NAS Parallel Benchmarks (Bailey et al., RNR-94-007, section 2.2): pairs of
//! pseudorandom numbers are made Gaussian deviates, summed, and counted by how large they are. Blocks of 2^16 pairs are
//! independent of one another and cost the same: each computes where in the one sequence its numbers begin.

mod check;
mod kernel;
mod locksley;
mod rayon;
mod serial;

use super::{App, Instance, Problem, size};
use kernel::Tally;

/// The application.
pub struct Ep;

impl App for Ep {
    fn name(&self) -> &'static str {
        "ep"
    }

    fn about(&self) -> &'static str {
        "EP of the NAS Parallel Benchmarks: Gaussian deviates; CLASS S, W, A or B, or BLOCKS of 65536 pairs"
    }

    fn syntax(&self) -> &'static str {
        "CLASS or BLOCKS"
    }

    fn paper_size(&self) -> &'static str {
        "1024"
    }

    fn quick_size(&self) -> &'static str {
        "64"
    }

    fn problem(&self, parameters: &str) -> Result<Box<dyn Problem>, String> {
        if let Some(class) = check::CLASSES.iter().find(|class| class.name == parameters) {
            return Ok(Box::new(Pairs { name: parameters.to_owned(), blocks: class.blocks }));
        }
        let [blocks] = size::numbers(parameters, ',', 1)
            .map_err(|reason| format!("it is no class (S, W, A, B), and as blocks, {reason}"))?;
        if blocks as u64 > kernel::MOST_BLOCKS {
            return Err(format!("there can be at most {} blocks", kernel::MOST_BLOCKS));
        }
        Ok(Box::new(Pairs { name: parameters.to_owned(), blocks: blocks as u64 }))
    }
}

/// How many pairs.
#[derive(Debug, Clone)]
struct Pairs {
    /// A class, or the number of blocks.
    name: String,
    blocks: u64,
}

impl Problem for Pairs {
    fn parameters(&self) -> String {
        self.name.clone()
    }

    fn bytes(&self) -> u128 {
        size_of::<Tally>() as u128
    }

    fn prepare(&self, _seed: u64) -> Box<dyn Instance> {
        Box::new(Counting { blocks: self.blocks, tally: Tally::NONE, expected: self.expected() })
    }
}

impl Pairs {
    fn expected(&self) -> check::Expected {
        match check::CLASSES.iter().find(|class| class.name == self.name) {
            Some(class) => class.expected,
            None => check::textbook(self.blocks),
        }
    }
}

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

    fn serial(&mut self) {
        self.tally = serial::count(0..self.blocks);
    }

    fn locksley(&mut self, pool: &::locksley::Pool) {
        self.tally = pool.install(|worker| locksley::count(worker, 0..self.blocks));
    }

    fn rayon(&mut self, pool: &::rayon::ThreadPool) {
        self.tally = pool.install(|| rayon::count(0..self.blocks));
    }

    fn copy(&self) -> Box<dyn Instance> {
        Box::new(self.clone())
    }

    fn check(&self) -> Result<(), String> {
        check::verify(&self.tally, &self.expected)
    }
}
