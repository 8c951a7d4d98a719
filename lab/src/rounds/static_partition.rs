//! Each thread takes an equal share of the chunks; a barrier ends the round.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{Rate, Round};
use locksley_classic::static_partition::Team;

/// Thread 0 names the number of the last round, before the barrier that ends it. The others read it
/// after that barrier, and may do so late, when thread 0 is a round ahead: a number, unlike a flag,
/// tells them then that it is not their turn yet.
pub(super) fn repeat(round: Round, team: &Team, time: Duration) -> (u64, Rate) {
    let last = AtomicU64::new(u64::MAX);
    let (taken, sums) = team.run(vec![(); team.workers()], |rank, (), barrier| {
        let share = team.share(round.chunks as usize, rank).len() as u64;
        let (start, mut sum) = (Instant::now(), 0u64);
        for number in 1.. {
            if round.serial > 0 {
                let serial = if rank == 0 { round.in_a_row(round.serial) } else { 0 };
                sum = sum.wrapping_add(serial);
                barrier.wait();
            }
            sum = sum.wrapping_add(round.in_a_row(share));
            if rank == 0 && start.elapsed() >= time {
                last.store(number, Ordering::Relaxed);
            }
            // The barrier also orders the store before the loads.
            barrier.wait();
            if number >= last.load(Ordering::Relaxed) {
                break;
            }
        }
        sum
    });
    (sums.into_iter().fold(0, u64::wrapping_add), Rate { rounds: last.into_inner(), time: taken })
}
