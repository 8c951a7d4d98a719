//! Whether other programs want the machine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::context::IdleContext;

/// A smoothed count of the threads of other programs that can run. Taken by whoever searches.
///
/// It decides how long thieves wait, and no task depends on it: relaxed accesses do.
#[derive(Debug)]
pub(super) struct Neighbours {
    since: Instant,
    /// When the last sample was taken, in nanoseconds since then.
    sampled: AtomicU64,
    /// Threads, in parts of [`ONE`].
    smoothed: AtomicU64,
}

const ONE: u64 = 1 << 16;
const BETWEEN_SAMPLES: Duration = Duration::from_millis(2);
/// A sample counts for one part of so many.
const WEIGHT: u64 = 8;
/// With fewer threads than this, in parts of [`ONE`], nobody else wants the machine. Something or other runs now and then on
/// any machine.
const FEW: u64 = ONE * 3 / 10;

impl Neighbours {
    pub(super) fn new() -> Self {
        // Whoever shares a machine had better begin as if it were shared.
        Self { since: Instant::now(), sampled: AtomicU64::new(0), smoothed: AtomicU64::new(ONE) }
    }

    /// Whether nobody else wanted the machine lately.
    pub(super) fn are_quiet(&self) -> bool {
        self.smoothed.load(Ordering::Relaxed) < FEW
    }

    /// Takes a sample if the last one was long ago.
    pub(super) fn look(&self, now: Instant, context: &IdleContext<'_>) {
        let now = now.saturating_duration_since(self.since).as_nanos() as u64;
        let last = self.sampled.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(last) >= BETWEEN_SAMPLES.as_nanos() as u64;
        let is_mine = || {
            self.sampled.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if is_due && is_mine() {
            // Where the system does not tell: as if somebody wanted each processor.
            let others = context.others_on_the_machine().unwrap_or(context.processors);
            self.add(others);
        }
    }

    fn add(&self, others: usize) {
        let before = self.smoothed.load(Ordering::Relaxed);
        let after = before - before / WEIGHT + others as u64 * ONE / WEIGHT;
        self.smoothed.store(after, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn they_are_noticed_at_once_and_forgotten_slowly() {
        let neighbours = Neighbours::new();
        assert!(!neighbours.are_quiet());
        let samples = |number, others| {
            (0..number).for_each(|_| neighbours.add(others));
            neighbours.are_quiet()
        };
        assert!(!samples(5, 0));
        assert!(samples(10, 0));
        assert!(samples(1, 1), "a short visit");
        assert!(!samples(2, 2));
    }
}
