//! The deviates of a block, by Marsaglia's polar method, as the benchmark has it.

use std::ops::Range;

use crate::apps::nas::Sequence;
use crate::fork::{Fork, reduce};

/// Where the sequence begins.
pub(super) const SEED: u64 = 271_828_183;

/// Pairs of a block: about a millisecond.
pub(super) const BLOCK_PAIRS: u64 = 1 << 16;

/// The sequence repeats itself after 2^44 numbers.
pub(super) const MOST_BLOCKS: u64 = (1 << 44) / (2 * BLOCK_PAIRS);

/// The square rings around the origin in which deviates are counted: ring n holds those of which
/// the larger one is between n and n + 1.
pub(super) const RINGS: usize = 10;

/// What is made of the deviates of some pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tally {
    /// The sums of both deviates of each pair.
    pub(super) sums: [f64; 2],
    pub(super) rings: [u64; RINGS],
}

impl Tally {
    /// That of no pairs.
    pub(super) const NONE: Tally = Tally { sums: [0.0; 2], rings: [0; RINGS] };

    /// That of these pairs and others.
    pub(super) fn plus(&self, other: &Tally) -> Tally {
        Tally {
            sums: std::array::from_fn(|n| self.sums[n] + other.sums[n]),
            rings: std::array::from_fn(|n| self.rings[n] + other.rings[n]),
        }
    }

    /// Counts the deviates that two numbers in `0.0..1.0` give, if they do.
    #[inline]
    pub(super) fn count(&mut self, numbers: [f64; 2]) {
        let [x, y] = numbers.map(|number| 2.0 * number - 1.0);
        let square = x * x + y * y;
        if square <= 1.0 {
            let factor = (-2.0 * square.ln() / square).sqrt();
            let (x, y) = (x * factor, y * factor);
            self.sums[0] += x;
            self.sums[1] += y;
            // The outermost ring has no outer end.
            let ring = x.abs().max(y.abs()) as usize;
            self.rings[ring.min(RINGS - 1)] += 1;
        }
    }
}

/// The tally of a block. Never inlined, so that all versions execute the same code.
#[inline(never)]
fn count_block(block: u64) -> Tally {
    let mut sequence = Sequence::new(SEED).after(2 * BLOCK_PAIRS * block);
    let mut tally = Tally::NONE;
    for _ in 0..BLOCK_PAIRS {
        tally.count([sequence.next(), sequence.next()]);
    }
    tally
}

/// The tally of the blocks: they are halved down to one.
pub(super) fn count(fork: &impl Fork, blocks: Range<u64>) -> Tally {
    let add = |tally: Tally, block| tally.plus(&count_block(block));
    let leaf = |blocks: Range<u64>| blocks.fold(Tally::NONE, add);
    reduce(fork, blocks, 1, leaf, |one, other| one.plus(&other))
}
