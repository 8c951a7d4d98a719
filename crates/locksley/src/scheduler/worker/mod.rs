//! A worker: a thread of a pool that runs tasks, and the context that it passes to each of them.
//!
//! | file | what |
//! |---|---|
//! | `current.rs` | the worker that a thread is |
//! | `run_loop.rs` | the loop: until the pool is closed, or until a replacement is released |
//! | `wait.rs` | waits: runs descendants of what it waits for, else parks |
//! | `backoff.rs` | how long a wait spins and yields before it parks |
//! | `replaced.rs` | the thread blocks, and a replacement works under its index |
//! | `parker.rs` | where the thread blocks meanwhile |
//! | `single_steps.rs` | runs one task, for code that waits in its own way |
//! | `deque.rs` | what a worker pushes to its own deque, and takes back |
//! | `inboxes.rs` | what is sent to a worker, to its place, and to all |
//! | `fairness.rs` | when a worker with work takes a task from another queue |

mod backoff;
mod current;
mod deque;
mod fairness;
mod inboxes;
#[cfg(all(test, loom))]
mod models;
mod parker;
mod replaced;
mod run_loop;
mod single_steps;
#[cfg(all(test, not(loom)))]
mod tests;
mod wait;

use std::any::Any;
use std::cell::{Cell, RefCell, RefMut};
use std::fmt;
use std::sync::Arc;

use crate::deque::OwnDeque;
use crate::primitive::Instant;
use crate::scheduler::job::Job;
use crate::scheduler::search::Searcher;
use crate::scheduler::{PlaceState, Shared, Slot};
use crate::sleep::WakeToken;
use crate::stats::Counters;
use crate::trace::Event;

pub(crate) use parker::WaitParker;

/// A worker of a pool, as its tasks see it.
///
/// Tasks of a pool receive the worker that runs them; [`with_current`](Self::with_current) finds it
/// elsewhere. [`join`](Self::join) does the same as the [function](crate::join()) of that name, but
/// need not look up which worker the thread is.
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
/// assert_eq!(pool.install(|worker| fib(worker, 16)), 987);
/// # Ok::<(), locksley::BuildError>(())
/// ```
///
/// A worker stays on its thread. Other threads cannot have it, nor can tasks, which may run on
/// another thread:
/// ```compile_fail,E0277
/// let pool = locksley::Pool::new(2).unwrap();
/// pool.install(|worker| worker.join(|_| (), |_| worker.index()));
/// ```
#[repr(C)] // hot fields first: shorter instructions
pub struct Worker {
    pub(crate) deque: OwnDeque<Job>,
    slot_index: usize,
    shared: Arc<Shared>,
    pub(crate) wake_token: WakeToken,
    /// Made at the first search of an external thread, which seldom searches.
    search: RefCell<Option<Searcher>>,
    /// Counts the polls of tasks, and the tasks that were sent to its place.
    polls: Cell<u32>,
    /// When it last looked into its other queues.
    looked: Cell<Option<Instant>>,
    /// True if its latest polls were shorter than it takes to move a task.
    has_brief_polls: Cell<bool>,
    /// True if a pinned task comes next.
    runs_pinned_next: Cell<bool>,
    /// The index that tasks see: its own, or that of the worker that it replaces or has taken over.
    index: Cell<usize>,
    /// Set when this worker wakes an external thread. If all workers are awake then, it sleeps
    /// once, so that the next external call finds a worker to take over.
    sleeps_for_callers: Cell<bool>,
    /// While its thread may block (`replaced.rs`): whether it has a replacement.
    has_replacement: Cell<Option<bool>>,
    /// True if its thread belongs to the program: it runs tasks only while it waits, or is
    /// external.
    pub(crate) is_borrowed: bool,
    /// True if an external thread acts as the worker while its own thread is parked
    /// (`../external.rs`).
    is_external: bool,
    data: Option<Box<dyn Any>>,
}

impl Worker {
    /// The worker in slot `slot_index`. Its index is the same, except for a replacement and an
    /// external thread. The idle policy prepares the search of all but external threads.
    pub(crate) fn new(
        index: usize,
        slot_index: usize,
        deque: OwnDeque<Job>,
        shared: Arc<Shared>,
        data: Option<Box<dyn Any>>,
    ) -> Self {
        let is_external = (shared.workers..shared.first_replacement()).contains(&slot_index);
        // It wakes workers of its own place first.
        let wake_token = WakeToken::with_neighbours(shared.neighbours_of(index));
        let worker = Self {
            deque,
            slot_index,
            shared,
            wake_token,
            search: RefCell::new(None),
            polls: Cell::new(0),
            looked: Cell::new(None),
            has_brief_polls: Cell::new(false),
            runs_pinned_next: Cell::new(false),
            index: Cell::new(index),
            sleeps_for_callers: Cell::new(false),
            has_replacement: Cell::new(None),
            is_borrowed: is_external,
            is_external,
            data,
        };
        if !is_external {
            drop(worker.search());
        }
        worker.shared.trace(|| Event::Attached { slot: slot_index, place: worker.place() });
        if worker.shared.observer().is_some() {
            worker.deque.redirect();
        }
        worker
    }

    /// Ends the worker, and gives back what outlives it.
    pub(crate) fn into_deque(self) -> OwnDeque<Job> {
        self.deque
    }

    /// Records that it has set the latch of an external thread.
    pub(crate) fn record_external_wakeup(&self) {
        self.sleeps_for_callers.set(self.shared.external_slots.allows_external_threads());
        self.shared.record_external_wakeup();
    }

    /// True once after it has woken an external thread, if all workers are awake.
    pub(crate) fn take_sleeps_for_callers(&self) -> bool {
        self.sleeps_for_callers.take() && self.shared.sleep.snapshot().asleep() == 0
    }

    fn search(&self) -> RefMut<'_, Searcher> {
        let make = || Searcher::new(self.index(), self.slot_index, &self.shared);
        RefMut::map(self.search.borrow_mut(), |search| search.get_or_insert_with(make))
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.slot().counters
    }

    pub(crate) fn slot(&self) -> &Slot {
        self.shared.slot(self.slot_index)
    }

    /// The index of its slot. The same as [`index`](Self::index), except for a replacement and an
    /// external thread.
    #[inline]
    pub(crate) fn slot_index(&self) -> usize {
        self.slot_index
    }

    /// Its place, if the pool has several.
    #[inline]
    pub(crate) fn place_state(&self) -> Option<&PlaceState> {
        // Checked first: with one place, this does not read the index.
        let place_states = self.shared.place_states();
        if place_states.is_empty() { None } else { Some(&place_states[self.place()]) }
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn belongs_to(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    /// The index of this worker in its pool, from 0. A replacement, or an external thread, has the
    /// index of the worker that it acts for.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(3)?;
    /// assert!(pool.install(|w| w.index()) < 3);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn index(&self) -> usize {
        self.index.get()
    }

    /// The number of workers of the pool, including those that only sleep. The same as
    /// [`Pool::workers`](crate::Pool::workers).
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(3)?;
    /// assert_eq!(pool.install(|w| w.workers()), 3);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn workers(&self) -> usize {
        self.shared.workers
    }

    /// What [`PoolBuilder::worker_data`](crate::PoolBuilder::worker_data) made for this worker, if
    /// its type is `T`.
    ///
    /// The reference is shared, because a join in a task may run another task on the same worker.
    /// Use a `Cell` or a `RefCell` to change the data, and do not hold a borrow across a join.
    ///
    /// # Examples
    /// ```
    /// use std::cell::Cell;
    ///
    /// let builder = locksley::Pool::builder().workers(2);
    /// let pool = builder.worker_data(|_index| Cell::new(0_u64)).build()?;
    /// pool.install(|w| {
    ///     let count = w.data::<Cell<u64>>().unwrap();
    ///     count.set(count.get() + 1);
    ///     assert_eq!(count.get(), 1);
    ///     assert!(w.data::<String>().is_none());
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn data<T: 'static>(&self) -> Option<&T> {
        self.data.as_ref()?.downcast_ref()
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
