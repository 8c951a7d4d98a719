//! A worker: the thread of a pool that runs tasks, and the context that it passes to each of them.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;

#[cfg(feature = "alternatives")]
use crate::deque::alternatives::AnyOwner;
use crate::deque::{ChaseLevOwner, Owner, Pushed, TakeBack};
use crate::hunt::{Found, Hunt};
use crate::job::{self, Job};
use crate::latch::Flag;
use crate::meter::Counters;
use crate::pool::{Seat, Shared};
use crate::sleep::{Sleep, Summons};
use crate::unwind::AbortOnUnwind;

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
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
    index: usize,
    shared: Arc<Shared>,
    summons: Summons,
    hunt: RefCell<Hunt>,
    data: Box<dyn Any>,
    #[cfg(feature = "alternatives")]
    instead: Option<AnyOwner<Job>>,
}

/// A worker's deque, as it is handed to its thread.
pub(crate) struct OwnDeque {
    pub(crate) owner: ChaseLevOwner<Job>,
    /// Where the tasks are kept in truth, if this is there.
    #[cfg(feature = "alternatives")]
    pub(crate) instead: Option<AnyOwner<Job>>,
}

impl Worker {
    pub(crate) fn new(
        index: usize,
        deque: OwnDeque,
        shared: Arc<Shared>,
        data: Box<dyn Any>,
    ) -> Self {
        let hunt = RefCell::new(Hunt::new(index, &shared));
        Self {
            deque: deque.owner,
            index,
            shared,
            summons: Summons::default(),
            hunt,
            data,
            #[cfg(feature = "alternatives")]
            instead: deque.instead,
        }
    }

    /// The worker that the calling thread is, in whatever pool.
    #[inline]
    pub(crate) fn with_current<R>(use_it: impl FnOnce(Option<&Worker>) -> R) -> R {
        let current = CURRENT.with(Cell::get);
        // SAFETY: null, or set by `serve` on this thread, which resets it before the worker is gone.
        use_it(unsafe { current.as_ref() })
    }

    /// Runs this worker on the calling thread until its pool is closed.
    pub(crate) fn serve(&self) {
        CURRENT.set(self);
        self.work_until(self.shared.closed());
        CURRENT.set(ptr::null());
    }

    /// Runs tasks until `done`: own ones, newest first, or else what a hunt brings.
    pub(crate) fn work_until(&self, done: &Flag) {
        // Whoever waits here has a frame that others point into. Tasks do not unwind into it: their panics are caught.
        let abort = AbortOnUnwind("a panic came out of a task");
        while !done.is_set() {
            if let Some(found) = self.take_newest().or_else(|| self.hunt(done)) {
                self.execute(found);
            }
        }
        abort.disarm();
    }

    /// Waits for `job`, which was pushed here, or takes it back. Says whether it did that.
    #[cold]
    #[inline(never)]
    pub(crate) fn recover(&self, job: NonNull<Job>, end: &Flag) -> bool {
        let abort = AbortOnUnwind("a panic came out of a task");
        while !end.is_set() {
            match self.take_newest() {
                Some(newest) if newest.job == job => {
                    abort.disarm();
                    return true;
                }
                // Something was left behind that is newer, and that nobody waited for.
                Some(newer) => self.execute(newer),
                None => self.work_until(end),
            }
        }
        abort.disarm();
        false
    }

    fn hunt(&self, done: &Flag) -> Option<Found> {
        self.deque.open();
        self.hunt.borrow_mut().run(self, done)
    }

    /// Makes a job available to all workers.
    pub(crate) fn push(&self, job: NonNull<Job>) {
        let (index, done) = self.fork(job);
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
            Err(job) => self.execute(Found { job, from: self.index }),
        }
        abort.disarm();
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

    /// The newest job pushed here that nobody has taken.
    fn take_newest(&self) -> Option<Found> {
        #[cfg(feature = "alternatives")]
        if let Some(instead) = &self.instead {
            return instead.pop_newest().map(|job| Found { job, from: self.index });
        }
        self.deque.pop_newest().map(|job| Found { job, from: self.index })
    }

    fn execute(&self, found: Found) {
        self.counters().tasks.increment();
        // SAFETY: jobs in deques and inboxes are alive until they have run, and this one was taken by us alone, from
        // where `found` says.
        unsafe { job::execute(found.job, self, found.from) }
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

    /// This worker's number in its pool, from 0.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(3)?;
    /// assert!(pool.run(|w| w.index()) < 3);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
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
            .field("index", &self.index)
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}
