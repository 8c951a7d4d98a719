//! Fork-join on an explicit Locksley worker: the quarters of C in parallel, the two products of each in series.

use locksley::Worker;

use super::serial;
use crate::apps::blocks::Block;
use crate::apps::blocks::layout::{quarters, quarters_mut};
use crate::apps::blocks::product::LEAF_BLOCKS;

/// c += a·b.
pub(super) fn multiply(worker: &Worker, c: &mut [Block], a: &[Block], b: &[Block]) {
    if c.len() <= LEAF_BLOCKS {
        return serial::multiply(c, a, b);
    }
    let [c00, c01, c10, c11] = quarters_mut(c);
    let [a00, a01, a10, a11] = quarters(a);
    let [b00, b01, b10, b11] = quarters(b);
    let quarter =
        |worker: &Worker, c: &mut [Block], first: [&[Block]; 2], second: [&[Block]; 2]| {
            multiply(worker, c, first[0], first[1]);
            multiply(worker, c, second[0], second[1]);
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
