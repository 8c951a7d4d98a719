//! A worker's loop: run own tasks, else search. And single steps of it, for code that waits in its
//! own way.

use super::{Role, Worker};
use crate::header::{self, Found};
use crate::hooks;
use crate::os;
use crate::shared::index_lock::Idle;
use crate::trace::Event;
use crate::unwind::AbortOnUnwind;

impl Worker {
    /// Runs tasks until the pool is closed.
    pub(crate) fn work_until_closed(&self) {
        let is_closed = || self.local.shared.closed.is_set();
        while !is_closed() {
            // A thread whose wait is over may have taken the index back.
            if !self.local.shared.index_lock(self.local.index.get()).is_held_by(self.local.slot) {
                self.leave_tasks_to_others();
                self.take_index_back(None);
            }
            self.work_under_index(&is_closed);
        }
        self.end_with_index();
        // Tasks of a scope do not keep the pool open. The borrowed thread that waits for them
        // steals them from here.
        self.local.deque.open();
    }

    /// Runs tasks while this thread has its index, and until `is_over`.
    pub(super) fn work_under_index(&self, is_over: &dyn Fn() -> bool) {
        // Tasks catch their own panics.
        let abort = AbortOnUnwind("a panic came out of a task");
        while !is_over() && self.still_has_index() {
            self.state().lineage.reset();
            let pinned = if self.local.runs_pinned_next.take() { self.take_pinned() } else { None };
            let found = pinned.or_else(|| self.take_left_behind_in_turn());
            let own = if found.is_none() { self.take_own() } else { None };
            if let Some(own) = own {
                self.execute(own);
            } else if let Some(found) = found.or_else(|| self.receive_or_search(is_over)) {
                self.execute_traced(found);
            } else {
                continue;
            }
            hooks::executed();
        }
        abort.disarm();
    }

    /// Publishes what this thread has, and wakes a worker for its tasks.
    pub(super) fn leave_tasks_to_others(&self) {
        hooks::flush();
        self.local.deque.open();
        if self.has_own_tasks() {
            self.local.shared.sleep.notify_sent();
        }
    }

    fn receive_or_search(&self, is_over: &dyn Fn() -> bool) -> Option<Found> {
        let sent = self.take_addressed_in_turn().or_else(|| self.take_pinned());
        sent.or_else(|| {
            self.local.deque.open();
            self.search().run(self.seeker(Some(Idle::WithoutTask)), is_over)
        })
    }

    /// Runs a task that was sent, stolen or pinned, and traces it.
    pub(super) fn execute_traced(&self, found: Found) {
        self.local.shared.trace(|| Event::TaskBegins(found.from.get()));
        self.execute(found);
        self.local.shared.trace(|| Event::TaskEnds);
    }

    /// Runs a task.
    pub(crate) fn execute(&self, found: Found) {
        self.counters().tasks.increment();
        let generation = os::generation();
        // SAFETY: jobs in deques and inboxes are alive until they have run; only this worker has
        // taken this one, from where `found` says.
        unsafe { header::execute(found.job, self.as_ref(), found.from.get()) };
        // The task may have forked the process, and returned in the child.
        if generation != os::generation() {
            self.local.shared.abort_in_forked_child();
        }
    }

    /// Runs a task on top of another one. It need not descend from the forks that run here.
    pub(super) fn execute_unrelated(&self, found: Found) {
        let (before, start) = (self.state().lineage.unrelated_from(), self.deque_end());
        self.end_lineage();
        self.execute_descendant(found);
        // If so, what it has pushed at `start` or above has left the deque. What it has pushed
        // below, after it took older jobs from there, would have lowered the lineage. Where the
        // lineage ended before, it stays lowered: an unrelated outer task may fork below its start.
        let is_lowered_no_further = self.state().lineage.unrelated_from() == start;
        if before == i64::MAX && is_lowered_no_further && self.deque_end() <= start {
            self.state().lineage.reset();
        }
    }

    /// Runs a task on top of another one, and changes no lineage: it descends from that one.
    pub(super) fn execute_descendant(&self, found: Found) {
        let run = if found.from == self.local.slot { Self::execute } else { Self::execute_traced };
        self.under_index(|| run(self, found));
        hooks::executed();
    }

    /// Runs one task, if one can be found: from this worker's queues, from other workers, or from
    /// the injector. Returns true if it has run one.
    ///
    /// For code that waits in its own way, so that the worker is useful meanwhile. False does not
    /// mean that the pool has no work: a task may become ready at any time.
    ///
    /// If a task of this worker's index has waited, and can go on, it does so first: this blocks
    /// until that task ends or waits again. If that task blocks in another way for 100 ms, this
    /// runs a task of the own deque at most (`docs/guide/waits.md`).
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
        self.step(|| {
            let found = self.take_any();
            let found = found.or_else(|| self.search().search_once(self.seeker(None)));
            found.or_else(|| self.take_made_ready())
        })
    }

    /// Runs one task from this worker's queues, if there is one: its deque, and what was sent to it
    /// or to its place. On a replacement it also searches as [`run_one`](Self::run_one) does: tasks
    /// of its index may lie in the deque of the thread that it replaces. Returns true if it has run
    /// one. It may block as `run_one` does.
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
        self.step(|| {
            let found = self.take_local().or_else(|| self.take_made_ready());
            // Tasks of its index may lie in the deque of the thread that it replaces.
            let is_replacement = self.local.role == Role::Replacement;
            let search = || self.search().search_once(self.seeker(None));
            found.or_else(|| if is_replacement { search() } else { None })
        })
    }

    /// Has hooks publish what they have deferred, and takes a task that this has made ready. Code
    /// that repeats a step may never come to a search, which does this otherwise.
    fn take_made_ready(&self) -> Option<Found> {
        hooks::flush().then(|| self.take_own()).flatten()
    }

    fn step(&self, find: impl FnOnce() -> Option<Found>) -> bool {
        self.local.shared.abort_if_in_forked_child();
        hooks::pause();
        // Without the index it begins at most a task of its own deque.
        let found = if self.yield_index_if_claimed() { find() } else { self.take_own() };
        let abort = AbortOnUnwind("a panic came out of a task");
        let is_any = found.is_some();
        if let Some(found) = found {
            self.execute_unrelated(found);
        }
        self.stop_clock_if_borrowed();
        abort.disarm();
        is_any
    }
}
