//! A debug aid: it says when code on a worker waits with a lock in its hand.
//!
//! While a [`join`](crate::join) or a [`scope`](crate::scope()) waits, its worker runs other tasks, and one of them may want a lock that
//! the waiting code holds. If that lock knows nothing of tasks, as [`std::sync::Mutex`], the worker's thread then waits for itself, for
//! ever: a deadlock, which rayon's users know as its issue 592. But it comes only if somebody has stolen, and the wrong task was
//! found. With the feature `held-locks` a program is told wherever it joins with a lock in its hand, **each time**, whether anything was
//! stolen or not. What to do about it: let go of the lock first, or have the join wait by [`Waiting::Below`](crate::Waiting::Below).
//!
//! Locks of [`sync`](crate::sync) are known: the [`Mutex`](crate::sync::Mutex), and who makes the value of a
//! [`OnceCell`](crate::sync::OnceCell). Any other lock is to be marked where it is taken, by a [`Mark`] or as [`Marked`]:
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering};
//! use std::sync::{Arc, Mutex};
//!
//! use locksley::Pool;
//! use locksley::held::{self, Marked};
//!
//! let told = Arc::new(AtomicUsize::new(0));
//! let count = Arc::clone(&told);
//! let pool = Pool::builder()
//!     .workers(2)
//!     .held_lock_handler(move |held| {
//!         assert_eq!(held.lock(), "accounts");
//!         eprintln!("{held}"); // and where it was taken, and where the join is
//!         count.fetch_add(1, Ordering::Relaxed);
//!     })
//!     .build()?;
//!
//! let accounts = Mutex::new(vec![1, 2, 3]);
//! pool.run(|worker| {
//!     let mut accounts = Marked::new("accounts", accounts.lock().unwrap());
//!     accounts.push(4);
//!     let (left, right) = accounts.split_at(2);
//!     worker.join(|_| left.iter().sum::<i32>(), |_| right.iter().sum::<i32>())
//! });
//! assert_eq!(told.load(Ordering::Relaxed), usize::from(held::WATCHED));
//! # Ok::<(), locksley::BuildError>(())
//! ```
//! Without a [handler](crate::PoolBuilder::held_lock_handler) it goes to the standard error output, once for each two places, and with a
//! backtrace where `RUST_BACKTRACE` asks for one.
//!
//! # Who holds a lock
//!
//! The task that took it, from then until its guard, or its mark, is dropped, wherever that is. The first half of a join is a part of the
//! task that joins, as the body of a scope is. The second half, a scope's tasks, and what a loop calls are tasks of their own, whether
//! they are stolen or not; so is whatever a worker runs while one of its stacks waits. A future keeps what it holds while it waits, and
//! has it again where it goes on. A guard that is handed to another task is still counted as the first one's, and as
//! nobody's when that has ended.
//!
//! # When it is said
//!
//! On workers only, before they wait for what they may have to wait for: at the end of the first half of a join, or of a scope's body, and in
//! other cases at once ([`Wait`] has them all). So a lock that the first half lets go of is not held across the join, and one that it returns
//! is. Across [`block_on`](crate::block_on), or in a process on a stack of its own, it is no fault to hold a lock of [`sync`](crate::sync), which
//! is made for that; marked ones are reported there too. [Locks of intervals](crate::intervals::Lock) are held while children run, and that is
//! what they are for; they are not looked at, nor is the end of a pool.
//!
//! # What it costs
//!
//! Without the feature nothing: marks are empty, and nobody looks. With it, taking a lock allocates a note, and each join looks into
//! a thread-local. It is meant for tests.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

mod caller;
#[cfg_attr(not(feature = "held-locks"), path = "unwatched.rs")]
mod watched;

pub use caller::Caller;

#[cfg(feature = "held-locks")]
pub(crate) use watched::Handler;
pub(crate) use watched::{Context, Hold, Place, apart, tell, tell_here, then_wait};

/// Whether this was built with the feature `held-locks`: else nobody looks.
pub const WATCHED: bool = cfg!(feature = "held-locks");

/// A lock was held where a worker may have to wait: what a [handler](crate::PoolBuilder::held_lock_handler) is told.
///
/// # Examples
/// See the [module](self).
#[derive(Clone, Debug)]
pub struct HeldLock {
    lock: &'static str,
    taken_at: &'static Location<'static>,
    wait: Wait,
    waits_at: &'static Location<'static>,
}

impl HeldLock {
    /// Which lock: what the mark says, or its type.
    #[must_use]
    pub fn lock(&self) -> &'static str {
        self.lock
    }

    /// Where the lock was taken, or marked.
    #[must_use]
    pub fn taken_at(&self) -> &'static Location<'static> {
        self.taken_at
    }

    /// What it was held across.
    #[must_use]
    pub fn wait(&self) -> Wait {
        self.wait
    }

    /// Where that is.
    #[must_use]
    pub fn waits_at(&self) -> &'static Location<'static> {
        self.waits_at
    }
}

impl fmt::Display for HeldLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lock, taken_at, wait, waits_at } = self;
        write!(f, "`{lock}`, taken at {taken_at}, is held across {wait} at {waits_at}")?;
        f.write_str("; what this worker runs meanwhile may want it")
    }
}

/// What a worker waits for.
///
/// # Examples
/// ```
/// use locksley::held::Wait;
///
/// assert_eq!(Wait::Join.to_string(), "a join");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// [`join`](crate::join).
    Join,
    /// [`scope`](crate::scope()), in all its forms.
    Scope,
    /// One of the [`loops`](crate::loops).
    Loop,
    /// [`Pool::broadcast`](crate::Pool::broadcast).
    Broadcast,
    /// [`Pool::run`](crate::Pool::run), into another pool than the worker's own.
    Run,
    /// [`Task::join`](crate::task::Task::join), also that of a thread or of a network.
    Task,
    /// A [`computation`](crate::computation).
    Computation,
    /// [`intervals`](crate::intervals).
    Intervals,
    /// [`block_on`](crate::block_on).
    BlockOn,
    /// [`Sender::send_blocking`](crate::kahn::Sender::send_blocking) or [`Receiver::recv_blocking`](crate::kahn::Receiver::recv_blocking), even if
    /// there is room, or a message.
    Channel,
    /// [`Worker::run_one`](crate::Worker::run_one) or [`run_local`](crate::Worker::run_local), by which code waits in its own way.
    RunOne,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Join => "a join",
            Self::Scope => "a scope",
            Self::Loop => "a loop",
            Self::Broadcast => "a broadcast",
            Self::Run => "a run in another pool",
            Self::Task => "the join of a task",
            Self::Computation => "a computation",
            Self::Intervals => "intervals",
            Self::BlockOn => "`block_on`",
            Self::Channel => "a channel",
            Self::RunOne => "`run_one`",
        })
    }
}

/// While it lives, the code that made it holds a lock of that name.
///
/// It is for whatever has others wait as long as it is held, and has no guard that can be [`Marked`]. Put it behind what it stands for, so
/// that it is dropped first.
///
/// # Examples
/// ```
/// use locksley::held::Mark;
/// use locksley::sync::Semaphore;
///
/// static PRINTER: Semaphore = Semaphore::new(1);
/// {
///     let _permit = PRINTER.try_acquire().unwrap();
///     let _mark = Mark::new("printer");
///     println!("a join in here is reported");
/// }
/// locksley::join(|| (), || ());
/// ```
#[derive(Debug)]
#[must_use = "a lock is held as long as its mark lives"]
pub struct Mark {
    _hold: Hold,
}

impl Mark {
    /// A lock is taken.
    ///
    /// # Examples
    /// See [`Mark`].
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn new(lock: &'static str) -> Self {
        Self { _hold: Hold::foreign(lock, Place::here()) }
    }
}

/// A guard of another crate's, or of std's, with a [`Mark`]. It gives what the guard gives.
///
/// # Examples
/// With std's condition variable, which wants the guard itself:
/// ```
/// use std::sync::{Condvar, Mutex};
///
/// use locksley::held::Marked;
///
/// let (ready, changed) = (Mutex::new(true), Condvar::new());
/// let mut guard = Marked::new("ready", ready.lock().unwrap());
/// while !*guard {
///     guard = Marked::new("ready", changed.wait(guard.into_inner()).unwrap());
/// }
/// *guard = false;
/// ```
#[derive(Debug)]
#[must_use = "the lock is let go of when this is dropped"]
pub struct Marked<G> {
    guard: G,
    mark: Mark,
}

impl<G> Marked<G> {
    /// A lock was taken, which `guard` holds.
    ///
    /// # Examples
    /// See [`Marked`].
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn new(lock: &'static str, guard: G) -> Self {
        Self { guard, mark: Mark::new(lock) }
    }

    /// The guard, without a mark.
    ///
    /// # Examples
    /// See [`Marked`].
    pub fn into_inner(self) -> G {
        drop(self.mark);
        self.guard
    }
}

impl<G: Deref> Deref for Marked<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for Marked<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}
