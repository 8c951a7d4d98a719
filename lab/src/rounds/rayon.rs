//! The chunks are halved by `rayon::join`, down to one leaf.

use std::time::Duration;

use rayon::ThreadPool;

use super::{Clock, Rate, Round, leaf};

pub(super) fn repeat(round: Round, pool: &ThreadPool, time: Duration) -> (u64, Rate) {
    pool.install(|| {
        Clock::start(time).repeat(|| {
            let serial = leaf::in_a_row(round, round.serial);
            serial.wrapping_add(chunks(round, round.chunks))
        })
    })
}

fn chunks(round: Round, number: u64) -> u64 {
    if number <= 1 {
        return leaf::in_a_row(round, number);
    }
    let half = number / 2;
    let (left, right) = rayon::join(|| chunks(round, half), || chunks(round, number - half));
    left.wrapping_add(right)
}
