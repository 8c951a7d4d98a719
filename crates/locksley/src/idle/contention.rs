//! An estimate of how many processors other programs want.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::context::IdleContext;
use crate::primitive::Instant;

/// The smoothed number of runnable threads of other programs. Thieves take the samples.
///
/// It decides how long thieves search, and no task depends on it, so accesses are relaxed.
#[derive(Debug)]
pub(super) struct CpuContention {
    since: Instant,
    /// When the last sample was taken, in nanoseconds after `since`.
    sampled: AtomicU64,
    /// Threads, in units of 1/[`ONE`].
    smoothed: AtomicU64,
    /// [`IdleContext::external_wakeups`] at the last sample.
    external_wakeups: AtomicU32,
}

const ONE: u64 = 1 << 16;
const BETWEEN_SAMPLES: Duration = Duration::from_millis(2);
/// The weight of a sample is one part in this many.
const WEIGHT: u64 = 8;
/// The machine is quiet below this. Some thread runs now and then on any machine.
const QUIET: u64 = ONE * 3 / 10;

impl CpuContention {
    pub(super) fn new() -> Self {
        // A pool begins as if the machine were shared, which costs less if it is wrong.
        Self {
            since: Instant::now(),
            sampled: AtomicU64::new(0),
            smoothed: AtomicU64::new(ONE),
            external_wakeups: AtomicU32::new(0),
        }
    }

    /// True if other programs have hardly wanted a processor lately.
    pub(super) fn is_machine_quiet(&self) -> bool {
        self.smoothed.load(Ordering::Relaxed) < QUIET
    }

    /// Takes a sample if one is due and no other thief takes it.
    pub(super) fn poll(&self, now: Instant, context: &IdleContext<'_>) {
        let now = now.saturating_duration_since(self.since).as_nanos() as u64;
        let last = self.sampled.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(last) >= BETWEEN_SAMPLES.as_nanos() as u64;
        let is_mine = || {
            self.sampled.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if is_due && is_mine() {
            // Where the system does not tell: as if other threads wanted every processor.
            let others = context.others_on_the_machine().unwrap_or(context.processors);
            // An external thread of the pool is not another program. It is taken to be runnable,
            // even if it waits: as the only other thread it would make the machine look busy.
            let woken = context.external_wakeups;
            let has_external = self.external_wakeups.swap(woken, Ordering::Relaxed) != woken;
            self.add(others.saturating_sub(usize::from(has_external)));
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
    fn contention_rises_at_once_and_falls_slowly() {
        let contention = CpuContention::new();
        assert!(!contention.is_machine_quiet());
        let is_quiet_after = |samples, others| {
            (0..samples).for_each(|_| contention.add(others));
            contention.is_machine_quiet()
        };
        assert!(!is_quiet_after(5, 0));
        assert!(is_quiet_after(10, 0));
        assert!(is_quiet_after(1, 1), "one sample is not enough");
        assert!(!is_quiet_after(2, 2));
    }
}
