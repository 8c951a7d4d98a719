//! What workers count.

use locksley_sys::primitive::{AtomicU64, Ordering};

/// What a worker counts, from the start of its machine on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Attempts to steal that brought a thread.
    Steals,
    /// Those that did not.
    FailedSteals,
    /// System calls that yield the processor.
    Yields,
    /// How often the worker went to sleep.
    Sleeps,
    /// The time without a task, in nanoseconds.
    SearchNanos,
    /// Context switches that ended on the worker without a task. 0 where they are not recorded.
    SwitchesToThief,
    /// Threads that ran at another place than the one to which they were sent; with mailboxes, on
    /// another worker.
    OutOfPlace,
    /// 1 if the system did not bind the worker to its processors.
    Unbound,
}

/// The counters of a worker. It alone changes them, and any thread reads them.
#[derive(Default)]
pub(crate) struct Counters([AtomicU64; Count::Unbound as usize + 1]);

impl Counters {
    pub(crate) fn add(&self, count: Count, number: u64) {
        // One thread writes, so no read-modify-write is needed.
        self.0[count as usize].store(self.get(count) + number, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, count: Count) -> u64 {
        self.0[count as usize].load(Ordering::Relaxed)
    }
}
