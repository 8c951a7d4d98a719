//! The chunks are halved by joins on an explicit Locksley worker, down to one leaf.

use std::time::Duration;

use locksley::{Pool, Worker};

use super::{Clock, Rate, Round, leaf};

/// Tells how long each round took.
pub(super) fn repeat(
    round: Round,
    pool: &Pool,
    time: Duration,
    tell: impl FnMut(Duration) + Send,
) -> (u64, Rate) {
    pool.install(|worker| Clock::start(time).repeat_and_tell(|| once(round, worker), tell))
}

/// One round, and the sum of its leaves.
pub(super) fn once(round: Round, worker: &Worker) -> u64 {
    let serial = leaf::in_a_row(round, round.serial);
    serial.wrapping_add(chunks(worker, round, round.chunks))
}

fn chunks(worker: &Worker, round: Round, number: u64) -> u64 {
    if number <= 1 {
        return leaf::in_a_row(round, number);
    }
    let half = number / 2;
    let (left, right) = worker
        .join(|worker| chunks(worker, round, half), |worker| chunks(worker, round, number - half));
    left.wrapping_add(right)
}
