//! The interactive neighbour: a process that sleeps, wakes to do a little, and sleeps again, like
//! an editor or a server with little to do. It measures how late it woke and how long the work
//! took.

use std::hint::black_box;
use std::time::Duration;

use crate::clock;
use crate::leaf;
use crate::random::Random;

/// How it sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Naps {
    /// From one deadline to the next, on average, in microseconds.
    pub(super) period: u64,
    /// A deadline comes up to so much earlier or later, in microseconds: less than half of the
    /// period.
    pub(super) jitter: u64,
    /// What is done after waking: steps of xorshift64.
    pub(super) steps: u64,
}

/// What it measured, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Notes {
    /// How late it woke, each time.
    pub(super) late: Vec<u64>,
    /// How long the work took then.
    pub(super) work: Vec<u64>,
}

/// Wake-ups before the first one that is measured: the process's pages come in.
const WARM_UP: usize = 10;

/// Sleeps and wakes as often as `time` has periods, at least once, after the warm-up.
///
/// All deadlines are fixed at the start. A sleeper that is so late that the next one has passed
/// does not sleep and is late again, like a program for which events queue up.
pub(super) fn sleep_and_wake(naps: Naps, seed: u64, time: Duration) -> Notes {
    let mut random = Random::new(seed);
    let mut notes = Notes::default();
    let start = clock::now();
    let number = (time.as_micros() as usize / naps.period as usize).max(1);
    for nap in 1..=WARM_UP + number {
        let deadline = start + deadline(naps, nap as u64, &mut random);
        clock::sleep_until(deadline);
        let woke = clock::now();
        black_box(leaf::run(naps.steps));
        let done = clock::now();
        if nap > WARM_UP {
            notes.late.push(woke.saturating_sub(deadline));
            notes.work.push(done - woke);
        }
    }
    notes
}

/// The deadline of a nap, from 1, in nanoseconds from the start.
fn deadline(naps: Naps, nap: u64, random: &mut Random) -> u64 {
    let jitter = random.next_signed() * naps.jitter as f64;
    ((nap as f64 * naps.period as f64 + jitter) * 1e3) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wake_up_is_noted() {
        let naps = Naps { period: 500, jitter: 200, steps: 10 };
        let notes = sleep_and_wake(naps, 1, Duration::from_millis(20));
        assert_eq!(notes.late.len(), 40, "{notes:?}");
        assert_eq!(notes.late.len(), notes.work.len());
        assert!(notes.work.iter().all(|&time| time > 0));
    }

    #[test]
    fn deadlines_follow_from_the_seed_and_stay_in_order() {
        let naps = Naps { period: 1000, jitter: 400, steps: 0 };
        let deadlines = |seed| {
            let mut random = Random::new(seed);
            (1..100).map(|nap| deadline(naps, nap, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(deadlines(7), deadlines(7));
        assert_ne!(deadlines(7), deadlines(8));
        assert!(deadlines(7).is_sorted());
    }
}
