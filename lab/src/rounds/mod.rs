//! The co-run unit: small parallel rounds, one after the other, for a given time.
//!
//! A round is `serial` leaves in a row and then `chunks` leaves in parallel; a leaf is a number of
//! steps of xorshift64. The same unit is measured on every runtime, so its rate says what a runtime
//! makes of the processors it is given.

pub mod busy;
mod intervals;
mod static_partition;

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::fault::{Fault, Outcome, right};
use crate::fork::{Fork, Rayon, reduce};
use crate::leaf;
use crate::runtimes::Crew;

/// The most steps of a round: about an hour of them.
const MOST_STEPS: u128 = 1 << 42;

/// What a round consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub struct Round {
    /// Steps of xorshift64 in a leaf
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub leaf: u64,
    /// Leaves in parallel, in each round
    #[arg(long, value_name = "C", default_value_t = 64)]
    pub chunks: u64,
    /// Leaves in a row before them, in each round
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub serial: u64,
}

/// Rounds that were completed, and the time that they took.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// Completed rounds, at least one.
    pub rounds: u64,
    /// From the first round's beginning to the last one's end.
    pub time: Duration,
}

impl Rate {
    /// Rounds in a second.
    pub fn per_second(&self) -> f64 {
        self.rounds as f64 / self.time.as_secs_f64()
    }
}

impl Round {
    /// Refuses a round without leaves, and one that no patience would outlast.
    pub fn validate(self) -> Outcome<Round> {
        let leaves = u128::from(self.chunks) + u128::from(self.serial);
        if leaves == 0 {
            return Err(Fault::input("a round needs leaves: --chunks and --serial are both 0"));
        }
        if leaves.saturating_mul(u128::from(self.leaf).max(1)) > MOST_STEPS {
            return Err(Fault::input(format!(
                "a round of {leaves} leaves of {} steps has more than {MOST_STEPS} steps",
                self.leaf
            )));
        }
        Ok(self)
    }

    /// Repeats the round on workers that have been started until `time` is over; a round that was
    /// begun is completed.
    pub fn repeat_on(self, crew: &Crew, time: Duration) -> Outcome<Rate> {
        let (sum, rate) = match crew {
            Crew::Serial => repeat(time, || self.in_a_row(self.leaves())),
            Crew::Intervals(pool) => intervals::repeat(self, pool, time),
            Crew::Static(team) => static_partition::repeat(self, team, time),
            Crew::Locksley(pool) => pool.install(|worker| repeat(time, || self.once(worker))),
            Crew::Classic(machine) => machine.run(|context| repeat(time, || self.once(context))),
            Crew::Rayon(pool) => pool.install(|| repeat(time, || self.once(&Rayon))),
        };
        self.checked(sum, rate)
    }

    /// One round, and the sum of its leaves: the chunks are halved by joins down to one leaf.
    fn once(self, fork: &impl Fork) -> u64 {
        let leaf = move |part: Range<u64>| self.in_a_row(part.end - part.start);
        let chunks = reduce(fork, 0..self.chunks, 1, leaf, u64::wrapping_add);
        self.in_a_row(self.serial).wrapping_add(chunks)
    }

    /// So many leaves in a row, and the sum of what they return.
    fn in_a_row(self, number: u64) -> u64 {
        (0..number).fold(0, |sum, _| sum.wrapping_add(leaf::run(self.leaf)))
    }

    /// What the leaves of so many rounds add up to.
    fn sum(self, rounds: u64) -> u64 {
        let leaves = u128::from(rounds) * (u128::from(self.chunks) + u128::from(self.serial));
        leaf::run(self.leaf).wrapping_mul(leaves as u64)
    }

    /// The leaves of a round, parallel ones or not.
    pub fn leaves(self) -> u64 {
        self.chunks + self.serial
    }

    /// `rate`, if the sum of its leaves is right.
    fn checked(self, sum: u64, rate: Rate) -> Outcome<Rate> {
        right(sum, self.sum(rate.rounds)).map(|()| rate)
    }
}

/// Does `round`, which returns the sum of its leaves, until `time` is over; at least once.
fn repeat(time: Duration, mut round: impl FnMut() -> u64) -> (u64, Rate) {
    let (start, mut sum, mut rounds) = (Instant::now(), 0u64, 0);
    loop {
        sum = sum.wrapping_add(round());
        rounds += 1;
        let passed = start.elapsed();
        if passed >= time {
            return (sum, Rate { rounds, time: passed });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::{self, Runtime};

    fn repeat(round: Round, runtime: &Runtime, workers: usize, millis: u64) -> Outcome<Rate> {
        round.repeat_on(&runtime.start(workers).unwrap(), Duration::from_millis(millis))
    }

    #[test]
    fn every_runtime_completes_its_rounds() {
        for (leaf, chunks, serial) in [(10, 64, 0), (10, 3, 2), (0, 1, 0), (5, 0, 3), (100, 17, 1)]
        {
            let round = Round { leaf, chunks, serial };
            for runtime in runtimes::ALL.iter() {
                for workers in [1, 3, 5] {
                    let rate = repeat(round, runtime, workers, 3).unwrap();
                    assert!(
                        rate.rounds > 0 && rate.per_second() > 0.0,
                        "{} {round:?}",
                        runtime.name
                    );
                }
            }
        }
    }

    #[test]
    fn a_round_of_more_chunks_than_a_root_has_is_several() {
        let runtime = runtimes::find("locksley-intervals").unwrap();
        for chunks in [(1 << 16) - 1, 1 << 16, (1 << 17) + 1] {
            let round = Round { leaf: 1, chunks, serial: 0 };
            assert!(repeat(round, runtime, 2, 0).is_ok(), "the sum is checked");
        }
    }

    #[test]
    fn rounds_that_cannot_be_are_refused() {
        assert!(Round { leaf: 5, chunks: 0, serial: 0 }.validate().is_err());
        assert!(Round { leaf: u64::MAX, chunks: u64::MAX, serial: u64::MAX }.validate().is_err());
        assert!(Round { leaf: 0, chunks: u64::MAX, serial: 1 }.validate().is_err());
        assert!(Round { leaf: 5000, chunks: 64, serial: 0 }.validate().is_ok());
    }
}
