//! The counters of one worker. Only the worker writes them; any thread reads them.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that one thread increases and others read. An increment is no locked instruction.
///
/// No protocol depends on it, so it is the standard library's atomic under loom, too.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn increment(&self) {
        self.add(1);
    }

    #[inline]
    pub(crate) fn add(&self, amount: u64) {
        self.0.store(self.read() + amount, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of a worker: see [`WorkerStats`](super::WorkerStats).
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) tasks: Count,
    pub(crate) steals: Count,
    pub(crate) failed_steals: Count,
    pub(crate) received: Count,
    pub(crate) yields: Count,
    pub(crate) sleeps: Count,
    pub(crate) wakeups: Count,
    pub(crate) hand_overs: Count,
    pub(crate) pulls: Count,
    pub(crate) moves: Count,
    pub(crate) out_of_place: Count,
    pub(crate) to_thief: Count,
}
