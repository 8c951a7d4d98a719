//! `mm(n)`: C = A·B for dense n by n matrices of doubles, in blocks of 16 by 16: divide and conquer on the
//! quarters of C.

mod check;
mod locksley;
mod rayon;
mod serial;
mod static_partition;

use std::time::Duration;

use super::blocks::{self, Block, SIDE};
use super::{App, Instance, Problem, size};
use crate::random::Random;
use crate::runtimes::Team;

/// The application.
pub struct Mm;

impl App for Mm {
    fn name(&self) -> &'static str {
        "mm"
    }

    fn about(&self) -> &'static str {
        "the product of two dense N by N matrices in 16 by 16 blocks; N is 16 times a power of two"
    }

    fn syntax(&self) -> &'static str {
        "N"
    }

    fn paper_size(&self) -> &'static str {
        "1024"
    }

    fn quick_size(&self) -> &'static str {
        "512"
    }

    fn has_static(&self) -> bool {
        true
    }

    fn problem(&self, parameters: &str) -> Result<Box<dyn Problem>, String> {
        Ok(Box::new(Square { blocks: blocks::blocks_along(parameters)? }))
    }
}

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
        serial::multiply(&mut self.c, &self.a, &self.b);
    }

    fn locksley(&mut self, pool: &::locksley::Pool) {
        pool.install(|worker| locksley::multiply(worker, &mut self.c, &self.a, &self.b));
    }

    fn rayon(&mut self, pool: &::rayon::ThreadPool) {
        pool.install(|| rayon::multiply(&mut self.c, &self.a, &self.b));
    }

    fn static_partition(&mut self, team: &Team) -> Option<Duration> {
        Some(static_partition::multiply(team, &mut self.c, &self.a, &self.b))
    }

    fn copy(&self) -> Box<dyn Instance> {
        Box::new(self.clone())
    }

    fn check(&self) -> Result<(), String> {
        check::residual(&self.a, &self.b, &self.c, self.seed)
    }
}
