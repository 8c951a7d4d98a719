//! The serial program: the same divide and conquer, down to one block, so that every level of cache
//! has its size of it.

use super::kernel;
use crate::apps::blocks::Block;
use crate::apps::blocks::layout::{quarters, quarters_mut};
use crate::apps::blocks::product::{self, Extent, multiply_subtract};

/// Replaces `a` by its factors.
pub(super) fn factor(a: &mut [Block]) {
    if let [a] = a {
        return kernel::factor(a);
    }
    let [a00, a01, a10, a11] = quarters_mut(a);
    factor(a00);
    solve_lower(a01, a00);
    solve_upper(a10, a00);
    subtract_product(a11, a10, a01);
    factor(a11);
}

/// Replaces `a` by the solution of L·x = a, where L is the lower of the factors in `lu`.
pub(super) fn solve_lower(a: &mut [Block], lu: &[Block]) {
    if let ([a], [lu]) = (&mut *a, lu) {
        return kernel::solve_lower(a, lu);
    }
    let [a00, a01, a10, a11] = quarters_mut(a);
    let [lu00, _, lu10, lu11] = quarters(lu);
    for (upper, lower) in [(a00, a10), (a01, a11)] {
        solve_lower(upper, lu00);
        subtract_product(lower, lu10, upper);
        solve_lower(lower, lu11);
    }
}

/// Replaces `a` by the solution of x·U = a, where U is the upper of the factors in `lu`.
pub(super) fn solve_upper(a: &mut [Block], lu: &[Block]) {
    if let ([a], [lu]) = (&mut *a, lu) {
        return kernel::solve_upper(a, lu);
    }
    let [a00, a01, a10, a11] = quarters_mut(a);
    let [lu00, lu01, _, lu11] = quarters(lu);
    for (left, right) in [(a00, a01), (a10, a11)] {
        solve_upper(left, lu00);
        subtract_product(right, left, lu01);
        solve_upper(right, lu11);
    }
}

/// c −= a·b.
pub(super) fn subtract_product(c: &mut [Block], a: &[Block], b: &[Block]) {
    product::in_series(c, a, b, Extent::square(c.len().isqrt()), multiply_subtract);
}
