//! What still runs in the child of a process that was forked in a task: what that task waits for, and what it has pushed since.
//!
//! The child has a copy of everything that its worker had, and the parent runs all that. See the README of pools, "After a fork".

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::ptr::NonNull;

use super::waiting::Awaited;
use crate::deque::ChaseLevOwner;
use crate::hunt::Found;
use crate::job::{self, Job, Role};
use crate::latch::Flag;
use crate::unwind::AbortOnUnwind;
use crate::worker::Worker;

/// What a worker's deque held when the process forked, as the child has it. In a child of a child, also what the child has pushed.
///
/// To the deque it counts as stolen. So its indices do not recur: no frame of before takes what the child pushes for its own.
///
/// A word may lead into the frame of a thread that is not there any more (the worker has pushed what it took from the pool's inbox), whose
/// memory the next thread gets. So what is to be known of it is read by the handler of the fork, and kept in the word.
#[derive(Debug, Default)]
pub(crate) struct Inherited {
    /// Where it lies in the deque, as long as it was not brought to safety: the handler of the fork must not allocate.
    first: Cell<Option<i64>>,
    end: Cell<i64>,
    /// What was brought to safety and nobody has waited for yet, the oldest first.
    words: RefCell<Vec<Word>>,
}

/// A job's word. Its lowest bit says that the job may be looked at in the child.
type Word = NonNull<Job>;

const MAY_BE_READ: usize = 1;

/// What is kept of a job: nothing, if nobody goes on when it has run. To be called when nobody has written over anything yet.
fn word_of(job: NonNull<Job>) -> Option<Word> {
    // SAFETY: it was in the deque, so it has not run; and as the process was forked just now, it is there even if its thread is not.
    match unsafe { job::role(job) } {
        // It is known by its address. Where thieves push what they have stolen, it may be in any thread's frame.
        Role::Fork => Some(job),
        // On the heap.
        Role::Scoped | Role::Interval => Some(job.map_addr(|address| address | MAY_BE_READ)),
        Role::Followed | Role::Other => None,
    }
}

/// The job, if it may be looked at.
fn readable(word: Word) -> Option<NonNull<Job>> {
    let may_be_read = word.addr().get() & MAY_BE_READ != 0;
    may_be_read.then(|| NonNull::new(word.as_ptr().map_addr(|address| address & !MAY_BE_READ)))?
}

impl Inherited {
    /// To be called in the child at once, for each worker that the thread is, or was.
    pub(crate) fn lies_in(&self, deque: &ChaseLevOwner<Job>) {
        let Range { start, end } = deque.lose_all();
        if self.lies_there() {
            // Since an earlier fork, and nothing was pushed since, or it would not lie there.
            debug_assert!(start == end, "what is pushed brings that to safety");
            return;
        }
        deque.replace_lost(start..end, word_of);
        self.first.set(Some(start));
        self.end.set(end);
    }

    /// Whether it has not been brought to safety.
    #[inline]
    pub(crate) fn lies_there(&self) -> bool {
        self.first.get().is_some()
    }

    /// Keeps what `fetch` brings from where it lies, if this was not done before.
    #[cold]
    pub(crate) fn secure(&self, fetch: impl FnOnce(Range<i64>) -> Vec<Word>) {
        if let Some(first) = self.first.take() {
            self.words.borrow_mut().extend(fetch(first..self.end.get()));
        }
    }

    /// The words for what another deque than the built-in one gives, the newest first. The handler cannot do this, since it may be locked. So these are
    /// looked at when they are wanted first; it is for comparisons only.
    #[cfg(feature = "alternatives")]
    pub(crate) fn words_of(newest_first: impl Iterator<Item = NonNull<Job>>) -> Vec<Word> {
        let mut words: Vec<_> = newest_first.filter_map(word_of).collect();
        words.reverse();
        words
    }

    /// That job, if it is there.
    fn take(&self, job: NonNull<Job>) -> Option<NonNull<Job>> {
        self.take_newest(|word| (word == job).then_some(job))
    }

    /// The newest task of a scope, or interval of a root.
    fn take_of(&self, scope: NonNull<()>) -> Option<NonNull<Job>> {
        // SAFETY: it has not run here, and who was to run it is the parent; so it is alive as long as whoever waits for it.
        let is_its = |&job: &NonNull<Job>| unsafe { job::scope(job) } == Some(scope);
        self.take_newest(|word| readable(word).filter(is_its))
    }

    fn take_newest(&self, wanted: impl Fn(Word) -> Option<NonNull<Job>>) -> Option<NonNull<Job>> {
        let mut words = self.words.borrow_mut();
        let (newest, job) = (0..words.len()).rev().find_map(|n| Some((n, wanted(words[n])?)))?;
        words.remove(newest);
        Some(job)
    }
}

impl Worker {
    /// As [`recover`](Self::recover). If somebody else has the job, the process ends.
    #[cold]
    pub(crate) fn recover_in_a_child(&self, job: NonNull<Job>, end: &Flag) -> bool {
        let abort = AbortOnUnwind("a panic came out of a task");
        while !end.is_set() {
            let newest = self.take_in_a_child().map(|newest| newest.job);
            match newest.or_else(|| self.inherited().take(job)) {
                Some(newest) if newest == job => {
                    abort.disarm();
                    return true;
                }
                Some(newer) => self.execute(Found { job: newer, from: self.seat_index() }),
                None => self.shared().end_of_the_lost(),
            }
        }
        abort.disarm();
        false
    }

    /// Waits for a scope, or a root of intervals. If somebody else has a task of it, the process ends; and so it does if one was spawned in the
    /// child by who did not have the worker at hand: it is in the pool's inbox, among what other threads have sent, whose frames are gone.
    #[cold]
    pub(super) fn wait_in_a_child(&self, event: &Flag, (scope, below): Awaited<'_>) {
        let abort = AbortOnUnwind("a panic came out of a task");
        while !event.is_set() {
            let other = || self.inherited().take_of(scope).or_else(|| below?.take());
            let other = || Some(Found { job: other()?, from: self.seat_index() });
            let found = self.take_in_a_child().or_else(other);
            match found.or_else(|| self.take_mail_of(scope)) {
                Some(found) => self.execute(found),
                None => self.shared().end_of_the_lost(),
            }
        }
        abort.disarm();
    }
}
