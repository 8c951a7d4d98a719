//! The chunks are halved by `rayon::join`, down to one leaf.

use std::time::Duration;

use rayon::ThreadPool;

use super::{Clock, Rate, Round, leaf};

/// Tells how long each round took.
pub(super) fn repeat(
    round: Round,
    pool: &ThreadPool,
    time: Duration,
    tell: impl FnMut(Duration) + Send,
) -> (u64, Rate) {
    pool.install(|| {
        let once = || {
            let serial = leaf::in_a_row(round, round.serial);
            serial.wrapping_add(chunks(round, round.chunks))
        };
        Clock::start(time).repeat_and_tell(once, tell)
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
