//! Each round is an interval, and each chunk one inside of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use locksley::Pool;
use locksley_intervals::Root;

use super::{Rate, Round};

/// The most chunks of one root: their memory comes back when all of them have ended. A round that
/// has more is several intervals.
const MOST: u64 = 1 << 16;

pub(super) fn repeat(round: Round, pool: &Pool, time: Duration) -> (u64, Rate) {
    pool.install(|_| {
        super::repeat(time, || {
            let sum = AtomicU64::new(round.in_a_row(round.serial));
            let add = |leaf| _ = sum.fetch_add(leaf, Ordering::Relaxed);
            let mut left = round.chunks;
            while left > 0 {
                let chunks = left.min(MOST);
                let ended = Root::new("round").run(|root| {
                    for _ in 0..chunks {
                        root.interval("chunk").spawn(|_| add(round.in_a_row(1)));
                    }
                });
                ended.expect("it is not cancelled");
                left -= chunks;
            }
            sum.into_inner()
        })
    })
}
