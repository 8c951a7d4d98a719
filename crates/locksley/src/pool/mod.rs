//! Pools: Hood's "parallel machine".

mod builder;
mod environment;
mod error;
mod global;
mod rebuild;
#[cfg(all(test, debug_assertions, not(loom)))]
mod stall;
#[cfg(all(test, debug_assertions, not(loom)))]
mod stall_near;
mod start;
mod thread;
#[cfg(all(test, not(loom)))]
pub(crate) mod trial;

use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

pub use builder::PoolBuilder;
pub use error::{BuildError, SizeError};
use rebuild::Rebuild;
pub use thread::WorkerThread;

use crate::places::Places;
use crate::scheduler::Shared;
use crate::scheduler::Worker;
use crate::scheduler::job::StackJob;
use crate::scheduler::latch::{Latch, ThreadLatch, WorkerLatch};
use crate::scheduler::observed::follow;
use crate::sleep::MAX_WORKERS;
use crate::stats::PoolStats;
use crate::unwind;

/// A thread pool: workers that run tasks and steal them from each other. Hood's "parallel machine"
/// ("Hood: A User-Level Threads Library for Multiprogrammed Multiprocessors", 1998, section 2).
///
/// Most programs need none of their own: [`join`](crate::join), [`scope`](crate::scope) and the rest
/// use the [global pool](Self::global). Make one to choose the number of workers, their processors or
/// their policy ([`Pool::builder`]).
///
/// # When it is dropped
///
/// The drop waits until all detached closures have ended. Then futures that are still
/// [tasks](crate::task) are cancelled and dropped by the workers, and the threads end. If a worker of
/// another pool drops it, a replacement has that worker's slot meanwhile. Dropped by one of its own
/// workers, the drop returns at once and the threads end when the tasks have. Threads of the
/// program's own ([`PoolBuilder::build_with`]) are not waited for.
///
/// # In a forked child
///
/// A child process that was made by `fork` (on Linux) has none of a pool's threads. A pool that was
/// idle is built again, as it was, when it is first used there. The thread that forked is no worker in
/// the child. If a task forks, its worker ends the child when the task ends, or when a wait in it
/// needs another thread: what comes next is the parent's. A task that forks should own what it uses in
/// the child: frames of other threads may be overwritten there. Do not fork while another thread
/// builds its first pool.
///
/// # Examples
/// ```
/// use locksley::Pool;
///
/// let pool = Pool::new(4)?;
/// let (a, b) = pool.install(|worker| worker.join(|_| 6 * 7, |_| "answer"));
/// assert_eq!((a, b), (42, "answer"));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub struct Pool {
    shared: Arc<Shared>,
    /// Those to wait for when the pool is dropped.
    threads: Vec<JoinHandle<()>>,
    is_detached: bool,
    rebuild: Rebuild,
}

impl Pool {
    /// The most workers that a pool can have.
    pub const MAX_WORKERS: usize = MAX_WORKERS;

    /// A pool of `workers` workers with everything else as [`PoolBuilder`] has it.
    ///
    /// # Errors
    /// Those of [`PoolBuilder::build`].
    ///
    /// # Examples
    /// ```
    /// use locksley::{BuildError, Pool};
    ///
    /// assert_eq!(Pool::new(2)?.workers(), 2);
    /// assert!(matches!(Pool::new(0), Err(BuildError::NoWorkers)));
    /// # Ok::<(), BuildError>(())
    /// ```
    pub fn new(workers: usize) -> Result<Self, BuildError> {
        Self::builder().workers(workers).build()
    }

    /// To say how a pool is to be.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::default()
    }

    /// The pool for whoever does not make one; built when it is first asked for.
    ///
    /// # Panics
    /// If it cannot be built; for example because `LOCKSLEY_WORKERS` is not a number. To have that as an error, call
    /// [`PoolBuilder::build_global`] first.
    ///
    /// # Examples
    /// ```
    /// assert!(locksley::Pool::global().workers() >= 1);
    /// ```
    #[must_use]
    pub fn global() -> &'static Self {
        global::get()
    }

    /// For whoever wants to use it. After a fork this has new threads.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        if !self.shared.is_lost() {
            return &self.shared;
        }
        self.rebuild.rebuilt(self.shared.chosen_size()).shared()
    }

    /// The same, but that nothing is started.
    pub(crate) fn shared_now(&self) -> &Arc<Shared> {
        if !self.shared.is_lost() {
            return &self.shared;
        }
        self.rebuild.pool().map_or(&self.shared, Self::shared_now)
    }

    /// Lets go of the pool without waiting for it: its workers end when all detached closures have, and futures that are still
    /// [tasks](crate::task) then have been cancelled and dropped, as when it is dropped.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = locksley::Pool::new(2)?;
    /// let (sender, receiver) = channel();
    /// pool.spawn(move |_| sender.send("done").unwrap());
    /// pool.detach();
    /// assert_eq!(receiver.recv(), Ok("done"));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn detach(mut self) {
        if !self.shared.is_lost() {
            self.threads.clear();
        }
        self.rebuild.detach();
        self.is_detached = true;
    }

    /// How many workers it has, those that only sleep included: if nobody has [chosen](PoolBuilder::workers) a number, it may be more than [may be at work](Self::size).
    #[must_use]
    pub fn workers(&self) -> usize {
        self.shared_now().workers()
    }

    /// How many of its workers may be at work: as many as it has, or as many as [`resize`](Self::resize) has said; or, if nobody has
    /// [chosen](PoolBuilder::workers) a number, as many as were allowed when one of its workers last looked; one of these may rest, and one more may be at work while workers wait for processors that other programs have, where two or more may be awake and no quota says how many.
    #[must_use]
    pub fn size(&self) -> usize {
        self.shared_now().size()
    }

    /// Has at most so many of its workers be at work from now on, and at least one. It has as many as before
    /// ([`workers`](Self::workers)): all have their indices and data, get what is sent to each of them, and run broadcasts.
    ///
    /// Workers that are over the limit finish their tasks and what lies in their deques, or others take
    /// that. Then they sleep until something is sent to one of them alone. If there is work and no
    /// worker does any for half a second, since those that are awake are blocked, a sleeping one helps;
    /// after ten seconds it takes whatever waits ([`Limit`](crate::idle::Limit)). If the size grows,
    /// workers are woken. A pool whose number of workers was not [chosen](PoolBuilder::workers) follows
    /// affinity and quotas no longer. A thread that [joined](PoolBuilder::with_current_thread) the pool
    /// does not count.
    ///
    /// # Errors
    /// [`SizeError`] if it is 0, or more than the pool has.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).max_workers(4).build()?;
    /// assert_eq!((pool.size(), pool.workers()), (2, 4));
    /// pool.resize(4)?;
    /// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
    /// pool.resize(1)?;
    /// assert!(pool.resize(0).is_err() && pool.resize(5).is_err());
    /// assert_eq!(pool.broadcast(|worker| worker.index()), [0, 1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resize(&self, size: usize) -> Result<(), SizeError> {
        let shared = self.shared();
        let most = shared.workers();
        if !(1..=most).contains(&size) {
            return Err(SizeError { asked: size, most });
        }
        shared.resize(size);
        Ok(())
    }

    /// The places of its workers: see [`PoolBuilder::places`].
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// println!("{}", pool.places());
    /// assert!(pool.places().count() >= 1);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn places(&self) -> &Places {
        self.shared_now().places()
    }

    /// How many workers the system has bound to the processors of their places: all, or fewer than [`Affinity::Place`](crate::Affinity::Place) asks
    /// for, where the system does not do it or has none of these processors for the process; and none if nobody asked. Of a pool that
    /// [starts in the background](PoolBuilder::start_in_background): so far.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Affinity, Pool};
    ///
    /// let pool = Pool::builder().workers(2).affinity(Affinity::Place).build()?;
    /// if pool.bound_workers() < pool.workers() {
    ///     eprintln!("some workers may run anywhere");
    /// }
    /// assert_eq!(Pool::new(2)?.bound_workers(), 0);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn bound_workers(&self) -> usize {
        self.shared_now().bound_workers()
    }

    /// What its workers have done so far.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.shared_now().stats()
    }

    /// Runs `task` on a worker of this pool and waits for what it returns.
    ///
    /// Called by one of this pool's own workers, it runs at once, on that worker. Any other thread
    /// blocks; if it is a worker of another pool, a replacement worker has its slot there meanwhile. What is sent from outside is taken in the
    /// order in which it was sent.
    ///
    /// # Panics
    /// If the task panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let mut text = String::from("borrowed");
    /// pool.install(|worker| text.push_str(if worker.workers() == 2 { " by one of two" } else { "?" }));
    /// assert_eq!(text, "borrowed by one of two");
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn install<F, R>(&self, task: F) -> R
    where
        F: FnOnce(&Worker) -> R + Send,
        R: Send,
    {
        let shared = self.shared();
        Worker::with_current(|current| match current {
            Some(worker) if worker.belongs_to(shared) => task(worker),
            Some(stranger) => {
                let latch = WorkerLatch::set_from_abroad(stranger);
                let wait = |latch: &WorkerLatch<'_>| stranger.wait_for_others(latch.flag());
                run_sent((shared, current), task, latch, wait)
            }
            None => run_sent((shared, None), task, ThreadLatch::new(), ThreadLatch::wait),
        })
    }
}

impl Worker {
    /// Whether this is a worker of that pool.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    ///
    /// let (one, other) = (Pool::new(1)?, Pool::new(1)?);
    /// one.install(|worker| {
    ///     assert!(worker.is_of(&one));
    ///     assert!(!worker.is_of(&other));
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn is_of(&self, pool: &Pool) -> bool {
        self.belongs_to(pool.shared_now())
    }
}

fn run_sent<F, R, L>(
    (shared, caller): (&Shared, Option<&Worker>),
    task: F,
    latch: L,
    wait: impl FnOnce(&L),
) -> R
where
    F: FnOnce(&Worker) -> R + Send,
    R: Send,
    L: Latch,
{
    let job = StackJob::new(task, latch);
    shared.send_from(caller, job.as_job());
    wait(job.latch());
    follow(job.latest());
    // SAFETY: the latch was waited for.
    unsafe { job.take_result() }.unwrap_or_else(|payload| unwind::resume(payload))
}

impl Drop for Pool {
    fn drop(&mut self) {
        let threads = std::mem::take(&mut self.threads);
        if self.shared.is_lost() {
            // There is nobody to tell, and nobody to wait for, not even to let go of. What was theirs stays where it is.
            std::mem::forget(threads);
            return;
        }
        self.shared.end_detached();
        if self.is_detached {
            return;
        }
        Worker::with_current(|current| match current {
            Some(borrowed_thread)
                if borrowed_thread.belongs_to(&self.shared) && borrowed_thread.is_borrowed() =>
            {
                // Some of what was accepted may wait here, and this thread may never come back to it.
                while !std::thread::panicking() && borrowed_thread.run_one() {}
            }
            Some(worker) if worker.belongs_to(&self.shared) => drop(threads),
            _ if threads.is_empty() => {}
            Some(stranger) if !std::thread::panicking() => {
                work_until_ended(stranger, threads, &self.shared);
            }
            _ => join_all(threads, &self.shared),
        });
    }
}

/// Waits for the threads as a worker of another pool waits for anything: by working on. What they still have to do may
/// need this very worker.
fn work_until_ended(stranger: &Worker, threads: Vec<JoinHandle<()>>, pool: &Shared) {
    let latch = WorkerLatch::set_from_abroad(stranger);
    let threads = Mutex::new(threads);
    let take = || std::mem::take(&mut *threads.lock().unwrap_or_else(PoisonError::into_inner));
    std::thread::scope(|scope| {
        let wait = || {
            join_all(take(), pool);
            // SAFETY: alive until the scope ends, which waits for this thread.
            unsafe { WorkerLatch::set(NonNull::from(&latch)) };
        };
        match std::thread::Builder::new().spawn_scoped(scope, wait) {
            Ok(_) => stranger.wait_for_others(latch.flag()),
            Err(_) => join_all(take(), pool), // no thread to be had: wait as any other thread does
        }
    });
}

fn join_all(threads: Vec<JoinHandle<()>>, pool: &Shared) {
    let join = |thread: JoinHandle<()>| {
        // A worker reports its panics itself.
        let _ = thread.join();
    };
    threads.into_iter().for_each(join);
    // When the workers have ended, nobody calls a replacement any more.
    pool.replacements().take_threads().into_iter().for_each(join);
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pool").field(self.shared_now()).finish()
    }
}
