//! Waiting for all workers to have started, or to have ended.

use std::sync::{Condvar, Mutex, PoisonError};

/// Counts arrivals, and on a decision lets all go on or ends them.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    arrived: usize,
    verdict: Option<bool>,
}

impl Gate {
    /// Says that one more has started, or ended.
    pub(crate) fn arrive(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).arrived += 1;
        self.changed.notify_all();
    }

    /// Says that one more has started and waits for the verdict: true to go.
    pub(crate) fn arrive_and_wait(&self) -> bool {
        self.arrive();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(verdict) = state.verdict {
                return verdict;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until `count` have said so.
    pub(crate) fn wait_for(&self, count: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.arrived < count {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives the verdict to all that wait and will wait.
    pub(crate) fn decide(&self, go: bool) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).verdict = Some(go);
        self.changed.notify_all();
    }
}
