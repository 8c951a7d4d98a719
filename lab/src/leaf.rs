//! The leaf of rounds and busy loops: steps of xorshift64.

use std::hint::black_box;

/// One leaf. The compiler does not see that all leaves are equal, so it computes each.
#[inline(never)]
pub fn run(steps: u64) -> u64 {
    let steps = black_box(steps);
    let mut x = steps | 1;
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}
