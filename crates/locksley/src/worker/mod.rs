//! A worker: the thread of a pool that runs tasks, and the context that it passes to each of them.
//!
//! | file | what |
//! |---|---|
//! | `current.rs` | which worker a thread is |
//! | `service.rs` | its loop: until the pool is closed, or until something has happened that it waits for |
//! | `step.rs` | one task at a time, for who waits in their own way |
//! | `deque.rs` | what it pushes to its own deque, and takes back there |
//! | `inboxes.rs` | what is sent: to it, to its place, to all |
//! | `turns.rs` | when it takes up what waits elsewhere, though it has work |
//! | `absence.rs` | it is in a call that blocks, or stands in for one that is |
//! | `inheritance.rs` | what it has in a child of the process |

mod absence;
mod current;
mod deque;
mod inboxes;
mod inheritance;
mod service;
mod step;
mod turns;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ptr;
use std::sync::Arc;

#[cfg(feature = "alternatives")]
use crate::deque::alternatives::AnyOwner;
use crate::deque::{ChaseLevOwner, Reader};
use crate::fiber::Stacks;
use crate::fork::Inherited;
use crate::hunt::Hunt;
use crate::job::Job;
use crate::kahn::{Doubts, Payer};
use crate::meter::{Counters, Running};
use crate::pool::{Pool, Quarter, Seat, Shared};
use crate::sleep::Summons;
use crate::strand::Taken;

#[cfg(all(test, loom))]
pub(crate) use deque::care_for_sleepers;

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
    running: Running<Taken<'static>>,
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

    pub(crate) fn is_guest(&self) -> bool {
        self.is_guest
    }

    pub(crate) fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    #[inline]
    pub(crate) fn running(&self) -> &Running<Taken<'static>> {
        &self.running
    }

    pub(crate) fn doubts(&self) -> &Doubts {
        &self.doubts
    }

    pub(crate) fn payer(&self) -> &Payer {
        &self.payer
    }

    pub(crate) fn counters(&self) -> &Counters {
        self.seat().counters()
    }

    pub(crate) fn seat(&self) -> &Seat {
        self.shared.seat(self.index)
    }

    /// Where it sits: its index, but for a stand-in.
    #[inline]
    pub(crate) fn seat_index(&self) -> usize {
        self.index
    }

    /// What its place has, if the pool has several.
    #[inline]
    pub(crate) fn quarter(&self) -> Option<&Quarter> {
        // The index is not looked at where there is one place.
        let quarters = self.shared.quarters();
        if quarters.is_empty() { None } else { Some(&quarters[self.place()]) }
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

    /// How many workers its pool has, those that only sleep included ([`Pool::workers`](crate::Pool::workers)).
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

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("index", &self.index())
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}
