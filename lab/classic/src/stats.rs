//! What workers count.

use std::time::Duration;

use locksley_sys::primitive::{AtomicU64, Ordering};

/// A counter that one worker changes, and any thread reads.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, number: u64) {
        // One thread writes, so no read-modify-write is needed.
        self.0.store(self.get() + number, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of a worker.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) steals: Counter,
    pub(crate) failed_steals: Counter,
    pub(crate) yields: Counter,
    pub(crate) sleeps: Counter,
    pub(crate) searching: Counter,
    pub(crate) switches_to_thief: Counter,
    pub(crate) out_of_place: Counter,
}

/// What all workers did since the machine was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Attempts to steal that brought a thread.
    pub steals: u64,
    /// Those that did not.
    pub failed_steals: u64,
    /// System calls that yield the processor.
    pub yields: u64,
    /// How often workers went to sleep.
    pub sleeps: u64,
    /// Context switches that ended on a worker without a task. 0 where they are not recorded.
    pub switches_to_thief: u64,
    /// Context switches of all workers. `None` where they are not recorded.
    pub switches: Option<u64>,
    /// Workers that the system did not bind to their processors.
    pub unbound: usize,
    /// Threads that ran at another place than the one to which they were sent; with mailboxes, on
    /// another worker.
    pub out_of_place: u64,
    /// The time without a task, of all workers.
    pub searching: Duration,
    /// The time of waits for the locks of deques.
    pub lock_wait: Duration,
}
