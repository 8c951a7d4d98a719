//! Fork-join with rayon: whatever quarters do not wait for one another, in parallel.

use super::serial;
use crate::apps::blocks::Block;
use crate::apps::blocks::layout::{quarters, quarters_mut};
use crate::apps::blocks::product::LEAF_BLOCKS;

/// Replaces `a` by its factors.
pub(super) fn factor(a: &mut [Block]) {
    if a.len() <= LEAF_BLOCKS {
        return serial::factor(a);
    }
    let [a00, a01, a10, a11] = quarters_mut(a);
    factor(a00);
    let factors = &*a00;
    rayon::join(|| solve_lower(a01, factors), || solve_upper(a10, factors));
    subtract_product(a11, a10, a01);
    factor(a11);
}

/// Replaces `a` by the solution of L·x = a, where L is the lower of the factors in `lu`.
fn solve_lower(a: &mut [Block], lu: &[Block]) {
    if a.len() <= LEAF_BLOCKS {
        return serial::solve_lower(a, lu);
    }
    let [a00, a01, a10, a11] = quarters_mut(a);
    let [lu00, _, lu10, lu11] = quarters(lu);
    let half = |upper: &mut [Block], lower: &mut [Block]| {
        solve_lower(upper, lu00);
        subtract_product(lower, lu10, upper);
        solve_lower(lower, lu11);
    };
    rayon::join(|| half(a00, a10), || half(a01, a11));
}

/// Replaces `a` by the solution of x·U = a, where U is the upper of the factors in `lu`.
fn solve_upper(a: &mut [Block], lu: &[Block]) {
    if a.len() <= LEAF_BLOCKS {
        return serial::solve_upper(a, lu);
    }
    let [a00, a01, a10, a11] = quarters_mut(a);
    let [lu00, lu01, _, lu11] = quarters(lu);
    let half = |left: &mut [Block], right: &mut [Block]| {
        solve_upper(left, lu00);
        subtract_product(right, left, lu01);
        solve_upper(right, lu11);
    };
    rayon::join(|| half(a00, a01), || half(a10, a11));
}

/// c −= a·b: the quarters of c in parallel, the two products of each in series.
fn subtract_product(c: &mut [Block], a: &[Block], b: &[Block]) {
    if c.len() <= LEAF_BLOCKS {
        return serial::subtract_product(c, a, b);
    }
    let [c00, c01, c10, c11] = quarters_mut(c);
    let [a00, a01, a10, a11] = quarters(a);
    let [b00, b01, b10, b11] = quarters(b);
    let quarter = |c: &mut [Block], first: [&[Block]; 2], second: [&[Block]; 2]| {
        subtract_product(c, first[0], first[1]);
        subtract_product(c, second[0], second[1]);
    };
    rayon::join(
        || {
            rayon::join(
                || quarter(c00, [a00, b00], [a01, b10]),
                || quarter(c01, [a01, b11], [a00, b01]),
            )
        },
        || {
            rayon::join(
                || quarter(c11, [a10, b01], [a11, b11]),
                || quarter(c10, [a11, b10], [a10, b00]),
            )
        },
    );
}
