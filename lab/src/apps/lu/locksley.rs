//! Fork-join on an explicit Locksley worker: whatever quarters do not wait for one another, in parallel.

use locksley::Worker;

use super::serial;
use crate::apps::blocks::Block;
use crate::apps::blocks::layout::{quarters, quarters_mut};
use crate::apps::blocks::product::LEAF_BLOCKS;

/// Replaces `a` by its factors.
pub(super) fn factor(worker: &Worker, a: &mut [Block]) {
    if a.len() <= LEAF_BLOCKS {
        return serial::factor(a);
    }
    let [a00, a01, a10, a11] = quarters_mut(a);
    factor(worker, a00);
    let factors = &*a00;
    worker.join(
        |worker| solve_lower(worker, a01, factors),
        |worker| solve_upper(worker, a10, factors),
    );
    subtract_product(worker, a11, a10, a01);
    factor(worker, a11);
}

/// Replaces `a` by the solution of L·x = a, where L is the lower of the factors in `lu`.
fn solve_lower(worker: &Worker, a: &mut [Block], lu: &[Block]) {
    if a.len() <= LEAF_BLOCKS {
        return serial::solve_lower(a, lu);
    }
    let [a00, a01, a10, a11] = quarters_mut(a);
    let [lu00, _, lu10, lu11] = quarters(lu);
    let half = |worker: &Worker, upper: &mut [Block], lower: &mut [Block]| {
        solve_lower(worker, upper, lu00);
        subtract_product(worker, lower, lu10, upper);
        solve_lower(worker, lower, lu11);
    };
    worker.join(|worker| half(worker, a00, a10), |worker| half(worker, a01, a11));
}

/// Replaces `a` by the solution of x·U = a, where U is the upper of the factors in `lu`.
fn solve_upper(worker: &Worker, a: &mut [Block], lu: &[Block]) {
    if a.len() <= LEAF_BLOCKS {
        return serial::solve_upper(a, lu);
    }
    let [a00, a01, a10, a11] = quarters_mut(a);
    let [lu00, lu01, _, lu11] = quarters(lu);
    let half = |worker: &Worker, left: &mut [Block], right: &mut [Block]| {
        solve_upper(worker, left, lu00);
        subtract_product(worker, right, left, lu01);
        solve_upper(worker, right, lu11);
    };
    worker.join(|worker| half(worker, a00, a01), |worker| half(worker, a10, a11));
}

/// c −= a·b: the quarters of c in parallel, the two products of each in series.
fn subtract_product(worker: &Worker, c: &mut [Block], a: &[Block], b: &[Block]) {
    if c.len() <= LEAF_BLOCKS {
        return serial::subtract_product(c, a, b);
    }
    let [c00, c01, c10, c11] = quarters_mut(c);
    let [a00, a01, a10, a11] = quarters(a);
    let [b00, b01, b10, b11] = quarters(b);
    let quarter =
        |worker: &Worker, c: &mut [Block], first: [&[Block]; 2], second: [&[Block]; 2]| {
            subtract_product(worker, c, first[0], first[1]);
            subtract_product(worker, c, second[0], second[1]);
        };
    worker.join(
        |worker| {
            worker.join(
                |worker| quarter(worker, c00, [a00, b00], [a01, b10]),
                |worker| quarter(worker, c01, [a01, b11], [a00, b01]),
            )
        },
        |worker| {
            worker.join(
                |worker| quarter(worker, c11, [a10, b01], [a11, b11]),
                |worker| quarter(worker, c10, [a11, b10], [a10, b00]),
            )
        },
    );
}
