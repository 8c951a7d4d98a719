//! Counts of times in buckets whose width grows with the time: exact to some percent.
//!
//! The buckets are those of HdrHistogram (Tene): the times from one power of two to the next share
//! a number of buckets of equal width.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// 2 to this power buckets from one power of two to the next: each is about 3 % wide.
const BITS: u32 = 5;

/// Counts of times.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// The longest, in nanoseconds.
    most: u64,
    /// How many there are in each bucket that is not empty, by its lower end in nanoseconds.
    counts: BTreeMap<u64, u64>,
}

impl Histogram {
    /// Adds a time in nanoseconds.
    pub fn add(&mut self, time: u64) {
        self.most = self.most.max(time);
        *self.counts.entry(bucket(time)).or_default() += 1;
    }

    /// How many times there are.
    pub fn number(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The time that a share of all times does not exceed, in seconds: the middle of its bucket. 0
    /// if there are none.
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = (share * self.number() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.counts.iter().find(|&(_, &count)| {
            seen += count;
            seen >= rank
        });
        let time = found.map_or(0.0, |(&low, _)| {
            (low as f64 + width(low) as f64 / 2.0 - 0.5).min(self.most as f64)
        });
        time / 1e9
    }

    /// The longest, in seconds.
    pub fn most(&self) -> f64 {
        self.most as f64 / 1e9
    }
}

/// The lower end of a time's bucket.
fn bucket(time: u64) -> u64 {
    time - time % width(time)
}

/// The width of a time's bucket.
fn width(time: u64) -> u64 {
    let magnitude = time.checked_ilog2().unwrap_or(0);
    1 << magnitude.saturating_sub(BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        times.into_iter().for_each(|time| histogram.add(time));
        histogram
    }

    #[test]
    fn buckets_hold_their_times() {
        for time in (0..5000).chain([123_456, 7_890_123_456, u64::MAX]) {
            let (low, width) = (bucket(time), width(time));
            assert!(low <= time && time - low < width, "{time}");
            assert_eq!(bucket(low), low);
            assert!(width as f64 <= 1.0 + time as f64 / 32.0, "{time}: {width}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_times() {
        let histogram = of(1..=10_000);
        for (share, exact) in [(0.5, 5000.0), (0.9, 9000.0), (0.99, 9900.0), (0.999, 9990.0)] {
            let found = histogram.quantile(share) * 1e9;
            assert!((found / exact - 1.0).abs() < 0.02, "{share}: {found}");
        }
        assert_eq!(histogram.most(), 10_000.0 / 1e9);
        assert_eq!(histogram.number(), 10_000);
        assert!(of([1000; 3]).quantile(1.0) * 1e9 <= 1000.0, "no more than the longest");
        assert_eq!(Histogram::default().quantile(0.5), 0.0);
    }
}
