//! The serial program: the same divide and conquer, down to one block, so that every level of cache has its size of it.

use crate::apps::blocks::Block;
use crate::apps::blocks::layout::{quarters, quarters_mut};
use crate::apps::blocks::product::multiply_add;

/// c += a·b.
pub(super) fn multiply(c: &mut [Block], a: &[Block], b: &[Block]) {
    if let ([c], [a], [b]) = (&mut *c, a, b) {
        return multiply_add(c, a, b);
    }
    let [c00, c01, c10, c11] = quarters_mut(c);
    let [a00, a01, a10, a11] = quarters(a);
    let [b00, b01, b10, b11] = quarters(b);
    multiply(c00, a00, b00);
    multiply(c00, a01, b10);
    multiply(c01, a01, b11);
    multiply(c01, a00, b01);
    multiply(c11, a10, b01);
    multiply(c11, a11, b11);
    multiply(c10, a11, b10);
    multiply(c10, a10, b00);
}
