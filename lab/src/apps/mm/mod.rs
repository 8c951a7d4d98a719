//! `mm(n)`: C = A·B for dense n by n matrices of doubles, in blocks of 16 by 16: divide and conquer
//! on the quarters of C.

mod check;
mod static_partition;

use std::time::Duration;

use super::blocks::product::{self, Extent, multiply_add};
use super::blocks::{self, Block};
use super::{App, Instance, Problem, size};
use crate::random::Random;
use crate::team::Team;

/// The application.
pub static APP: App = App {
    name: "mm",
    about: "the product of dense N by N matrices in 16 by 16 blocks; N is a multiple of 16",
    syntax: "N",
    paper_size: "1024",
    bws_size: Some("1600"),
    quick_size: "512",
    has_static: true,
    problem: |parameters| {
        let blocks = blocks::blocks_along(parameters)?;
        let side = blocks.checked_next_power_of_two().ok_or("N is too large")?;
        let bytes = size::product(&[3, side, side, size_of::<Block>()]);
        Ok(Problem::new(bytes, move |seed| {
            let mut random = Random::new(seed);
            let [a, b] = [(); 2].map(|()| blocks::random(blocks, &mut random));
            let c = vec![Block::ZERO; a.len()];
            Product { a, b, c, blocks, seed }
        }))
    },
    ..App::BLANK
};

#[derive(Clone)]
struct Product {
    a: Vec<Block>,
    b: Vec<Block>,
    c: Vec<Block>,
    /// Those along a side that are no padding.
    blocks: usize,
    seed: u64,
}

impl Instance for Product {
    fn reset(&mut self) {
        self.c.fill(Block::ZERO);
    }

    fork_join!(self, fork => {
        let extent = Extent::square(self.blocks);
        product::combine(fork, &mut self.c, &self.a, &self.b, extent, multiply_add);
    });

    fn static_partition(&mut self, team: &Team) -> Option<Duration> {
        Some(static_partition::multiply(team, &mut self.c, [&self.a, &self.b], self.blocks))
    }

    fn check(&self) -> Result<(), String> {
        check::residual(&self.a, &self.b, &self.c, self.seed)
    }
}
