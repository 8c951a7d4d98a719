//! Runs one task, for code that waits in its own way.

use super::Worker;
use crate::hooks;
use crate::scheduler::search::Found;
use crate::unwind::AbortOnUnwind;

impl Worker {
    /// Runs one task, if one can be found: from this worker's queues, from other workers, or from
    /// the injector. Returns true if it has run one.
    ///
    /// For code that waits in its own way, so that the worker is useful meanwhile. False does not
    /// mean that the pool has no work: a task may become ready at any time.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// static DONE: AtomicBool = AtomicBool::new(false);
    /// locksley::Pool::new(1)?.install(|worker| {
    ///     locksley::spawn(|| DONE.store(true, Ordering::Release));
    ///     while !DONE.load(Ordering::Acquire) {
    ///         worker.run_one();
    ///     }
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn run_one(&self) -> bool {
        self.shared.abort_if_in_forked_child();
        hooks::pause();
        self.execute_if_any(self.find_any())
    }

    /// Runs one task from this worker's queues, if there is one: its deque, and what was sent to
    /// it. Returns true if it has run one.
    ///
    /// # Examples
    /// ```
    /// locksley::Pool::new(1)?.install(|worker| {
    ///     locksley::spawn(|| ());
    ///     assert!(worker.run_local());
    ///     assert!(!worker.run_local());
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn run_local(&self) -> bool {
        self.shared.abort_if_in_forked_child();
        hooks::pause();
        // Hooks run here, too: code that repeats this call may never come to a search.
        let made_ready = || hooks::run_idle().then(|| self.take_own()).flatten();
        self.execute_if_any(self.take_local().or_else(made_ready))
    }

    /// Takes any task: from this worker's queues, from other workers, or from the injector.
    pub(super) fn find_any(&self) -> Option<Found> {
        self.take_local().or_else(|| self.search().search_once(self))
    }

    fn execute_if_any(&self, found: Option<Found>) -> bool {
        let abort = AbortOnUnwind("a panic came out of a task");
        let is_any = found.is_some();
        if let Some(found) = found {
            self.execute_nested(found);
        }
        self.stop_clock_if_borrowed();
        abort.disarm();
        is_any
    }
}
