//! As [`std::sync::Barrier`].

use super::{Condvar, Mutex, PoisonError};

/// As [`std::sync::Barrier`].
#[derive(Debug)]
pub struct Barrier {
    /// How many threads have come, and how often all have.
    state: Mutex<(usize, usize)>,
    all: Condvar,
    threads: usize,
}

/// Whether a thread was the last one to come.
#[derive(Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// True for one of the threads.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// A barrier of that many threads.
    pub const fn new(threads: usize) -> Self {
        Self { state: Mutex::new((0, 0)), all: Condvar::new(), threads }
    }

    /// Waits until all threads have come.
    pub fn wait(&self) -> BarrierWaitResult {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let round = state.1;
        state.0 += 1;
        if state.0 < self.threads {
            let waited = self.all.wait_while(state, |state| state.1 == round);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            return BarrierWaitResult(false);
        }
        *state = (0, round.wrapping_add(1));
        self.all.notify_all();
        BarrierWaitResult(true)
    }
}
