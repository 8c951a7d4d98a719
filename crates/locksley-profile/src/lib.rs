//! A profiler for [Locksley](locksley)'s pools: work, span, and the processors that were granted.
//!
//! Use it if a program gets slower, or no faster, with more workers. It is for measurements: an
//! observed pool costs more for each fork.
//!
//! A [`Profiler`] is an [observer](locksley::extend::Observer) of one pool. It adds up the time of
//! all tasks (the work T1), finds the longest path of tasks that come after each other (the span
//! T∞), and compares both with the processors that the system granted. Its [`Report`] says why a
//! program is slower than its number of workers suggests: too little parallelism, too few
//! processors, a quota, or the runtime.
//!
//! # Examples
//! ```
//! use locksley::{Pool, Worker};
//! use locksley_profile::Profiler;
//!
//! fn sum(worker: &Worker, numbers: &[u64]) -> u64 {
//!     if numbers.len() <= 1000 {
//!         return numbers.iter().sum();
//!     }
//!     let (left, right) = numbers.split_at(numbers.len() / 2);
//!     let (a, b) = worker.join(|w| sum(w, left), |w| sum(w, right));
//!     a + b
//! }
//!
//! let profiler = Profiler::new();
//! let pool = Pool::builder().workers(2).observer(profiler.clone()).build()?;
//! let numbers = vec![1; 1 << 20];
//! let (total, report) = profiler.measure(&pool, |worker| sum(worker, &numbers));
//! assert_eq!(total, 1 << 20);
//! assert!(report.span <= report.work);
//! println!("{report}");
//! # Ok::<(), locksley::BuildError>(())
//! ```
//!
//! [`Report`] defines each figure.

mod advice;
mod clock;
mod grant;
mod proc;
mod region;
mod report;
mod slots;

use std::sync::Arc;

use locksley::{Pool, Worker, extend};

pub use grant::{Grant, GrantBasis, GrantMeter};
pub use report::Report;

use region::{Figures, Start};
use slots::Slots;

/// Profiles one pool. A clone is the same profiler.
///
/// Each fork of a profiled pool costs some tens of nanoseconds more. The figures include that.
///
/// # Examples
/// See the [crate].
#[derive(Clone, Debug)]
pub struct Profiler(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    slots: Slots,
    start: Start,
}

impl Profiler {
    /// Makes a profiler for [`PoolBuilder::observer`](locksley::PoolBuilder::observer).
    ///
    /// Use one profiler for one pool. A profiler knows workers by their numbers, which are the same
    /// in every pool, so it would mix the figures of two pools.
    #[must_use]
    pub fn new() -> Self {
        Self::with_slots(Slots::new(clock::Clock::best()))
    }

    fn with_slots(slots: Slots) -> Self {
        Self(Arc::new(Inner { slots, start: Start::of_pool() }))
    }

    /// [Runs](Pool::install) `task` in the pool, and reports its span and the work of the pool
    /// meanwhile.
    ///
    /// The span is that of `task` and of all tasks for which it waits. Work, tasks and times are
    /// those of the whole pool while `task` runs: measure one region at a time. If this profiler is
    /// not the observer of `pool`, work, span and tasks are 0.
    ///
    /// # Panics
    /// If the task panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// use std::thread::sleep;
    /// use std::time::Duration;
    ///
    /// let profiler = locksley_profile::Profiler::new();
    /// let pool = locksley::Pool::builder().workers(2).observer(profiler.clone()).build()?;
    /// let ((), report) = profiler.measure(&pool, |worker| {
    ///     let sleepy = |_: &locksley::Worker| sleep(Duration::from_millis(5));
    ///     worker.join(sleepy, sleepy);
    /// });
    /// assert!(report.work >= Duration::from_millis(9));
    /// assert!(report.span < report.work);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn measure<F, R>(&self, pool: &Pool, task: F) -> (R, Report)
    where
        F: FnOnce(&Worker) -> R + Send,
        R: Send,
    {
        let start = Start::of_region(pool);
        let (result, before, after) = pool.install(|worker| {
            let before = self.figures();
            let result = task(worker);
            (result, before, self.figures())
        });
        (result, start.report(pool, self.0.slots.clock(), after.since(before)))
    }

    /// Reports the work of the pool since the profiler was made.
    ///
    /// The span is the longest path of any task. Each call of [`Pool::install`] from a thread that
    /// is no worker begins a new path, even if one call follows another. If this profiler is not
    /// the observer of `pool`, work, span and tasks are 0.
    ///
    /// # Examples
    /// ```
    /// let profiler = locksley_profile::Profiler::new();
    /// let pool = locksley::Pool::builder().workers(2).observer(profiler.clone()).build()?;
    /// pool.install(|w| w.join(|_| (), |_| ()));
    /// assert!(profiler.report(&pool).tasks >= 2);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn report(&self, pool: &Pool) -> Report {
        let Inner { slots, start } = &*self.0;
        let figures = Figures { path: slots.longest(), totals: slots.totals() };
        start.report(pool, slots.clock(), figures)
    }

    /// The path to this moment of the calling task, and the totals of the pool.
    fn figures(&self) -> Figures {
        let path = extend::stamp().unwrap_or_default();
        Figures { path, totals: self.0.slots.totals() }
    }
}

impl Default for Profiler {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
