//! Fork-join of either library: whatever quarters do not wait for one another, in parallel. Serial:
//! the same divide and conquer, down to one block, so that every level of cache has its size of it.

use super::kernel;
use crate::apps::blocks::Block;
use crate::apps::blocks::layout::{quarters, quarters_mut};
use crate::apps::blocks::product::{self, Extent, LEAF_BLOCKS, multiply_subtract};
use crate::fork::{Fork, Serial};

/// Replaces `a` by its factors.
pub(super) fn factor<F: Fork>(fork: &F, a: &mut [Block]) {
    if let [a] = a {
        return kernel::factor(a);
    }
    if F::IS_PARALLEL && a.len() <= LEAF_BLOCKS {
        return factor(&Serial, a);
    }
    let [a00, a01, a10, a11] = quarters_mut(a);
    factor(fork, a00);
    let factors = &*a00;
    fork.join(|fork| solve_lower(fork, a01, factors), |fork| solve_upper(fork, a10, factors));
    subtract_product(fork, a11, a10, a01);
    factor(fork, a11);
}

/// Replaces `a` by the solution of L·x = a, where L is the lower of the factors in `lu`.
pub(super) fn solve_lower<F: Fork>(fork: &F, a: &mut [Block], lu: &[Block]) {
    if let ([a], [lu]) = (&mut *a, lu) {
        return kernel::solve_lower(a, lu);
    }
    if F::IS_PARALLEL && a.len() <= LEAF_BLOCKS {
        return solve_lower(&Serial, a, lu);
    }
    let [a00, a01, a10, a11] = quarters_mut(a);
    let [lu00, _, lu10, lu11] = quarters(lu);
    let half = |fork: &F, upper: &mut [Block], lower: &mut [Block]| {
        solve_lower(fork, upper, lu00);
        subtract_product(fork, lower, lu10, upper);
        solve_lower(fork, lower, lu11);
    };
    fork.join(|fork| half(fork, a00, a10), |fork| half(fork, a01, a11));
}

/// Replaces `a` by the solution of x·U = a, where U is the upper of the factors in `lu`.
pub(super) fn solve_upper<F: Fork>(fork: &F, a: &mut [Block], lu: &[Block]) {
    if let ([a], [lu]) = (&mut *a, lu) {
        return kernel::solve_upper(a, lu);
    }
    if F::IS_PARALLEL && a.len() <= LEAF_BLOCKS {
        return solve_upper(&Serial, a, lu);
    }
    let [a00, a01, a10, a11] = quarters_mut(a);
    let [lu00, lu01, _, lu11] = quarters(lu);
    let half = |fork: &F, left: &mut [Block], right: &mut [Block]| {
        solve_upper(fork, left, lu00);
        subtract_product(fork, right, left, lu01);
        solve_upper(fork, right, lu11);
    };
    fork.join(|fork| half(fork, a00, a01), |fork| half(fork, a10, a11));
}

/// c −= a·b.
pub(super) fn subtract_product(fork: &impl Fork, c: &mut [Block], a: &[Block], b: &[Block]) {
    let extent = Extent::square(c.len().isqrt());
    product::combine(fork, c, a, b, extent, multiply_subtract);
}
