//! One task at a time, for code that waits for something in its own way.

use super::Worker;
use crate::held::{self, Place, Wait};
use crate::hunt::Found;
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
    /// locksley::Pool::new(1)?.run(|worker| {
    ///     worker.spawn(|_| DONE.store(true, Ordering::Release));
    ///     while !DONE.load(Ordering::Acquire) {
    ///         worker.run_one();
    ///     }
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn run_one(&self) -> bool {
        held::tell(Some(self), Wait::RunOne, Place::here());
        self.runs_one()
    }

    pub(crate) fn runs_one(&self) -> bool {
        if self.shared.is_lost() {
            return self.run_in_a_child();
        }
        self.payer.pay();
        // What it comes upon has its own path, and so has what a look at networks makes ready.
        self.while_aside(|| {
            if self.resume_one() {
                self.doubts.executed();
                return true;
            }
            let found = self.take_local().or_else(|| self.hunt.borrow_mut().look_once(self));
            self.execute_if_any(found) || self.runs_what_nobody_can()
        })
    }

    /// Runs one task that waits at this worker, if there is one: an own one, or one that was sent to this worker. Says
    /// whether there was.
    ///
    /// # Examples
    /// ```
    /// locksley::Pool::new(1)?.run(|worker| {
    ///     worker.spawn(|_| ());
    ///     assert!(worker.run_local());
    ///     assert!(!worker.run_local());
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn run_local(&self) -> bool {
        held::tell(Some(self), Wait::RunOne, Place::here());
        self.runs_local()
    }

    pub(crate) fn runs_local(&self) -> bool {
        if self.shared.is_lost() {
            return self.run_in_a_child();
        }
        self.payer.pay();
        self.while_aside(|| {
            if self.resume_one() {
                self.doubts.executed();
                return true;
            }
            // Whoever does this again and again may never hunt.
            let made_ready = || self.doubts.settle().then(|| self.take_own()).flatten();
            let found = self.take_local().or_else(made_ready);
            self.execute_if_any(found) || self.runs_what_nobody_can()
        })
    }

    #[cold]
    fn run_in_a_child(&self) -> bool {
        self.while_aside(|| self.execute_if_any(self.take_in_a_child()))
    }

    fn execute_if_any(&self, found: Option<Found>) -> bool {
        let abort = AbortOnUnwind("a panic came out of a task");
        let is_any = found.is_some();
        if let Some(found) = found {
            self.execute(found);
            self.doubts.executed();
        }
        self.settle_as_guest();
        abort.disarm();
        is_any
    }
}
