//! One task at a time, for code that waits for something in its own way.

use super::Worker;
use crate::hooks;
use crate::scheduler::search::Found;
use crate::unwind::AbortOnUnwind;

impl Worker {
    /// Runs one task, if one can be found: an own one, one that was sent to this worker, or one of another worker or of the
    /// pool's inbox. Says whether there was one.
    ///
    /// For code that waits for something in its own way, so that it does not hold up a worker meanwhile. Not finding one
    /// means little: the next moment there may be some.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// static DONE: AtomicBool = AtomicBool::new(false);
    /// locksley::Pool::new(1)?.install(|worker| {
    ///     worker.spawn(|_| DONE.store(true, Ordering::Release));
    ///     while !DONE.load(Ordering::Acquire) {
    ///         worker.run_one();
    ///     }
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn run_one(&self) -> bool {
        if self.shared.is_lost() {
            self.shared.end_of_the_lost();
        }
        hooks::pause();
        let found = self.take_local().or_else(|| self.search.borrow_mut().look_once(self));
        self.execute_if_any(found)
    }

    /// Runs one task that waits at this worker, if there is one: an own one, or one that was sent to this worker. Says
    /// whether there was.
    ///
    /// # Examples
    /// ```
    /// locksley::Pool::new(1)?.install(|worker| {
    ///     worker.spawn(|_| ());
    ///     assert!(worker.run_local());
    ///     assert!(!worker.run_local());
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn run_local(&self) -> bool {
        if self.shared.is_lost() {
            self.shared.end_of_the_lost();
        }
        hooks::pause();
        // Code that calls this again and again may never come to search.
        let made_ready = || hooks::idle().then(|| self.take_own()).flatten();
        self.execute_if_any(self.take_local().or_else(made_ready))
    }

    fn execute_if_any(&self, found: Option<Found>) -> bool {
        let abort = AbortOnUnwind("a panic came out of a task");
        let is_any = found.is_some();
        if let Some(found) = found {
            self.execute(found);
            hooks::executed();
        }
        self.settle_borrowed();
        abort.disarm();
        is_any
    }
}
