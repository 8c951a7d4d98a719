//! A worker's own deque: what it pushes there, and what it takes back.

use std::ptr::NonNull;

use super::Worker;
#[cfg(feature = "alternatives")]
use crate::deque::alternatives::AnyOwner;
use crate::deque::{ChaseLevOwner, Owner, Pushed, Steal, TakeBack};
use crate::hunt::{Activity, Found};
use crate::job::{Job, Line};
use crate::sleep::{Sleep, Summons};
use crate::unwind::AbortOnUnwind;

impl Worker {
    /// Makes a job available to all workers.
    pub(crate) fn push(&self, job: NonNull<Job>) {
        let (index, done) = self.fork(job);
        if !done {
            self.push_on(job, index);
        }
    }

    /// The same for a job that has the path that it has, or none.
    pub(crate) fn push_as_is(&self, job: NonNull<Job>) {
        if self.is_metered() {
            self.push_in_truth(job);
        } else {
            self.push(job);
        }
    }

    /// The same for a task that has become ready through the one that is run here, and comes next if that one waits: for a moment
    /// hunters leave it, if there is nothing else.
    pub(crate) fn push_next(&self, job: NonNull<Job>) {
        self.seat().is_to_run_next(self.deque_end());
        self.push(job);
    }

    /// Makes a job available to all workers, after those that this worker has put into the line.
    ///
    /// # Safety
    /// The line is this worker's, and is alive until all jobs in it have begun.
    pub(crate) unsafe fn push_in_line(&self, line: &Line, job: NonNull<Job>) {
        // SAFETY: about to be pushed; whoever takes a word of the line runs it, once.
        let job = unsafe { self.carried(job) };
        // SAFETY: as the caller promises; the word is pushed here.
        let word = unsafe { line.enqueue(job) };
        // It may stand for another job than this one.
        self.push_as_is(word);
    }

    /// What [`push`](Self::push) does beside pushing.
    #[cold]
    fn push_on(&self, job: NonNull<Job>, index: i64) {
        if self.is_metered() {
            // SAFETY: what is pushed is run once by whoever takes it; and pushes are diverted, so nobody has seen this word.
            let job = unsafe { self.carried(job) };
            self.push_in_truth(job);
        } else {
            self.at_the_ceiling(index);
        }
    }

    /// Makes a job available to all workers where pushes are diverted.
    #[inline]
    pub(crate) fn push_in_truth(&self, job: NonNull<Job>) {
        let (index, done) = self.deque.push_in_truth(job);
        if !done {
            self.at_the_ceiling(index);
        }
    }

    /// Makes a job available to all workers, at the index that is returned. Also says whether that was all: if not, the
    /// caller calls [`at_the_ceiling`](Self::at_the_ceiling) next.
    #[inline]
    pub(crate) fn fork(&self, job: NonNull<Job>) -> (i64, bool) {
        self.deque.push(job)
    }

    pub(crate) fn at_the_ceiling(&self, index: i64) {
        if self.inherited.lies_there() {
            self.inherit();
        }
        #[cfg(feature = "alternatives")]
        if let Some(instead) = &self.instead {
            return self.push_instead(instead);
        }
        // The job may lie in a frame, and others may have it already.
        let abort = AbortOnUnwind("a deque cannot grow");
        if self.deque.at_the_ceiling(index) == Pushed::Openly {
            care_for_sleepers(&self.deque, self.shared.sleep(), &self.summons);
        }
        abort.disarm();
    }

    /// Moves what was just pushed to the deque that is used in truth.
    #[cfg(feature = "alternatives")]
    fn push_instead(&self, instead: &AnyOwner<Job>) {
        let abort = AbortOnUnwind("a panic came out of a task");
        let job = self.deque.retract().expect("it was just pushed, and no thief looks there");
        match instead.try_push_new(job) {
            Ok(()) => self.shared.sleep().work_was_pushed(&self.summons),
            Err(job) => self.while_aside(|| self.execute(Found { job, from: self.index })),
        }
        abort.disarm();
    }

    /// Makes a job available that has become ready here, and is at home with another worker, or here.
    pub(crate) fn follow_as_is(&self, home: usize, job: NonNull<Job>) {
        // In a child after a fork, nobody is there to take it (`fork/in_a_child.rs`).
        let is_elsewhere = home != self.index() && !self.shared.is_lost();
        if is_elsewhere && !self.may_keep(home) {
            return self.shared.pass_on(home, job, &self.summons);
        }
        self.seat().is_to_run_next(self.deque_end());
        self.push_as_is(job);
    }

    /// Whether neither this worker has anything else to do nor that one where a task is at home: then it is here for a moment, and
    /// whoever comes first takes it.
    pub(crate) fn may_keep(&self, home: usize) -> bool {
        // One that sleeps is woken: pushes may leave that to others who are awake.
        self.is_about_to_hunt() && self.shared.seat(home).activity() == Activity::Hunts
    }

    /// A strand begins: whatever it pushes is to carry its path.
    pub(crate) fn divert(&self) {
        self.deque.divert();
    }

    /// It ends, or waits.
    pub(crate) fn divert_no_more(&self) {
        self.deque.divert_no_more();
    }

    /// Takes back what was pushed to `index`, if that is the newest job here. The caller knows that it was not run
    /// by this worker.
    #[inline]
    pub(crate) fn take_back(&self, index: i64) -> TakeBack {
        self.deque.take_back(index)
    }

    /// Decides whose the job is that [`take_back`](Self::take_back) found to be contended.
    pub(crate) fn take_lowered(&self, index: i64) -> bool {
        self.deque.pop_lowered(index).is_some()
    }

    /// Where the next job is pushed to.
    #[inline]
    pub(crate) fn deque_end(&self) -> i64 {
        self.deque.end()
    }

    /// The newest job pushed here that nobody has taken.
    pub(crate) fn take_newest(&self) -> Option<Found> {
        #[cfg(feature = "alternatives")]
        if let Some(instead) = &self.instead {
            return instead.pop_newest().map(|job| Found { job, from: self.index });
        }
        self.deque.pop_newest().map(|job| Found { job, from: self.index })
    }

    /// The own task that comes next.
    #[inline]
    pub(crate) fn take_own(&self) -> Option<Found> {
        if self.shared.oldest_first() { self.take_oldest() } else { self.take_newest() }
    }

    /// The oldest job pushed here that nobody has taken.
    #[cold]
    pub(super) fn take_oldest(&self) -> Option<Found> {
        self.deque.open(); // taken as thieves take it
        loop {
            match self.shared.seat(self.index).steal_oldest() {
                Steal::Taken(job) => return Some(Found { job, from: self.index }),
                Steal::Empty => return None,
                Steal::Lost | Steal::Kept => {} // a thief was faster
            }
        }
    }

    /// Whether tasks of this worker's own wait for it, or for a thief, in its deque.
    ///
    /// # Examples
    /// ```
    /// locksley::Pool::new(1)?.run(|worker| {
    ///     assert!(!worker.has_own_tasks());
    ///     worker.spawn(|_| ());
    ///     assert!(worker.has_own_tasks());
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn has_own_tasks(&self) -> bool {
        self.shared.seat(self.index).has_tasks()
    }

    /// Whether that is known of its deque.
    pub(super) fn holds_one_at_most(&self) -> bool {
        #[cfg(feature = "alternatives")]
        if self.instead.is_some() {
            return false;
        }
        self.deque.holds_one_at_most()
    }

    /// Whether nothing waits for it but what it is about, and it comes back to look for more when it is done with that.
    pub(crate) fn is_about_to_hunt(&self) -> bool {
        let comes_back = !self.is_guest && !self.is_away.get();
        comes_back && self.seat().seems_empty() && !self.has_ready_stack() && !self.has_mail()
    }

    /// Whether its tasks are kept in another deque than the built-in one.
    pub(crate) fn has_other_deque(&self) -> bool {
        #[cfg(feature = "alternatives")]
        return self.instead.is_some();
        #[cfg(not(feature = "alternatives"))]
        false
    }
}

/// What the owner of an open deque does after a push. When it has been left alone for long, it may close the deque, and then
/// pushes without caring for those who sleep: whoever falls asleep, or hunts no more while others sleep, has it
/// opened and looks.
pub(crate) fn care_for_sleepers<T>(deque: &ChaseLevOwner<T>, sleep: &Sleep, summons: &Summons) {
    sleep.work_was_pushed(summons);
    if deque.should_close() && deque.close() && sleep.relies_on_pushes() {
        deque.open();
    }
}
