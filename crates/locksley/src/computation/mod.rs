//! Computations that end, or say why they cannot.
//!
//! A computation is a scope of futures: [`run`] returns when all tasks that were spawned in it have ended, and these may borrow what
//! outlives it. What they wait for, a semaphore or a lock, can be made to [belong to it](Computation::own), so that nobody
//! outside can reach it. When all its tasks wait for such things, nothing will ever happen in it any more; then it ends with an
//! error that names them, instead of hanging.
//!
//! It knows for certain, or says nothing. A task that waits for anything else (another crate's channel, a timer, a
//! [`Task`](crate::task::Task)) may be woken from anywhere: as long as one does, it is waited for.

mod account;
mod common;
mod error;
mod member;
#[cfg(all(test, loom))]
mod models;
mod own;
#[cfg(all(test, not(loom)))]
mod stall;
mod thread;
mod waker;

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

pub use error::{Incomplete, Waiting};
pub use own::{Guard, Own};
pub use thread::{Current, Signaller};

use crate::held::{self, Place, Wait};
use crate::latch::{CountLatch, Flag};
use crate::meter::Site;
use crate::pool::{Pool, Shared};
use crate::task;
use crate::unwind;
use crate::worker::Worker;
use common::{Common, End};
use member::{Member, Record, Unfinished};

/// Tasks that end together. See [`run`].
///
/// `'c` is the computation itself, and `'env` is what its tasks may borrow.
pub struct Computation<'c, 'env: 'c> {
    common: Arc<Common>,
    unfinished: Unfinished,
    home: Arc<Shared>,
    /// Invariant, as in std's scoped threads: neither can be shortened or lengthened, so that what belongs to one computation gets
    /// nowhere else.
    computation: PhantomData<&'c mut &'c ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Runs `body` on the calling thread, and returns when all tasks that were spawned in it have ended.
///
/// The tasks run in the calling worker's pool, or else in the [global pool](Pool::global). A worker, of this or another pool, works
/// while it waits for them; any other thread blocks. As long as the body has not returned, nothing is known about the
/// tasks, so it should not wait for them.
///
/// # Errors
/// [`Incomplete`], if all tasks that have not ended wait for each other; or if the pool was closed meanwhile, as can only be where
/// a task calls this that is being cancelled itself.
///
/// A task waits when its future is pending. One that blocks in the middle of a poll, by [`block_on`](crate::block_on) or a lock of
/// std's, counts as running: if the others wait for it, and it for them, this hangs and says nothing.
///
/// When the last copy of a waiting task's waker is dropped unused, the task is polled once more. A future that gives away such a copy in each of
/// its polls is polled for ever.
///
/// # Panics
/// If the body or a task panics, with its payload, after all tasks have ended; if several do, with the body's or else that of
/// the one that was spawned first. Tasks that wait for one that has panicked are given up when nobody can go on.
///
/// # Examples
/// Two that take two locks in opposite order:
/// ```
/// use locksley::computation::{self, Incomplete};
/// use locksley::sync::{Barrier, Mutex};
///
/// let error = computation::run(|all| {
///     let (fork, knife) = (all.own("fork", Mutex::new(())), all.own("knife", Mutex::new(())));
///     let both_have_one = all.own("both have one", Barrier::new(2));
///     for (name, first, second) in [("Robin", &fork, &knife), ("Marian", &knife, &fork)] {
///         let (first, second, met) = (first.clone(), second.clone(), both_have_one.clone());
///         all.spawn(name, async move {
///             let _first = first.lock().await;
///             met.wait().await;
///             let _second = second.lock().await;
///         });
///     }
/// });
/// let Err(Incomplete::Stuck(waiting)) = error else { panic!("they have no luck") };
/// let names = waiting.iter().map(|one| format!("{} waits for {}", one.task(), one.waits_for()[0]));
/// let names: Vec<_> = names.collect();
/// assert_eq!(names, ["Robin waits for knife", "Marian waits for fork"]);
/// ```
/// What belongs to a computation does not leave it:
/// ```compile_fail,E0521
/// let outside = std::sync::Mutex::new(None);
/// locksley::computation::run(|all| {
///     let inside = all.own("inside", locksley::sync::Semaphore::new(0));
///     *outside.lock().unwrap() = Some(inside);
/// });
/// ```
/// nor does it come into another one:
/// ```compile_fail,E0521
/// use locksley::sync::Condvar;
/// use locksley::{computation, sync::Mutex};
///
/// computation::run(|outer| {
///     let lock = outer.own("lock", Mutex::new(()));
///     computation::run(|inner| {
///         let changed = inner.own("changed", Condvar::new());
///         inner.spawn("waits", async move { drop(changed.wait(lock.lock().await).await) });
///     })
/// });
/// ```
#[cfg_attr(feature = "held-locks", track_caller)]
pub fn run<'env, F, R>(body: F) -> Result<R, Incomplete>
where
    F: for<'c> FnOnce(&'c Computation<'c, 'env>) -> R,
{
    let place = Place::here();
    Worker::with_current(|current| match current {
        Some(worker) => run_in(worker.shared(), current, place, body),
        None => run_in(Pool::global().shared(), current, place, body),
    })
}

impl Pool {
    /// Runs `body` on the calling thread, and returns when all tasks that were spawned in it have ended, in this pool:
    /// [`computation::run`](run).
    ///
    /// # Errors
    /// [`Incomplete`], if all tasks that have not ended wait for each other.
    ///
    /// # Panics
    /// If the body or a task panics, with its payload, after all tasks have ended.
    ///
    /// # Examples
    /// A signal that nobody sends:
    /// ```
    /// use locksley::sync::JoinCounter;
    ///
    /// let pool = locksley::Pool::new(2)?;
    /// let error = pool.computation(|all| {
    ///     let ready = all.own("two are ready", JoinCounter::new(2));
    ///     let first = ready.clone();
    ///     all.spawn("first", async move { first.signal() });
    ///     all.spawn("last", async move { ready.wait().await });
    /// });
    /// assert_eq!(
    ///     error.unwrap_err().to_string(),
    ///     "no task of the computation can go on: 'last' waits for 'two are ready'"
    /// );
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn computation<'env, F, R>(&self, body: F) -> Result<R, Incomplete>
    where
        F: for<'c> FnOnce(&'c Computation<'c, 'env>) -> R,
    {
        let place = Place::here();
        Worker::with_current(|current| run_in(self.shared(), current, place, body))
    }
}

fn run_in<'env, F, R>(
    home: &Arc<Shared>,
    current: Option<&Worker>,
    place: Place,
    body: F,
) -> Result<R, Incomplete>
where
    F: for<'c> FnOnce(&'c Computation<'c, 'env>) -> R,
{
    let unfinished = CountLatch::new(current, home);
    let common = Common::new();
    let computation = Computation {
        common: Arc::clone(&common),
        unfinished: Unfinished::of(&unfinished),
        home: Arc::clone(home),
        computation: PhantomData,
        env: PhantomData,
    };
    let result =
        unwind::halt(|| held::then_wait(current, Wait::Computation, place, || body(&computation)));
    if common.able().take_one() {
        common.nobody_can_go_on();
    }
    // The body counted as the first task.
    unfinished.end_and_wait(current.map(|worker| move |event: &Flag| worker.wait_until(event)));
    let end = common.end();
    common.forget_members();
    match (result, end) {
        (Ok(result), End::Complete) => Ok(result),
        (Ok(_), End::Stuck(waiting)) => Err(Incomplete::Stuck(waiting)),
        (Ok(_), End::Cancelled) => Err(Incomplete::Cancelled),
        (Ok(_), End::Panicked(payload)) => unwind::resume(payload),
        (Err(payload), end) => {
            if let End::Panicked(other) = end {
                unwind::discard(other);
            }
            unwind::resume(payload)
        }
    }
}

impl<'c> Computation<'c, '_> {
    /// Adds a task to the computation. It may run at once on another worker, and may spawn more.
    ///
    /// The name is for [`Incomplete`], and need not be the task's own.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let count = &AtomicU32::new(0);
    /// locksley::computation::run(|all| {
    ///     all.spawn("first", async move {
    ///         count.fetch_add(1, Ordering::Relaxed);
    ///         all.spawn("second", async move {
    ///             count.fetch_add(1, Ordering::Relaxed);
    ///         });
    ///     });
    /// })?;
    /// assert_eq!(count.load(Ordering::Relaxed), 2);
    /// # Ok::<(), locksley::computation::Incomplete>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, name: &str, future: F)
    where
        F: Future<Output = ()> + Send + 'c,
    {
        let site = Site::here();
        let record = Record::new(Arc::from(name), Arc::clone(&self.common));
        self.common.note(&record);
        // SAFETY: who has a `&Computation` is the body, or a member that has not ended, or was lent it by one that waits for who
        // it has lent it to. `'c` ends after the computation, which waits for the latch.
        let member = unsafe { Member::new(future, record, self.unfinished) };
        task::spawn_in(&self.home, site, member).detach();
    }

    /// Makes something to wait for belong to the computation: a [`Semaphore`](crate::sync::Semaphore), a
    /// [`Mutex`](crate::sync::Mutex), a [`Condvar`](crate::sync::Condvar), a [`Barrier`](crate::sync::Barrier) or a
    /// [`JoinCounter`](crate::sync::JoinCounter).
    ///
    /// # Examples
    /// ```
    /// use locksley::sync::Semaphore;
    ///
    /// let mut rounds = 0;
    /// let count = &mut rounds;
    /// locksley::computation::run(|all| {
    ///     let [ping, pong] = ["ping", "pong"].map(|name| all.own(name, Semaphore::new(0)));
    ///     let (come, go) = (ping.clone(), pong.clone());
    ///     all.spawn("server", async move {
    ///         for _ in 0..10 {
    ///             come.add_permits(1);
    ///             go.acquire().await.unwrap().forget();
    ///         }
    ///     });
    ///     all.spawn("receiver", async move {
    ///         for _ in 0..10 {
    ///             ping.acquire().await.unwrap().forget();
    ///             *count += 1;
    ///             pong.add_permits(1);
    ///         }
    ///     });
    /// })?;
    /// assert_eq!(rounds, 10);
    /// # Ok::<(), locksley::computation::Incomplete>(())
    /// ```
    pub fn own<P>(&self, name: &str, primitive: P) -> Own<'c, P> {
        Own::new(name, &self.common, primitive)
    }
}

impl fmt::Debug for Computation<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Computation").finish_non_exhaustive()
    }
}
