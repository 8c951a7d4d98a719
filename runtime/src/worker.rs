//! A worker: the thread of a pool that runs tasks, and the context that it passes to each of them.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::allowance::BETWEEN_READINGS;
#[cfg(feature = "alternatives")]
use crate::deque::alternatives::AnyOwner;
use crate::deque::{ChaseLevOwner, Inbox, Owner, Pushed, Reader, Steal, TakeBack};
use crate::fiber::Stacks;
use crate::fork::Inherited;
use crate::held::{self, Place, Wait};
use crate::hunt::{Activity, Found, Goal, Hunt};
use crate::job::{self, Job, Line};
use crate::kahn::{Doubts, Payer};
use crate::latch::Flag;
use crate::meter::{Counters, Running};
use crate::os;
use crate::pool::{Pool, Quarter, Seat, Shared};
use crate::sleep::{Sleep, Summons};
use crate::strand::Half;
use crate::unwind::AbortOnUnwind;

/// After so many polls a worker takes up what waits elsewhere. A prime, as other schedulers have it, so that it does not keep step
/// with what tasks do.
const LOOK_ELSEWHERE_AFTER: u32 = 61;

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
    /// The one that the thread became last, of those whose frames it has: the current one, or, in a child of the process, maybe one that it
    /// was before.
    static INNERMOST: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// A worker of a pool, as its tasks see it: Hood's "serial machine" ("Hood: A User-Level Threads Library for
/// Multiprogrammed Multiprocessors", 1998, section 2).
///
/// Every task receives the worker that runs it. Its methods do what the functions of the same names do, without looking
/// up first which worker the thread is.
///
/// # Examples
/// ```
/// use locksley::{Pool, Worker};
///
/// fn fib(worker: &Worker, n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = worker.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
///     a + b
/// }
///
/// let pool = Pool::new(2)?;
/// assert_eq!(pool.run(|worker| fib(worker, 16)), 987);
/// # Ok::<(), locksley::BuildError>(())
/// ```
///
/// A worker stays on its thread. Other threads, and tasks, which may run elsewhere, cannot have it:
/// ```compile_fail,E0277
/// let pool = locksley::Pool::new(2).unwrap();
/// pool.run(|worker| worker.join(|_| (), |_| worker.index()));
/// ```
#[repr(C)] // what is used most first: shorter instructions
pub struct Worker {
    deque: ChaseLevOwner<Job>,
    /// Where it sits.
    index: usize,
    shared: Arc<Shared>,
    summons: Summons,
    /// The strand that it runs, if that is metered.
    running: Running<Half<'static>>,
    hunt: RefCell<Hunt>,
    mail: Reader<Job>,
    /// How many times it has polled a task, or found something that was sent to its place.
    polls: Cell<u32>,
    /// What its tasks know it by: its own index, or that of the worker that it stands in for.
    number: Cell<usize>,
    /// Whether it is in a call that blocks.
    is_away: Cell<bool>,
    /// Networks to be looked at when there is nothing to do.
    doubts: Doubts,
    /// The process that it is in.
    payer: Payer,
    /// In a child of the process: what its deque held before.
    inherited: Inherited,
    /// What was the innermost one when the thread became this one.
    outer: Cell<*const Worker>,
    /// Whether its thread is somebody else's, and works for the pool only when it waits for something or says so.
    is_guest: bool,
    stacks: Stacks,
    data: Box<dyn Any>,
    #[cfg(feature = "alternatives")]
    instead: Option<AnyOwner<Job>>,
}

/// A worker's own ends of its deque and its mailbox, as they are handed to its thread.
pub(crate) struct OwnEnds {
    pub(crate) owner: ChaseLevOwner<Job>,
    pub(crate) mail: Reader<Job>,
    /// Where the tasks are kept in truth, if this is there.
    #[cfg(feature = "alternatives")]
    pub(crate) instead: Option<AnyOwner<Job>>,
}

impl Worker {
    pub(crate) fn new(
        index: usize,
        ends: OwnEnds,
        shared: Arc<Shared>,
        data: Box<dyn Any>,
    ) -> Self {
        Self::stand_in(index, index, ends, shared, data)
    }

    /// One that stands in for the worker with that number, from another seat.
    pub(crate) fn stand_in(
        number: usize,
        index: usize,
        ends: OwnEnds,
        shared: Arc<Shared>,
        data: Box<dyn Any>,
    ) -> Self {
        let hunt = RefCell::new(Hunt::new(number, index, &shared));
        let summons = shared.summons_of(number);
        Self {
            deque: ends.owner,
            index,
            shared,
            summons,
            running: Running::nothing(),
            hunt,
            mail: ends.mail,
            polls: Cell::new(0),
            number: Cell::new(number),
            is_away: Cell::new(false),
            doubts: Doubts::default(),
            payer: Payer::default(),
            inherited: Inherited::default(),
            outer: Cell::new(ptr::null()),
            is_guest: false,
            stacks: Stacks::new(),
            data,
            #[cfg(feature = "alternatives")]
            instead: ends.instead,
        }
    }

    /// Makes the calling thread this worker for as long as it lives. It is no worker yet.
    pub(crate) fn settle(self) {
        // Never freed: whoever is further up on this thread's stack may hold a reference at any time.
        let worker: &'static Self = Box::leak(Box::new(Self { is_guest: true, ..self }));
        CURRENT.set(worker);
        worker.outer.set(INNERMOST.replace(worker));
    }

    pub(crate) fn is_guest(&self) -> bool {
        self.is_guest
    }

    pub(crate) fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    /// Whether the calling thread is this worker now, and not for the time being one of another pool.
    pub(crate) fn is_current(&self) -> bool {
        ptr::eq(CURRENT.with(Cell::get), self)
    }

    /// Calls `use_it` with the worker that the calling thread is, in whatever pool; with `None` if it is not one.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, Worker};
    ///
    /// let index = || Worker::with_current(|current| current.map(Worker::index));
    /// assert_eq!(index(), None);
    /// assert_eq!(Pool::new(1)?.run(|_| index()), Some(0));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[inline]
    pub fn with_current<R>(use_it: impl FnOnce(Option<&Worker>) -> R) -> R {
        let current = CURRENT.with(Cell::get);
        // SAFETY: null, or set on this thread by `as_current`, which resets it before the worker is gone, or by `settle`,
        // whose worker is never gone.
        use_it(unsafe { current.as_ref() })
    }

    /// The address of the worker that the calling thread is; 0 if it is none.
    #[inline]
    #[cfg_attr(all(test, loom), allow(dead_code, reason = "models have no workers"))]
    pub(crate) fn current_address() -> usize {
        CURRENT.with(Cell::get).addr()
    }

    /// The calling thread is no worker any more: it is the only one in the child of a process. To be called there at once.
    pub(crate) fn forget_current() {
        CURRENT.set(ptr::null());
        // Also those whom it is for another pool's sake, and whom it was before an earlier fork, and pushed to since.
        let mut worker = INNERMOST.get();
        // SAFETY: null, or one whose frames this thread has: set by `as_current`, which resets it before the worker is gone, or by
        // `settle`, whose worker is never gone.
        while let Some(this) = unsafe { worker.as_ref() } {
            this.inherited.lies_in(&this.deque);
            this.shared.unbind_in_a_child(this.index);
            worker = this.outer.get();
        }
    }

    /// In a child of the process in which the pool was built: the newest job that this worker has pushed there.
    pub(crate) fn take_in_a_child(&self) -> Option<Found> {
        self.inherit();
        self.take_newest()
    }

    /// In such a child: what was in the deque when the process forked, which the parent runs; but in the child somebody may wait for it.
    pub(crate) fn inherited(&self) -> &Inherited {
        self.inherit();
        &self.inherited
    }

    /// Brings to safety what was in the deque, before anything is written over it.
    fn inherit(&self) {
        self.inherited.secure(|indices| {
            #[cfg(feature = "alternatives")]
            if let Some(instead) = &self.instead {
                return Inherited::words_of(std::iter::from_fn(|| instead.pop_newest()));
            }
            self.deque.lost(indices).collect()
        });
    }

    /// Runs this worker on the calling thread until its pool is closed.
    pub(crate) fn serve(&self) {
        self.as_current(|| self.work_until_closed());
    }

    /// Makes this the worker that the calling thread is, while `what` runs.
    pub(crate) fn as_current(&self, what: impl FnOnce()) {
        struct Restore<'w>(*const Worker, &'w Worker);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                CURRENT.set(self.0);
                INNERMOST.set(self.1.outer.get());
            }
        }
        // A thread that is a worker already can serve another pool in between.
        let _restore = Restore(CURRENT.replace(self), self);
        self.outer.set(INNERMOST.replace(self));
        what();
    }

    /// Runs tasks until the pool is closed: own ones, or else what a hunt brings; but first of all stacks that waited and are
    /// ready.
    pub(crate) fn work_until_closed(&self) {
        // Tasks do not unwind: their panics are caught.
        let abort = AbortOnUnwind("a panic came out of a task");
        let closed = self.shared.closed();
        while !closed.is_set() {
            if self.shared.is_lost() {
                self.shared.end_of_the_lost();
            }
            if let Some(found) = self.next(closed) {
                self.execute(found);
                self.doubts.executed();
            }
        }
        abort.disarm();
    }

    /// The same until `done`, for a frame on the thread's own stack: what is found runs on stacks of its own, where there are any,
    /// and on top of the frame where there are not.
    pub(crate) fn work_until(&self, done: &Flag) {
        self.work_on(done, || ());
    }

    /// The same, and calls `between` before it looks for anything, and before it begins what it has found.
    pub(crate) fn work_on(&self, done: &Flag, between: impl Fn()) {
        // Whoever waits here has a frame that others point into.
        let abort = AbortOnUnwind("a panic came out of a task");
        let _unable = self.waits_on_top();
        while !done.is_set() {
            between();
            if let Some(found) = self.next(done) {
                between();
                self.start(found);
                self.doubts.executed();
            }
        }
        self.settle_as_guest();
        abort.disarm();
    }

    /// Resumes a stack that is ready, or finds a task. Neither if `done`.
    fn next(&self, done: &Flag) -> Option<Found> {
        if self.has_ready_stack() {
            if self.is_others_turn() {
                return self.take_what_waits_here();
            }
            self.resume_one();
            self.doubts.executed();
            return None;
        }
        let found = self.take_own().or_else(|| self.take_addressed_in_turn());
        found.or_else(|| self.hunt(done))
    }

    /// A guest that goes on with what is its own may not come back to look at what it has noted.
    pub(crate) fn settle_as_guest(&self) {
        if self.is_guest {
            self.doubts.settle();
            self.seat().spends_time_on(None);
        }
    }

    /// Waits for `job`, which was pushed here, or takes it back. Says whether it did that.
    #[cold]
    #[inline(never)]
    pub(crate) fn recover(&self, job: NonNull<Job>, end: &Flag) -> bool {
        if self.shared.is_lost() {
            return self.recover_in_a_child(job, end);
        }
        let abort = AbortOnUnwind("a panic came out of a task");
        self.payer.pay();
        while !end.is_set() {
            match self.take_newest() {
                Some(newest) if newest.job == job => {
                    self.settle_as_guest();
                    abort.disarm();
                    return true;
                }
                // Something was left behind that is newer, and that nobody waited for; by the first task, or by what ran here
                // while that one waited.
                Some(newer) => {
                    self.start(newer);
                    self.give_way();
                }
                None => self.wait_until(end),
            }
        }
        self.settle_as_guest();
        abort.disarm();
        false
    }

    fn hunt(&self, done: &Flag) -> Option<Found> {
        // As if: it also comes to an end if it always finds something. What is made ready here no hunt would take.
        if self.doubts.polled(LOOK_ELSEWHERE_AFTER as usize)
            && let Some(found) = self.take_own()
        {
            return Some(found);
        }
        self.deque.open();
        // Stacks that are ready while it cannot resume them are no reason to stop.
        let heeds_returns = self.may_switch();
        self.hunt.borrow_mut().run(self, Goal { done, heeds_returns })
    }

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

    /// A strand begins: whatever it pushes is to carry its path.
    pub(crate) fn divert(&self) {
        self.deque.divert();
    }

    /// It ends, or waits.
    pub(crate) fn divert_no_more(&self) {
        self.deque.divert_no_more();
    }

    #[inline]
    pub(crate) fn running(&self) -> &Running<Half<'static>> {
        &self.running
    }

    /// The same for a task that has become ready through the one that is run here, and comes next if that one waits: for a moment
    /// hunters leave it, if there is nothing else.
    pub(crate) fn push_next(&self, job: NonNull<Job>) {
        self.seat().is_to_run_next(self.deque_end());
        self.push(job);
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

    pub(crate) fn doubts(&self) -> &Doubts {
        &self.doubts
    }

    pub(crate) fn payer(&self) -> &Payer {
        &self.payer
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
    fn take_oldest(&self) -> Option<Found> {
        self.deque.open(); // taken as thieves take it
        loop {
            match self.shared.seat(self.index).steal_oldest() {
                Steal::Taken(job) => return Some(Found { job, from: self.index }),
                Steal::Empty => return None,
                Steal::Lost | Steal::Kept => {} // a thief was faster
            }
        }
    }

    /// What was sent to this worker and to no other.
    pub(crate) fn take_mail(&self) -> Option<Found> {
        let job = self.mail.take()?;
        self.counters().received.increment();
        Some(Found { job, from: self.index })
    }

    /// What was sent to this worker as a task of that scope.
    pub(crate) fn take_mail_of(&self, scope: NonNull<()>) -> Option<Found> {
        let job = self.mail.take_on(scope.as_ptr())?;
        self.counters().received.increment();
        Some(Found { job, from: self.index })
    }

    pub(crate) fn has_mail(&self) -> bool {
        !self.mail.is_empty()
    }

    fn take_local(&self) -> Option<Found> {
        let found = self.take_own().or_else(|| self.take_mail());
        found.or_else(|| self.receive_from(self.seat().inbox()))
    }

    /// The same, or what was sent to its place, or to the pool.
    pub(crate) fn take_what_waits_here(&self) -> Option<Found> {
        let found = self.take_local().or_else(|| self.take_addressed_in_turn());
        let found = found.or_else(|| self.receive_from(self.quarter()?.inbox()));
        found.or_else(|| self.take_sent())
    }

    /// What was sent to all, or to all who can go to another stack; the latter comes first, but for now and then.
    pub(crate) fn take_sent(&self) -> Option<Found> {
        let to_all = || self.receive_from(self.shared.inbox());
        if !self.shared.apart().is_used() {
            return to_all();
        }
        if self.counts_a_poll() {
            to_all().or_else(|| self.take_apart())
        } else {
            self.take_apart().or_else(to_all)
        }
    }

    /// A ready task that was sent to this worker, or to its place, if one is seen at a glance.
    pub(crate) fn take_addressed(&self) -> Option<Found> {
        let at_a_glance =
            |inbox: &Inbox<Job>| if inbox.looks_empty() { None } else { self.receive_from(inbox) };
        let found = at_a_glance(self.seat().inbox());
        found.or_else(|| at_a_glance(self.quarter()?.inbox()))
    }

    /// The same; but from time to time something comes first that was sent to all, or to this worker alone. Tasks for places that
    /// send others would keep it from that for ever.
    fn take_addressed_in_turn(&self) -> Option<Found> {
        let inbox = self.quarter().map(Quarter::inbox);
        let others_first = inbox.is_some_and(|it| !it.looks_empty()) && self.counts_a_poll();
        let letter = || self.take_mail();
        let sent = || self.take_sent();
        let found = others_first.then(|| {
            let turn = self.polls.get() / LOOK_ELSEWHERE_AFTER;
            if turn.is_multiple_of(2) { letter().or_else(sent) } else { sent().or_else(letter) }
        });
        found.flatten().or_else(|| self.take_addressed())
    }

    /// What its place has, if the pool has several.
    #[inline]
    pub(crate) fn quarter(&self) -> Option<&Quarter> {
        // The index is not looked at where there is one place.
        let quarters = self.shared.quarters();
        if quarters.is_empty() { None } else { Some(&quarters[self.place()]) }
    }

    /// It has taken a task of another worker.
    pub(crate) fn has_stolen_from(&self, victim: usize) {
        self.counters().steals.increment();
        let place = self.shared.place_of(victim);
        self.counters()
            .out_of_place
            .add(u64::from(place.is_some_and(|place| place != self.place())));
    }

    /// A job from this worker's inbox, or from the pool's.
    pub(crate) fn receive_from(&self, inbox: &Inbox<Job>) -> Option<Found> {
        let job = inbox.take()?;
        self.counters().received.increment();
        Some(Found { job, from: self.index })
    }

    /// Sends a ready task to another worker; any may take it.
    pub(crate) fn send_ready(&self, worker: usize, job: NonNull<Job>) {
        // SAFETY: whoever takes a word out of an inbox runs it, once; and this one is about to be sent.
        let job = unsafe { self.carried(job) };
        self.shared.pass_on(worker, job, &self.summons);
    }

    /// Puts a ready task behind those that this worker has.
    pub(crate) fn send_to_back(&self, job: NonNull<Job>) {
        self.send_ready(self.index, job);
    }

    /// To be called after each poll of a task. From time to time the worker then takes up what waits elsewhere, or has waited
    /// longest: tasks that wake each other would keep it from that for ever.
    pub(crate) fn has_polled(&self) {
        if self.counts_a_poll() {
            // What is found there does not come after what was polled.
            self.while_aside(|| self.look_elsewhere(self.polls.get() / LOOK_ELSEWHERE_AFTER));
        }
    }

    /// Says whether it is time to look elsewhere.
    fn counts_a_poll(&self) -> bool {
        let polls = self.polls.get().wrapping_add(1);
        self.polls.set(polls);
        polls.is_multiple_of(LOOK_ELSEWHERE_AFTER)
    }

    /// Takes one job, in turn from its own inbox, the pool's, the old end of its deque, its mailbox (or what needs a stack) or, if there are
    /// several, its place's inbox, or from the next of these where there is one; and makes it the next to be run, or runs it.
    #[cold]
    fn look_elsewhere(&self, turn: u32) {
        if self.shared.is_lost() {
            return; // what waits is the parent's
        }
        // It has work: it reads only if nobody else has for long.
        let reads = self.shared.is_reading_due_for(BETWEEN_READINGS);
        self.shared.attends_to_allowance(reads);
        self.doubts.polled(LOOK_ELSEWHERE_AFTER as usize);
        let quarter = self.quarter();
        let places = if quarter.is_some() { 5 } else { 4 };
        for place in (0..places).map(|n| turn.wrapping_add(n) % places) {
            let found = match place {
                0 => self.receive_from(self.seat().inbox()),
                1 => self.receive_from(self.shared.inbox()),
                // That comes next in any case; and to take it would open the deque.
                2 if self.shared.oldest_first() || self.holds_one_at_most() => None,
                2 => self.take_oldest(),
                3 if (turn / places).is_multiple_of(2) => {
                    self.take_mail().or_else(|| self.take_apart())
                }
                3 => self.take_apart().or_else(|| self.take_mail()),
                _ => quarter.and_then(|quarter| self.receive_from(quarter.inbox())),
            };
            match found {
                // Not everybody may run it; or what is pushed would be the last.
                Some(found) if place == 3 || self.shared.oldest_first() => {
                    return self.execute(found);
                }
                Some(found) => return self.push(found.job),
                None => {}
            }
        }
    }

    /// Whether that is known of its deque.
    fn holds_one_at_most(&self) -> bool {
        #[cfg(feature = "alternatives")]
        if self.instead.is_some() {
            return false;
        }
        self.deque.holds_one_at_most()
    }

    pub(crate) fn execute(&self, found: Found) {
        self.counters().tasks.increment();
        self.seat().now_runs(ptr::null_mut());
        let generation = os::generation();
        // SAFETY: jobs in deques and inboxes are alive until they have run, and this one was taken by us alone, from
        // where `found` says.
        held::apart(|| unsafe { job::execute(found.job, self, found.from) });
        if generation != os::generation() {
            self.shared.end_of_the_lost();
        }
    }

    /// Is about to call something that blocks; `false` if it has been already. If its time was none of the pool's, it is not meanwhile.
    pub(crate) fn goes_away(&self, is_elsewhere: bool) -> bool {
        // Also if it has been: this may be another process than the one that was in that call, or one that has done something since.
        // Nobody else looks at what it has noted, or pays for the process that it is in.
        self.doubts.settle();
        self.payer.pay();
        // For those who look there, to find it open.
        self.deque.open();
        let goes_away = !self.is_away.replace(true);
        if goes_away {
            self.is_seen_to(Activity::Sleeps, is_elsewhere);
        }
        goes_away
    }

    fn is_seen_to(&self, activity: Activity, is_elsewhere: bool) {
        self.seat().does(activity);
        if is_elsewhere {
            self.seat().spends_time_on(None);
        }
    }

    /// The call that blocks is over.
    pub(crate) fn is_back(&self, is_elsewhere: bool) {
        self.is_away.set(false);
        self.is_seen_to(Activity::Works, is_elsewhere);
    }

    pub(crate) fn takes_number(&self, number: usize) {
        self.number.set(number);
        if let Some(neighbours) = self.shared.neighbours_of(number) {
            self.summons.has_neighbours(neighbours);
        }
    }

    /// A stand-in works no more. It leaves what it has not run where it is, within reach of all; and says so.
    pub(crate) fn steps_down(&self) {
        // It may not come back to look at what it has noted.
        self.doubts.settle();
        self.deque.open();
        if self.has_own_tasks() || !self.seat().inbox().is_empty() {
            self.shared.sleep().work_was_sent();
        }
    }

    /// Where it sits: its index, but for a stand-in.
    #[inline]
    pub(crate) fn seat_index(&self) -> usize {
        self.index
    }

    /// A job begins that was stolen. If this worker has nothing else to give, whoever waits for that may look here for what lies
    /// below it, until the worker goes on to something else.
    pub(crate) fn begin_stolen(&self, job: NonNull<Job>) {
        if !self.has_own_tasks() {
            self.seat().now_runs(job.as_ptr());
        }
    }

    pub(crate) fn counters(&self) -> &Counters {
        self.seat().counters()
    }

    pub(crate) fn seat(&self) -> &Seat {
        self.shared.seat(self.index)
    }

    pub(crate) fn summons(&self) -> &Summons {
        &self.summons
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn belongs_to(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    /// Whether this is a worker of that pool.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    ///
    /// let (one, other) = (Pool::new(1)?, Pool::new(1)?);
    /// one.run(|worker| {
    ///     assert!(worker.is_of(&one));
    ///     assert!(!worker.is_of(&other));
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn is_of(&self, pool: &Pool) -> bool {
        self.belongs_to(pool.shared_now())
    }

    /// This worker's number in its pool, from 0. That of a stand-in is that of the worker which is in a
    /// [blocking call](Self::blocking).
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(3)?;
    /// assert!(pool.run(|w| w.index()) < 3);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn index(&self) -> usize {
        self.number.get()
    }

    /// How many workers its pool has.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(3)?;
    /// assert_eq!(pool.run(|w| w.workers()), 3);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn workers(&self) -> usize {
        self.shared.workers()
    }

    /// What [`PoolBuilder::worker_data`](crate::PoolBuilder::worker_data) made for this worker, if its type is `T`.
    ///
    /// A shared reference, because a join inside a task may run another task on the same worker: use a `Cell` or a
    /// `RefCell` to change it, and do not hold a borrow across a join.
    ///
    /// # Examples
    /// ```
    /// use std::cell::Cell;
    ///
    /// let pool = locksley::Pool::builder().workers(2).worker_data(|_index| Cell::new(0_u64)).build()?;
    /// pool.run(|w| {
    ///     let count = w.data::<Cell<u64>>().unwrap();
    ///     count.set(count.get() + 1);
    ///     assert_eq!(count.get(), 1);
    ///     assert!(w.data::<String>().is_none());
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn data<T: 'static>(&self) -> Option<&T> {
        self.data.downcast_ref()
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

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("index", &self.index())
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}
