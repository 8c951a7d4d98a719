//! The wake-up counter of a worker.
//!
//! Source: "BWS: Balanced Work Stealing for Time-Sharing Multicores", 2012, section 3.2: the *c* of
//! Algorithm 2. Its owner and thieves change it without a lock, and each unit is taken once.

use locksley_sys::primitive::{AtomicU64, Ordering};

/// The wake-ups that a worker wants to be issued. No task depends on the number, so all accesses
/// are relaxed.
#[derive(Default)]
pub(crate) struct WakeUpCounter(AtomicU64);

impl WakeUpCounter {
    pub(crate) fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    /// Decrements the counter. Returns false if it is 0. Thieves may call this at the same time.
    pub(crate) fn take_one(&self) -> bool {
        let less = |number: u64| number.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}
