//! `mm(n)`: C = A·B for dense n by n matrices of doubles, in blocks of 16 by 16: divide and conquer
//! on the quarters of C.

mod check;
mod static_partition;

use std::time::Duration;

use super::blocks::product::{self, multiply_add};
use super::blocks::{self, Block, SIDE};
use super::fork::fork_join;
use super::{App, Instance, Problem, size};
use crate::random::Random;
use crate::runtimes::Team;

/// The application.
pub static APP: App = App {
    name: "mm",
    about: "the product of two dense N by N matrices in 16 by 16 blocks; N is 16 times a power of two",
    syntax: "N",
    paper_size: "1024",
    quick_size: "512",
    has_static: true,
    problem: |parameters| Ok(Box::new(Square { blocks: blocks::blocks_along(parameters)? })),
    ..App::BLANK
};

/// A square of blocks, this many each way.
#[derive(Debug, Clone, Copy)]
struct Square {
    blocks: usize,
}

impl Problem for Square {
    fn parameters(&self) -> String {
        (self.blocks * SIDE).to_string()
    }

    fn bytes(&self) -> u128 {
        size::product(&[3, self.blocks, self.blocks, size_of::<Block>()])
    }

    fn prepare(&self, seed: u64) -> Box<dyn Instance> {
        let mut random = Random::new(seed);
        let mut fill = || -> Vec<Block> {
            (0..self.blocks * self.blocks)
                .map(|_| Block(std::array::from_fn(|_| random.next_signed())))
                .collect()
        };
        let (a, b) = (fill(), fill());
        let c = vec![Block::ZERO; a.len()];
        Box::new(Product { a, b, c, seed })
    }
}

#[derive(Clone)]
struct Product {
    a: Vec<Block>,
    b: Vec<Block>,
    c: Vec<Block>,
    seed: u64,
}

impl Instance for Product {
    fn reset(&mut self) {
        self.c.fill(Block::ZERO);
    }

    fn serial(&mut self) {
        product::in_series(&mut self.c, &self.a, &self.b, multiply_add);
    }

    fork_join!(self, fork => {
        product::in_parallel(fork, &mut self.c, &self.a, &self.b, multiply_add);
    });

    fn static_partition(&mut self, team: &Team) -> Option<Duration> {
        Some(static_partition::multiply(team, &mut self.c, &self.a, &self.b))
    }

    fn check(&self) -> Result<(), String> {
        check::residual(&self.a, &self.b, &self.c, self.seed)
    }
}
