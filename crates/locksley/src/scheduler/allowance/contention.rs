//! Whether a pool's workers wait for processors that other programs have.

use std::time::Duration;

/// How many workers' waits are sampled: the first ones, which are woken first. Each costs a file.
pub(super) const SAMPLED_WORKERS: usize = 4;

/// Workers wait much if the sum of their waits is at least this fraction of the time: 1 of `PARTS`.
///
/// On an idle machine, threads that sleep and wake up also wait, up to a quarter of the time in
/// most programs. Beside a thread that never sleeps, each of two workers waits for at least a
/// quarter.
const PARTS: u32 = 3;

/// Other programs have processors if the process has used less than this percentage of those that
/// it may use. Otherwise its own threads wait for each other.
const FULL_USE: u32 = 85;

/// Compares samples. The process's clock may be late by some milliseconds for each processor.
#[derive(Debug, Default)]
pub(super) struct Contention {
    last: Option<Sample>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) at: Duration,
    /// For how long the sampled workers have waited for processors, in total.
    pub(super) waited: Duration,
    /// The processor time of the process.
    pub(super) used: Duration,
}

impl Contention {
    /// True if workers have waited much since the last sample, and the process did not use all its
    /// processors. False if the system does not report these times.
    pub(super) fn update(&mut self, now: Option<Sample>, processors: usize) -> bool {
        let last = std::mem::replace(&mut self.last, now);
        last.zip(now).is_some_and(|(last, now)| {
            let time = now.at.saturating_sub(last.at);
            let (waited, used) =
                (now.waited.saturating_sub(last.waited), now.used.saturating_sub(last.used));
            let all = time.saturating_mul(u32::try_from(processors).unwrap_or(u32::MAX));
            !time.is_zero()
                && waited.saturating_mul(PARTS) >= time
                && used.saturating_mul(100) < all.saturating_mul(FULL_USE)
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn contention_is_seen_by_the_waits_and_the_usage_since_the_last_sample() {
        let ms = Duration::from_millis;
        let sample =
            |at, waited, used| Some(Sample { at: ms(at), waited: ms(waited), used: ms(used) });
        let mut contention = Contention::default();
        assert!(!contention.update(sample(100, 5000, 0), 2), "no sample before");
        assert!(!contention.update(sample(200, 5033, 100), 2));
        assert!(contention.update(sample(300, 5067, 200), 2));
        assert!(contention.update(sample(400, 5400, 369), 2));
        assert!(!contention.update(sample(500, 5500, 539), 2), "the process had all processors");
        assert!(contention.update(sample(600, 5600, 709), 3), "there was another processor");
        assert!(!contention.update(sample(600, 5700, 709), 3), "no time has passed");
        assert!(!contention.update(None, 2));
        assert!(!contention.update(sample(700, 6000, 800), 2), "no sample before");
        assert!(!contention.update(sample(800, 10, 900), 2), "one worker has a new thread");
        assert!(!contention.update(sample(10_800, 500, 901), 2), "after a pause");
    }
}
