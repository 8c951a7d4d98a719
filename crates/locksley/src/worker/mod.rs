//! A worker: a thread of a pool that runs tasks, and the context that it passes to each of them.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the worker, and the one that a thread is |
//! | `run_loop.rs` | the loop: own tasks, else a search; single steps of it |
//! | `queues.rs` | what a worker pushes and takes, and how it is fair to its queues |
//! | `wait.rs` | waits: run descendants of what is waited for, else block |
//! | `index.rs` | a thread that blocks gives its index away, and takes it back |
//! | `replacement.rs` | threads that work under the index of one that blocks |
//! | `guest.rs` | threads outside of the pool that run a call themselves |
//! | `observed.rs` | the slow path of observed pools |

mod descendants;
mod guest;
mod index;
mod observed;
mod queues;
mod replacement;
mod run_loop;
#[cfg(all(test, not(loom)))]
mod tests;
mod wait;

use std::any::Any;
use std::cell::{Cell, RefCell, RefMut};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::sync::Arc;

pub use observed::{follow, stamp};

use crate::deque::ChaseLevOwner;
use crate::header::{Job, WorkerRef};
use crate::hooks;
use crate::numbers::{Index, Place, Slot};
use crate::primitive::Instant;
use crate::search::{Search, Seeker};
use crate::shared::Shared;
use crate::shared::index_lock::Idle;
use crate::shared::slot::SlotState;
use crate::sleep::WakeToken;
use crate::stats::Counters;
use crate::trace::Event;

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
    pub(crate) local: Local,
    marker: PhantomData<dyn StaysOnItsThread>,
}

/// Keeps a [`Worker`] from being shared with other threads. Compile errors show its name.
trait StaysOnItsThread {}

// As for threads: a panic of a task arrives where it is waited for, and leaves no broken state.
impl UnwindSafe for Worker {}
impl RefUnwindSafe for Worker {}

/// The fields of a worker.
#[repr(C)]
pub(crate) struct Local {
    pub(crate) deque: ChaseLevOwner<Job>,
    slot: Slot,
    shared: Arc<Shared>,
    pub(crate) wake_token: WakeToken,
    /// Made at the first search of a guest, which seldom searches.
    search: RefCell<Option<Search>>,
    /// Counts the polls of tasks, and the tasks that were sent to its place.
    polls: Cell<u32>,
    /// Counts its looks for the next task.
    turns: Cell<u32>,
    /// When it last looked into its other queues.
    looked: Cell<Option<Instant>>,
    /// True if its latest polls were shorter than it takes to move a task.
    has_brief_polls: Cell<bool>,
    /// True if a pinned task comes next.
    runs_pinned_next: Cell<bool>,
    /// The index that tasks see. A replacement changes it.
    index: Cell<Index>,
    /// Set while its thread may block: what became of its index.
    away: Cell<Option<index::ReleaseOutcome>>,
    /// True if the task goes on although another thread has the index.
    is_without_index: Cell<bool>,
    role: Role,
    /// True if its waits have set tasks aside, which may still be in the inbox of its index.
    has_set_aside: Cell<bool>,
    data: Option<Box<dyn Any>>,
}

// SAFETY: other threads never get a reference: the only one is a field of a worker, and the marker
// keeps that from being `Sync`. Without this, a captured worker would be an error for each field.
unsafe impl Sync for Local {}

/// What a thread is to the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A worker's own thread.
    Own,
    /// The same, but a thread of the program: it runs tasks only while it waits.
    Borrowed,
    /// A thread outside of the pool that runs a call itself. Its index comes after the workers'.
    Guest,
    /// It works under the index of a worker whose thread blocks.
    Replacement,
}

impl Worker {
    /// The worker in `slot`. The idle policy prepares the search of all but guests.
    pub(crate) fn new(
        role: Role,
        (index, slot): (Index, Slot),
        shared: Arc<Shared>,
        data: Option<Box<dyn Any>>,
    ) -> Self {
        let deque = shared.slot(slot).take_own_deque().expect("a slot has one thread at a time");
        Self::with_deque(role, (index, slot), deque, shared, data)
    }

    /// The worker in a slot that was taken with its `deque`.
    fn with_deque(
        role: Role,
        (index, slot): (Index, Slot),
        deque: ChaseLevOwner<Job>,
        shared: Arc<Shared>,
        data: Option<Box<dyn Any>>,
    ) -> Self {
        // It wakes workers of its own place first.
        let is_anywhere = matches!(role, Role::Guest | Role::Replacement);
        let near = if is_anywhere { 0..usize::MAX } else { shared.neighbours_of(index) };
        let local = Local {
            deque,
            slot,
            shared,
            wake_token: WakeToken::new(near),
            search: RefCell::new(None),
            polls: Cell::new(0),
            turns: Cell::new(0),
            has_set_aside: Cell::new(false),
            looked: Cell::new(None),
            has_brief_polls: Cell::new(false),
            runs_pinned_next: Cell::new(false),
            index: Cell::new(index),
            away: Cell::new(None),
            is_without_index: Cell::new(false),
            role,
            data,
        };
        let worker = Self { local, marker: PhantomData };
        if role != Role::Guest {
            drop(worker.search());
        }
        worker.local.shared.trace(|| Event::Attached { slot: slot.get(), place: worker.place() });
        if worker.local.shared.observer().is_some() {
            worker.local.deque.redirect();
        }
        worker
    }

    /// Ends the worker, and gives back what outlives it.
    pub(crate) fn into_deque(self) -> ChaseLevOwner<Job> {
        self.local.deque
    }

    /// This worker, as jobs get it.
    #[inline]
    pub(crate) fn as_ref(&self) -> WorkerRef<'_> {
        WorkerRef::new(self)
    }

    fn search(&self) -> RefMut<'_, Search> {
        let make = || Search::new(self.seeker(None));
        RefMut::map(self.local.search.borrow_mut(), |search| search.get_or_insert_with(make))
    }

    /// This worker, as it searches.
    fn seeker(&self, idle: Option<Idle>) -> Seeker<'_> {
        // A guest takes what is sent to the first worker.
        let index =
            if self.local.role == Role::Guest { Index::new(0) } else { self.local.index.get() };
        let (shared, slot, wake_token) =
            (&*self.local.shared, self.local.slot, &self.local.wake_token);
        Seeker { shared, slot, index, wake_token, idle }
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.state().counters
    }

    /// What other threads see of this one.
    pub(crate) fn state(&self) -> &SlotState {
        self.local.shared.slot(self.local.slot)
    }

    /// The slot of its thread.
    #[inline]
    pub(crate) fn slot(&self) -> Slot {
        self.local.slot
    }

    /// The number that tasks see.
    pub(crate) fn own_index(&self) -> Index {
        self.local.index.get()
    }

    pub(crate) fn own_place(&self) -> Place {
        if self.local.role == Role::Guest {
            Place::new(0)
        } else {
            self.local.shared.place_of(self.local.index.get())
        }
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.local.shared
    }

    pub(crate) fn belongs_to(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.local.shared, shared)
    }

    /// True if its thread belongs to the program.
    pub(crate) fn is_borrowed(&self) -> bool {
        self.local.role == Role::Borrowed
    }

    /// Called when control returns to the program, which may never come back to the pool. If the
    /// thread is borrowed, the pool is not charged for its time any more.
    pub(crate) fn stop_clock_if_borrowed(&self) {
        if self.is_borrowed() {
            hooks::flush();
            self.state().charge_elsewhere();
        }
    }

    /// The index of this worker in its pool, from 0.
    ///
    /// At any moment, no two threads that run tasks of a pool have the same index (an exception is
    /// in the guide, `docs/guide/waits.md`), and a task keeps its index. It is less than
    /// [`workers`](Self::workers), except on a *guest*: a thread outside of the pool that runs a
    /// call of [`Pool::install`](crate::Pool::install) itself. Then it is less than
    /// [`indices`](Self::indices).
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::builder().workers(3).own_threads_only().build()?;
    /// assert!(pool.install(|w| w.index()) < 3);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn index(&self) -> usize {
        self.local.index.get().get()
    }

    /// The number of indices: the workers, and the most guests that the pool has at a time. What
    /// belongs to an [`index`](Self::index) has this many parts.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let pool = locksley::Pool::new(2)?;
    /// let indices = pool.install(|worker| worker.indices());
    /// let uses: Vec<_> = (0..indices).map(|_| AtomicU32::new(0)).collect();
    /// pool.install(|worker| uses[worker.index()].fetch_add(1, Ordering::Relaxed));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn indices(&self) -> usize {
        self.local.shared.first_replacement()
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
        self.local.shared.workers
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
        self.local.data.as_ref()?.downcast_ref()
    }
}

impl Worker {
    /// The place that the worker belongs to, from 0. See
    /// [`PoolBuilder::places`](crate::PoolBuilder::places). A replacement belongs to the place of
    /// the worker that it replaces, and a guest to the first one.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// assert!(pool.install(|worker| worker.place()) < pool.places().count());
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn place(&self) -> usize {
        self.own_place().get()
    }
}

impl<'w> WorkerRef<'w> {
    /// The worker.
    #[inline]
    #[must_use]
    pub fn worker(self) -> &'w Worker {
        // SAFETY: only `Worker::as_ref` makes one.
        unsafe { self.cast() }
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

crate::primitive::thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

impl Worker {
    /// Calls `use_it` with the worker that the calling thread is, in any pool, or with `None` if it
    /// is not a worker.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, Worker};
    ///
    /// let index = || Worker::with_current(|current| current.map(Worker::index));
    /// assert_eq!(index(), None);
    /// assert_eq!(Pool::new(1)?.install(|_| index()), Some(0));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[inline]
    pub fn with_current<R>(use_it: impl FnOnce(Option<&Worker>) -> R) -> R {
        let current = CURRENT.with(Cell::get);
        // SAFETY: null, or set on this thread by `as_current`, which resets it before the worker is
        // freed, or by `set_current_forever`, which never frees it.
        use_it(unsafe { current.as_ref() })
    }

    /// Makes the calling thread this worker while `body` runs.
    pub(crate) fn as_current<R>(&self, body: impl FnOnce() -> R) -> R {
        struct Restore(*const Worker);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(self.0));
            }
        }
        // A thread that is a worker of one pool may also serve another pool.
        let _restore = Restore(CURRENT.with(|current| current.replace(self)));
        body()
    }

    /// Makes the calling thread this worker for the rest of its life. The thread is not a worker
    /// yet.
    pub(crate) fn set_current_forever(self) {
        // Never freed: any frame of this thread may hold a reference.
        let worker: &'static Self = Box::leak(Box::new(self));
        CURRENT.with(|current| current.set(worker));
    }

    /// Makes the calling thread, the only one of a forked child, a thread that is not a worker.
    /// Called there at once.
    pub(crate) fn forget_current() {
        let worker = CURRENT.with(|current| current.replace(ptr::null()));
        // SAFETY: as in `with_current`.
        if let Some(worker) = unsafe { worker.as_ref() } {
            worker.local.shared.unbind_in_forked_child(worker.local.slot);
        }
    }
}
