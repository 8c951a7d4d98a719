//! `lu(n)`: the factors L and U of a dense n by n matrix A of doubles, without pivoting, in blocks
//! of 16 by 16. L, with a diagonal of ones, and U take the place of A. Most of the work is in
//! products of blocks, but unlike in `mm` these wait for one another: with quarters named by row
//! and column,
//!
//! ```text
//!     A00 = L00·U00          factored first
//!     A01 = L00·U01          solved for U01 ┐ these two
//!     A10 = L10·U00          solved for L10 ┘ in parallel
//!     A11 − L10·U01          updated, then factored
//! ```

mod check;
mod fork_join;
mod intervals;
mod kernel;
mod static_partition;

use locksley_intervals::Root;

use super::blocks::{self, Block, SIDE, layout};
use crate::apps::prelude::*;

/// The application.
pub static APP: App = App {
    name: "lu",
    about: "LU factors of a dense N by N matrix in 16 by 16 blocks, no pivoting; N is 16 times \
        a power of two",
    syntax: "N",
    paper_size: "2048",
    bws_size: None,
    quick_size: "512",
    has_static: true,
    has_intervals: true,
    problem: |parameters| {
        let blocks = blocks::blocks_along(parameters)?;
        if !blocks.is_power_of_two() {
            return Err("N must be 16 times a power of two, such as 1024".to_owned());
        }
        // The matrix, and its factors in a copy.
        let bytes = size::product(&[2, blocks, blocks, size_of::<Block>()]);
        Ok(Problem::new(bytes, move |seed| {
            let matrix = dominant(blocks, seed);
            Factoring { factors: matrix.clone(), matrix, seed }
        }))
    },
};

/// A random matrix with a diagonal that outweighs the rest of each row: it has factors without
/// pivoting, and rounding does not grow in them.
fn dominant(blocks: usize, seed: u64) -> Vec<Block> {
    let mut matrix = blocks::random(blocks, &mut Random::new(seed));
    for along in 0..blocks {
        let block = &mut matrix[layout::index(along, along)];
        for i in 0..SIDE {
            block.0[i * SIDE + i] += (blocks * SIDE) as f64;
        }
    }
    matrix
}

#[derive(Clone)]
struct Factoring {
    matrix: Vec<Block>,
    factors: Vec<Block>,
    seed: u64,
}

impl Instance for Factoring {
    fn reset(&mut self) {
        self.factors.copy_from_slice(&self.matrix);
    }

    fn intervals(&mut self, pool: &::locksley::Pool) -> Option<()> {
        intervals::factor(intervals::MOST, || Root::new("lu").on(pool), &mut self.factors);
        Some(())
    }

    fork_join!(self, fork => fork_join::factor(fork, &mut self.factors));

    fn static_partition(&mut self, team: &Team) -> Option<Duration> {
        Some(static_partition::factor(team, &mut self.factors))
    }

    fn check(&self) -> Result<(), String> {
        check::residual(&self.matrix, &self.factors, self.seed)
    }
}
