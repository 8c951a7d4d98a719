//! What a worker pushes to its own deque, takes back, and sends; and how it is fair to its queues.

use std::ptr::NonNull;

use super::{Local, Role, Worker};
use crate::deque::Steal;
use crate::header::{Found, Job, JobFifo};
use crate::idle::Activity;
use crate::numbers::{Index, Place};
use crate::primitive::Instant;
use crate::shared::{Shared, is_same};
use crate::tuning::{LEFT_BEHIND_SLOTS, LOOK_ELSEWHERE_AFTER, MOVE_COST};
use crate::unwind::AbortOnUnwind;

/// The worker's own deque.
impl Worker {
    /// Makes a job available to all workers. (Not the second half of a join.)
    pub(crate) fn push(&self, job: NonNull<Job>) {
        self.end_lineage();
        let pushed = self.local.deque.push(job);
        if pushed.is_complete {
            return;
        }
        if self.observer().is_none() {
            return self.after_slow_push(pushed.index);
        }
        // Nothing was pushed: see `ChaseLevOwner::redirect`.
        // SAFETY: pushes of an observed worker are redirected, so no thread has seen the word; the
        // thread that takes the new word runs it once.
        self.push_real(unsafe { self.local.shared.wrap(Some(self), job) });
    }

    /// Makes a job available to all workers, even if pushes are redirected. The job keeps its
    /// stamp. Returns the index in the deque.
    #[inline]
    pub(crate) fn push_real(&self, job: NonNull<Job>) -> i64 {
        let pushed = self.local.deque.push_real(job);
        if !pushed.is_complete {
            self.after_slow_push(pushed.index);
        }
        pushed.index
    }

    /// As [`push`](Self::push), for a task that the running one spawned or made ready, and that
    /// comes next when the running one waits. If it is the only task, thieves leave it alone for a
    /// grace period.
    pub(crate) fn push_next(&self, job: NonNull<Job>) {
        self.state().mark_run_next(self.local.deque.bottom());
        self.push(job);
    }

    /// Makes a job available to all workers; it begins after the jobs that this worker pushed to
    /// `fifo` before.
    ///
    /// # Safety
    /// `fifo` is alive until all its jobs have begun.
    pub(crate) unsafe fn push_fifo(&self, fifo: &JobFifo, job: NonNull<Job>) {
        self.end_lineage();
        // SAFETY: about to be pushed; the thread that takes a word of the queue runs it once.
        let job = unsafe { self.local.shared.wrap(Some(self), job) };
        // SAFETY: as the caller promises; the word is pushed here.
        let word = unsafe { fifo.push(job) };
        // The word may stand for another job than this one.
        self.push_real(word);
    }

    /// Before a push of another task than a fork: what lies there and above need not descend from
    /// the forks that run here.
    pub(super) fn end_lineage(&self) {
        self.state().lineage.end_at(self.deque_end());
    }

    /// Pushes a job that this worker has taken from its deque. It may lie lower there than before.
    pub(super) fn put_back(&self, job: NonNull<Job>) {
        self.end_lineage();
        self.push_real(job);
    }

    /// The position of the next push.
    pub(crate) fn deque_end(&self) -> i64 {
        self.local.deque.bottom()
    }

    /// Completes a push that took the slow path.
    pub(crate) fn after_slow_push(&self, index: i64) {
        // The job may lie in a frame, and other threads may have it already.
        let abort = AbortOnUnwind("a deque cannot grow");
        let Local { deque, shared, wake_token, .. } = &self.local;
        if deque.after_slow_push(index) {
            shared.sleep.notify_pushed_then_close(deque, wake_token);
        }
        abort.disarm();
    }

    /// Takes the newest job of the deque.
    pub(crate) fn take_newest(&self) -> Option<Found> {
        self.local.deque.pop_newest().map(|job| Found { job, from: self.local.slot })
    }

    /// Takes the next job of the deque, in the order that the pool is built with.
    #[inline]
    pub(crate) fn take_own(&self) -> Option<Found> {
        if self.local.shared.config.oldest_first { self.take_oldest() } else { self.take_newest() }
    }

    /// Takes the oldest job of the deque.
    #[cold]
    fn take_oldest(&self) -> Option<Found> {
        self.local.deque.open(); // it steals from itself
        loop {
            match self.state().deque.steal_oldest() {
                Steal::Taken(job) => return Some(Found { job, from: self.local.slot }),
                Steal::Empty => return None,
                Steal::Lost | Steal::Closed => {} // a thief was faster
            }
        }
    }

    /// True if the worker's deque holds tasks, or tasks wait that a wait has taken from there.
    ///
    /// # Examples
    /// ```
    /// locksley::Pool::new(1)?.install(|worker| {
    ///     assert!(!worker.has_own_tasks());
    ///     locksley::spawn(|| ());
    ///     assert!(worker.has_own_tasks());
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn has_own_tasks(&self) -> bool {
        !self.state().deque.is_empty() || self.has_tasks_aside()
    }

    /// True if the worker has no task but the present one, and searches after that.
    fn is_about_to_search(&self) -> bool {
        let comes_back = matches!(self.local.role, Role::Own | Role::Replacement)
            && self.local.away.get().is_none();
        comes_back && self.state().has_empty_deque() && self.state().pinned_tasks.is_empty()
    }
}

/// What was sent.
impl Worker {
    /// Takes a job that only this worker may run.
    pub(crate) fn take_pinned(&self) -> Option<Found> {
        let job = self.state().pinned_tasks.take()?;
        self.counters().received.increment();
        Some(Found { job, from: self.local.slot })
    }

    pub(crate) fn has_pinned(&self) -> bool {
        !self.state().pinned_tasks.is_empty()
    }

    /// Takes a job from the deque, the pinned tasks, or what was sent to this worker or its place.
    pub(super) fn take_local(&self) -> Option<Found> {
        let found = self.take_own().or_else(|| self.take_pinned());
        found.or_else(|| self.seeker(None).take_addressed())
    }

    /// As [`take_local`](Self::take_local), but in turn with what other threads have left behind.
    pub(super) fn take_any(&self) -> Option<Found> {
        self.take_left_behind_in_turn().or_else(|| self.take_local())
    }

    /// Sends a ready task to this worker itself, behind its other tasks.
    pub(crate) fn send_to_back(&self, job: NonNull<Job>) {
        let index = self.seeker(None).index;
        self.local.shared.send_ready(Some(self), index, job);
    }

    /// Makes a job available that this worker has made ready, and that ran last on the worker
    /// `previous`.
    ///
    /// It stays here if
    /// - polls are brief: to send the job costs more than to run it; or
    /// - neither worker has other work, and `previous` searches: the first of the two takes it.
    ///   (If `previous` sleeps, it has to be woken, which a push may leave out.)
    ///
    /// Otherwise it is sent.
    pub(crate) fn push_or_send_to(&self, previous: Index, job: NonNull<Job>) {
        let is_here =
            previous.get() >= self.local.shared.workers || previous == self.local.index.get();
        let is_brief = self.local.has_brief_polls.get();
        let searches = || {
            let holder = self.local.shared.index_lock(previous).holder();
            self.local.shared.slot(holder).activity() == Activity::Searches
        };
        if is_here || is_brief || (self.is_about_to_search() && searches()) {
            self.push_next(job);
        } else {
            self.local.shared.send_ready(Some(self), previous, job);
        }
    }
}

/// Fairness between a worker's queues: its own tasks may wake each other for ever.
impl Worker {
    /// Counts a poll of a task. Every `LOOK_ELSEWHERE_AFTER` polls, makes a task of another queue,
    /// or the oldest of the deque, the next to run: tasks that wake each other would starve these.
    pub(crate) fn end_poll(&self) {
        if self.count_poll() {
            self.look_elsewhere(self.local.polls.get() / LOOK_ELSEWHERE_AFTER);
        }
    }

    /// Counts a poll. Returns true if it is time to look into the other queues.
    pub(crate) fn count_poll(&self) -> bool {
        let polls = self.local.polls.get().wrapping_add(1);
        self.local.polls.set(polls);
        polls % LOOK_ELSEWHERE_AFTER == 0
    }

    /// Makes a waiting job the next to run. Begins with queue `first` of these, and goes on while
    /// they are empty: what was sent to it or to all, the old end of its deque, its pinned tasks. A
    /// pinned job is marked in addition, and runs before the other one.
    #[cold]
    pub(super) fn look_elsewhere(&self, first: u32) {
        if self.local.shared.is_in_forked_child() {
            return; // all tasks belong to the parent
        }
        // Includes time without polls: a worker that waits in between has no brief polls.
        let now = Instant::now();
        let looked = self.local.looked.replace(Some(now));
        let is_brief = |looked| now - looked < MOVE_COST * LOOK_ELSEWHERE_AFTER;
        self.local.has_brief_polls.set(looked.is_some_and(is_brief));
        let seeker = self.seeker(None);
        for queue in (0..4).map(|n| first.wrapping_add(n) % 4) {
            let found = match queue {
                0 => seeker.take_addressed(),
                1 => seeker.take_injected(),
                // The only task runs next in any case, and taking it would open the deque.
                2 if self.local.shared.config.oldest_first
                    || self.local.deque.has_at_most_one_item() =>
                {
                    None
                }
                2 => self.take_oldest(),
                _ => {
                    // Only marked: a pushed task could be stolen, and only this worker may run it.
                    self.local.runs_pinned_next.set(self.has_pinned());
                    None
                }
            };
            if let Some(found) = found {
                self.end_lineage();
                self.push_real(found.job);
                return;
            }
        }
    }

    /// Called before the worker takes its next task. Every `LOOK_ELSEWHERE_AFTER` times, takes one
    /// that a thread without an index has left behind: tasks that spawn or wake each other would
    /// starve it.
    pub(super) fn take_left_behind_in_turn(&self) -> Option<Found> {
        let turns = self.local.turns.get().wrapping_add(1);
        self.local.turns.set(turns);
        if turns % LOOK_ELSEWHERE_AFTER != 0 {
            return None;
        }
        let looks = (turns / LOOK_ELSEWHERE_AFTER) as usize;
        let first = looks % self.local.shared.slots_taken() * LEFT_BEHIND_SLOTS;
        self.search().take_left_behind(self.seeker(None), first)
    }

    /// Takes what was sent to this worker or to its place. While there is some, each call counts as
    /// a poll, and every `LOOK_ELSEWHERE_AFTER` polls, the injector or a pinned task comes first:
    /// tasks that send others to the place would starve these.
    pub(super) fn take_addressed_in_turn(&self) -> Option<Found> {
        let seeker = self.seeker(None);
        let others_first = seeker.is_addressed() && self.count_poll();
        let found = others_first.then(|| match self.local.polls.get() / LOOK_ELSEWHERE_AFTER % 2 {
            0 => self.take_pinned().or_else(|| seeker.take_injected()),
            _ => seeker.take_injected().or_else(|| self.take_pinned()),
        });
        found.flatten().or_else(|| seeker.take_addressed())
    }
}

/// Sends jobs to a pool. `current` is the calling worker, of any pool.
impl Shared {
    /// The calling worker, if it belongs to this pool.
    #[inline]
    pub(crate) fn own_worker<'w>(&self, current: Option<&'w Worker>) -> Option<&'w Worker> {
        current.filter(|worker| is_same(worker.shared(), self))
    }

    fn wake_token<'w>(&self, current: Option<&'w Worker>) -> Option<&'w crate::sleep::WakeToken> {
        self.own_worker(current).map(|worker| &worker.local.wake_token)
    }

    /// Makes a job available to all workers.
    #[inline]
    pub(crate) fn push_or_send(&self, current: Option<&Worker>, job: NonNull<Job>) {
        match self.own_worker(current) {
            Some(own) => own.push_next(job),
            None => self.send(current, job),
        }
    }

    /// Sends a job to the pool.
    pub(crate) fn send(&self, current: Option<&Worker>, job: NonNull<Job>) {
        // SAFETY: whichever thread takes a word out of an inbox runs it, once; this one is about to
        // be sent.
        self.inject(unsafe { self.wrap(current, job) });
    }

    /// Sends a job to one worker, which alone may run it.
    pub(crate) fn send_to(&self, current: Option<&Worker>, index: Index, job: NonNull<Job>) {
        // SAFETY: the worker runs each word of its pinned tasks once; this one is about to be sent.
        let job = unsafe { self.wrap(current, job) };
        self.slot(index.slot()).pinned_tasks.send(job);
        self.unpark(index.slot());
    }

    /// Sends a ready task to one worker. Other workers may take it.
    pub(crate) fn send_ready(&self, current: Option<&Worker>, index: Index, job: NonNull<Job>) {
        // SAFETY: as in `send`.
        let job = unsafe { self.wrap(current, job) };
        self.send_to_inbox(self.wake_token(current), index, job);
    }

    /// Makes a job available to all workers, and first to those of a place.
    pub(crate) fn send_near(&self, current: Option<&Worker>, place: Place, job: NonNull<Job>) {
        let own_worker = self.own_worker(current);
        let is_elsewhere = own_worker.is_none_or(|worker| worker.own_place() != place);
        let there = self.place_states().get(place.get());
        // Thieves find the inbox of a place by its workers.
        let Some(there) = there.filter(|there| is_elsewhere && !there.workers.is_empty()) else {
            return self.push_or_send(current, job);
        };
        // SAFETY: as in `send`.
        there.inbox.send(unsafe { self.wrap(current, job) });
        self.sleep.notify_addressed(&there.workers, self.wake_token(current));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::job::HeapJob;
    use crate::numbers::Slot;
    use crate::pool::tests::beside_a_held_worker;

    /// Makes a task ready that ran last on the worker `last`. Returns true if it stays here.
    fn is_kept(worker: &Worker, last: usize) -> bool {
        let before = worker.local.deque.bottom();
        // SAFETY: pushed once, here; the task borrows nothing, and does not unwind.
        worker.push_or_send_to(Index::new(last), unsafe { HeapJob::into_job(None, |_| ()) });
        worker.local.deque.bottom() > before
    }

    #[test]
    fn a_ready_task_goes_to_its_last_worker_unless_both_have_no_other_task() {
        let kept = beside_a_held_worker(|worker| {
            let last_one_does =
                |activity| worker.shared().slot(Slot::new(1)).set_activity(activity);
            last_one_does(Activity::Searches);
            let first = is_kept(worker, 1);
            let above_another = is_kept(worker, 1);
            while worker.run_one() {}
            let [beside_work, beside_sleep] = [Activity::Works, Activity::Sleeps].map(|activity| {
                last_one_does(activity);
                is_kept(worker, 1)
            });
            [first, above_another, beside_work, beside_sleep, is_kept(worker, 0)]
        });
        assert_eq!(kept, [true, false, false, false, true]);
    }

    #[test]
    fn a_ready_task_stays_where_polls_are_brief() {
        let kept = beside_a_held_worker(|worker| {
            worker.shared().slot(Slot::new(1)).set_activity(Activity::Works);
            // Between two looks lie no polls; the system may suspend this thread there.
            while !worker.local.has_brief_polls.get() {
                worker.look_elsewhere(0);
            }
            let beside_brief_polls = is_kept(worker, 1);
            while worker.run_one() {}
            thread::sleep(Duration::from_millis(1));
            worker.look_elsewhere(0);
            [beside_brief_polls, is_kept(worker, 1)]
        });
        assert_eq!(kept, [true, false]);
    }

    /// A thief need not give its processor to the worker then, and a ready task does not stay
    /// there.
    #[test]
    fn a_worker_in_a_blocking_call_counts_as_asleep_and_does_not_search_next() {
        let states = beside_a_held_worker(|worker| {
            let now = || (worker.state().activity(), worker.is_about_to_search());
            [now(), crate::blocking(now), now()]
        });
        let works = (Activity::Works, true);
        assert_eq!(states, [works, (Activity::Sleeps, false), works]);
    }

    /// Puts a task into each queue of the worker, and returns the one that comes first after a look
    /// elsewhere.
    fn first_after_a_look_elsewhere(worker: &Worker, turn: u32) -> &'static str {
        let ran = Arc::new(Mutex::new(Vec::new()));
        let job = |name| {
            let ran = Arc::clone(&ran);
            // SAFETY: pushed or sent once, below; the task borrows nothing, and does not unwind.
            unsafe { HeapJob::into_job(None, move |_| ran.lock().unwrap().push(name)) }
        };
        worker.push(job("oldest"));
        worker.push(job("newest"));
        worker.state().inbox.send(job("inbox"));
        worker.shared().injector.send(job("injector"));
        worker.look_elsewhere(turn);
        while worker.run_one() {}
        let ran = ran.lock().unwrap();
        assert_eq!(ran.len(), 4, "{ran:?}");
        ran[0]
    }

    #[test]
    fn each_queue_has_its_turn_after_some_polls() {
        let first = beside_a_held_worker(|worker| {
            let polls = (0..2 * 61).filter(|_| worker.count_poll()).count();
            (polls, [0, 1, 2, 3, 4].map(|turn| first_after_a_look_elsewhere(worker, turn)))
        });
        assert_eq!(first, (2, ["inbox", "injector", "oldest", "inbox", "inbox"]));
    }

    #[test]
    fn a_pinned_task_has_its_turn() {
        let is_next = beside_a_held_worker(|worker| {
            // SAFETY: pushed or sent once, below; the task borrows nothing, and does not unwind.
            let job = || unsafe { HeapJob::into_job(None, |_| ()) };
            let is_next = |turn| {
                worker.look_elsewhere(turn);
                worker.local.runs_pinned_next.take()
            };
            let without = is_next(3);
            worker.shared().send_to(None, Index::new(0), job());
            let with = is_next(3);
            let [beside_one, beside_two] = [(); 2].map(|()| {
                worker.push(job());
                is_next(2)
            });
            while worker.run_one() {}
            [without, with, beside_one, beside_two]
        });
        // The only task comes next in any case, so the turn is that of the pinned one.
        assert_eq!(is_next, [false, true, true, false]);
    }
}
