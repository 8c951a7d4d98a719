//! Static partitioning: the blocks are dealt out once, in two dimensions round and round, as in the
//! lu of SPLASH-2 (Woo et al. 1995). For each block k on the diagonal its owner factors it;
//! barrier; the owners of the blocks right of it and below it solve for these; barrier; all update
//! their blocks below and to the right.
//!
//! A block belongs to its thread, which alone can write it, until it is final: then the thread
//! gives it up for all to read.

use std::sync::{Barrier, OnceLock};

use super::kernel;
use crate::apps::blocks::Block;
use crate::apps::blocks::layout::{index, place};
use crate::apps::blocks::product::multiply_subtract;
use crate::apps::prelude::*;

/// Blocks that are final, by their index.
type Final<'a> = [OnceLock<&'a Block>];

/// A block that is not final, and its row and column.
struct Owned<'a> {
    row: usize,
    column: usize,
    block: &'a mut Block,
}

/// Replaces `a` by its factors; says how long it took.
pub(super) fn factor(team: &Team, a: &mut [Block]) -> Duration {
    let blocks = a.len().isqrt();
    let is_final: Vec<OnceLock<&Block>> = (0..a.len()).map(|_| OnceLock::new()).collect();
    let (down, across) = grid(team.workers());
    let mut shares: Vec<Vec<Owned<'_>>> = (0..team.workers()).map(|_| Vec::new()).collect();
    for (at, block) in a.iter_mut().enumerate() {
        let (row, column) = place(at);
        shares[row % down * across + column % across].push(Owned { row, column, block });
    }
    team.run(shares, |_, share, barrier| steps(share, &is_final, blocks, barrier)).0
}

/// The most square grid of `workers`.
fn grid(workers: usize) -> (usize, usize) {
    let down = (1..=workers.isqrt()).rev().find(|down| workers.is_multiple_of(*down)).unwrap_or(1);
    (down, workers / down)
}

fn steps<'a>(mut mine: Vec<Owned<'a>>, is_final: &Final<'a>, blocks: usize, barrier: &Barrier) {
    let get = |row: usize, column: usize| -> &'a Block {
        is_final[index(row, column)].get().expect("it became final before the barrier")
    };
    let publish = |owned: Owned<'a>| {
        let is_first = is_final[index(owned.row, owned.column)].set(owned.block).is_ok();
        assert!(is_first, "a block has one owner");
    };
    for k in 0..blocks {
        for owned in mine.extract_if(.., |owned| owned.row == k && owned.column == k) {
            kernel::factor(owned.block);
            publish(owned);
        }
        barrier.wait();
        for owned in mine.extract_if(.., |owned| owned.row == k || owned.column == k) {
            if owned.row == k {
                kernel::solve_lower(owned.block, get(k, k));
            } else {
                kernel::solve_upper(owned.block, get(k, k));
            }
            publish(owned);
        }
        barrier.wait();
        for Owned { row, column, block } in &mut mine {
            multiply_subtract(block, get(*row, k), get(k, *column));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_as_square_as_they_can_be() {
        for (workers, expected) in
            [(1, (1, 1)), (2, (1, 2)), (7, (1, 7)), (12, (3, 4)), (36, (6, 6))]
        {
            assert_eq!(grid(workers), expected);
        }
    }
}
