//! Each thread takes an equal share of the chunks; a barrier ends the round.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{Rate, Round};
use crate::team::Team;

pub(super) fn repeat(round: Round, team: &Team, time: Duration) -> (u64, Rate) {
    let total = AtomicU64::new(0);
    let rounds = Rounds { last: AtomicU64::new(u64::MAX), time };
    let taken = team.run(vec![(); team.workers()], |rank, (), barrier| {
        let share = team.share(round.chunks as usize, rank).len() as u64;
        let sum = rounds.repeat(rank, barrier, || {
            if round.serial == 0 {
                return round.in_a_row(share);
            }
            let serial = if rank == 0 { round.in_a_row(round.serial) } else { 0 };
            barrier.wait();
            serial.wrapping_add(round.in_a_row(share))
        });
        total.fetch_add(sum, Ordering::Relaxed);
    });
    let rate = Rate { rounds: rounds.last.into_inner(), time: taken };
    (total.into_inner(), rate)
}

/// How the threads agree on the last round: thread 0 names its number, before the barrier that ends
/// it. The others read it after that barrier, and may do so late, when thread 0 is a round ahead: a
/// number, unlike a flag, tells them then that it is not their turn yet.
struct Rounds {
    last: AtomicU64,
    time: Duration,
}

impl Rounds {
    fn repeat(&self, rank: usize, barrier: &Barrier, mut share: impl FnMut() -> u64) -> u64 {
        let start = Instant::now();
        let (mut sum, mut rounds) = (0u64, 0);
        loop {
            sum = sum.wrapping_add(share());
            rounds += 1;
            if rank == 0 && start.elapsed() >= self.time {
                self.last.store(rounds, Ordering::Relaxed);
            }
            // The barrier also orders the store before the loads.
            barrier.wait();
            if rounds >= self.last.load(Ordering::Relaxed) {
                return sum;
            }
        }
    }
}
