//! A worker: the thread of a pool that runs tasks, and the context that it passes to each of them.
//!
//! | file | what |
//! |---|---|
//! | `current.rs` | which worker a thread is |
//! | `service.rs` | its loop: until the pool is closed, or until a replacement is released |
//! | `wait.rs` | how it waits: helps with descendants of what it waits for, else parks |
//! | `replaced.rs` | its thread blocks, and a replacement has its slot |
//! | `parker.rs` | where its thread blocks meanwhile |
//! | `step.rs` | one task at a time, for code that waits in its own way |
//! | `deque.rs` | what it pushes to its own deque, and takes back there |
//! | `inboxes.rs` | what is sent: to it, to its place, to all |
//! | `turns.rs` | when it takes up what waits elsewhere, though it has work |

mod current;
mod deque;
mod inboxes;
#[cfg(all(test, loom))]
mod models;
mod parker;
mod replaced;
mod service;
mod step;
mod turns;
mod wait;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

use crate::deque::{OwnDeque, Reader};
use crate::scheduler::job::Job;
use crate::scheduler::search::Searcher;
use crate::scheduler::{PlaceState, Shared, Slot};
use crate::sleep::WakeToken;
use crate::stats::Counters;

pub(crate) use parker::Parker;

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
/// assert_eq!(pool.install(|worker| fib(worker, 16)), 987);
/// # Ok::<(), locksley::BuildError>(())
/// ```
///
/// A worker stays on its thread. Other threads, and tasks, which may run elsewhere, cannot have it:
/// ```compile_fail,E0277
/// let pool = locksley::Pool::new(2).unwrap();
/// pool.install(|worker| worker.join(|_| (), |_| worker.index()));
/// ```
#[repr(C)] // what is used most first: shorter instructions
pub struct Worker {
    deque: OwnDeque<Job>,
    /// The number of its slot.
    index: usize,
    shared: Arc<Shared>,
    wake_token: WakeToken,
    search: RefCell<Searcher>,
    pinned_tasks: Reader<Job>,
    /// How many times it has polled a task, or found something that was sent to its place.
    polls: Cell<u32>,
    /// Whether a task that only it may run comes next.
    owes_pinned: Cell<bool>,
    /// What its tasks know it by: its own index, or that of the worker that it replaces.
    number: Cell<usize>,
    /// Whether a replacement has its slot.
    is_away: Cell<bool>,
    /// Whether its thread belongs to the program, and works for the pool only when it waits.
    is_borrowed: bool,
    data: Box<dyn Any>,
}

/// A worker's own ends of its deque and its pinned queue, as they are handed to its thread.
pub(crate) struct OwnEnds {
    pub(crate) deque: OwnDeque<Job>,
    pub(crate) pinned_tasks: Reader<Job>,
}

impl Worker {
    pub(crate) fn new(
        index: usize,
        ends: OwnEnds,
        shared: Arc<Shared>,
        data: Box<dyn Any>,
    ) -> Self {
        Self::replacement(index, index, ends, shared, data)
    }

    /// One that replaces the worker with that number, in another slot.
    pub(crate) fn replacement(
        number: usize,
        index: usize,
        ends: OwnEnds,
        shared: Arc<Shared>,
        data: Box<dyn Any>,
    ) -> Self {
        let search = RefCell::new(Searcher::new(number, index, &shared));
        let wake_token = shared.wake_token_of(number);
        if shared.observer().is_some() {
            ends.deque.redirect();
        }
        Self {
            deque: ends.deque,
            index,
            shared,
            wake_token,
            search,
            pinned_tasks: ends.pinned_tasks,
            polls: Cell::new(0),
            owes_pinned: Cell::new(false),
            number: Cell::new(number),
            is_away: Cell::new(false),
            is_borrowed: false,
            data,
        }
    }

    pub(crate) fn is_borrowed(&self) -> bool {
        self.is_borrowed
    }

    pub(crate) fn counters(&self) -> &Counters {
        self.slot().counters()
    }

    pub(crate) fn slot(&self) -> &Slot {
        self.shared.slot(self.index)
    }

    /// The number of its slot: its index, but for a replacement.
    #[inline]
    pub(crate) fn slot_index(&self) -> usize {
        self.index
    }

    /// What its place has, if the pool has several.
    #[inline]
    pub(crate) fn place_state(&self) -> Option<&PlaceState> {
        // The index is not looked at where there is one place.
        let place_states = self.shared.place_states();
        if place_states.is_empty() { None } else { Some(&place_states[self.place()]) }
    }

    pub(crate) fn wake_token(&self) -> &WakeToken {
        &self.wake_token
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn belongs_to(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    /// This worker's number in its pool, from 0. A replacement has the number of the worker whose slot it
    /// has taken.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(3)?;
    /// assert!(pool.install(|w| w.index()) < 3);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn index(&self) -> usize {
        self.number.get()
    }

    /// How many workers its pool has, those that only sleep included ([`Pool::workers`](crate::Pool::workers)).
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(3)?;
    /// assert_eq!(pool.install(|w| w.workers()), 3);
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
        self.data.downcast_ref()
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
