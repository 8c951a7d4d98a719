//! Pools: Hood's "parallel machine".

mod apart;
mod builder;
mod division;
mod environment;
mod error;
mod global;
mod metered;
mod post;
mod revival;
mod seat;
mod shared;
#[cfg(all(test, not(loom)))]
mod stall;
#[cfg(all(test, feature = "stacks", not(any(loom, locksley_portable))))]
mod stall_apart;
#[cfg(all(test, not(loom)))]
mod stall_near;
mod stand_ins;
mod start;
mod tally;
mod thread;
#[cfg(all(test, not(loom)))]
pub(crate) mod trial;

use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

pub use builder::{Affinity, PoolBuilder};
pub(crate) use division::Quarter;
pub use division::Unplaced;
pub use error::{BuildError, SizeError};
use revival::Revival;
pub(crate) use seat::Seat;
pub(crate) use shared::Shared;
pub use thread::WorkerThread;

use crate::held::{self, Place, Wait};
use crate::job::StackJob;
use crate::latch::{Latch, ThreadLatch, WorkerLatch};
use crate::meter::{PoolStats, Site};
use crate::places::Places;
use crate::sleep::MAX_WORKERS;
use crate::unwind;
use crate::worker::Worker;

/// Some workers, and what they share: Hood's "parallel machine" ("Hood: A User-Level Threads Library for
/// Multiprogrammed Multiprocessors", 1998, section 2).
///
/// In a child process that was made by `fork` (on Linux) there are none of a pool's threads. A pool that made its threads itself is
/// then built again, as it was, when it is first used there: with as many workers, the same names, hooks and handlers; the
/// global pool, too. What the parent's tasks were about is the parent's: in the child they are lost, and so
/// is what a handle or scope would wait for there (a thread that waits for it panics, or, if it was a worker, ends the
/// process, instead of hanging; a future of your own that waits for something lost is not seen through). A worker that forked ends the
/// child when it is done with the task in which it did, so that nothing is run in both. The child may drop the pool. The thread that forked is no worker there, though it was one.
/// (As in any program, what lies in the frames of other threads is not to be relied on in the child: new threads may be given their
/// stacks.) A fork should not come while another thread builds its first pool.
///
/// Dropping a pool waits until all detached closures have ended; then futures that are still [tasks](crate::task), and
/// [networks](crate::kahn), are cancelled and dropped by the workers; and then it waits for its threads. A worker of another pool goes on
/// with its own pool's tasks meanwhile (so do not hold a lock that these may want). Dropped by one of its own workers it cannot wait for itself, so it returns at
/// once and the threads end when the tasks have. Threads of your own ([`PoolBuilder::build_with`]) are yours to wait for.
///
/// # Examples
/// ```
/// use locksley::Pool;
///
/// let pool = Pool::new(4)?;
/// let (a, b) = pool.run(|worker| worker.join(|_| 6 * 7, |_| "answer"));
/// assert_eq!((a, b), (42, "answer"));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub struct Pool {
    shared: Arc<Shared>,
    /// Those to wait for when the pool is dropped.
    threads: Vec<JoinHandle<()>>,
    is_detached: bool,
    revival: Revival,
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
        self.revival.revived(self.shared.chosen_size()).shared()
    }

    /// The same, but that nothing is started.
    pub(crate) fn shared_now(&self) -> &Arc<Shared> {
        if !self.shared.is_lost() {
            return &self.shared;
        }
        self.revival.pool().map_or(&self.shared, Self::shared_now)
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
        self.revival.detach();
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
    /// If they become fewer, those that are too many, whichever they are, finish what they run and what lies in their deques, or others
    /// take that. Then they sleep: nobody hunts for them or wakes them, unless something is sent to a certain one of them, or what
    /// it waits for has happened, or a [process](crate::kahn::Network::process_on_stack) needs a stack that a worker has come across which has none. While there is work and nobody does any
    /// for half a second, because those that are awake are blocked, one of those that sleep helps; and it takes what has been
    /// waiting for ten seconds, since somebody may wait for it in their own code (how a governor's limit is kept: [`Limit`](crate::hunt::Limit)). If they become more, they are woken
    /// to look for work. A pool for which nobody had [chosen](PoolBuilder::workers) a number does not follow what is allowed any more. A thread that [joined](PoolBuilder::with_current_thread) the pool does not count among them: mostly it is about
    /// something else.
    ///
    /// # Errors
    /// [`SizeError`] if it is 0, or more than the pool has.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).max_workers(4).build()?;
    /// assert_eq!((pool.size(), pool.workers()), (2, 4));
    /// pool.resize(4)?;
    /// assert_eq!(pool.run(|w| w.reduce(0..1000_u64, || 0, |a, n| a + n, |a, b| a + b)), 499_500);
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
    /// Called by one of this pool's own workers, it runs at once, on that worker. A worker of another pool goes on
    /// with its own pool's tasks while it waits; any other thread blocks. What is sent from outside is taken in the
    /// order in which it was sent.
    ///
    /// # Panics
    /// If the task panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let mut text = String::from("borrowed");
    /// pool.run(|worker| text.push_str(if worker.workers() == 2 { " by one of two" } else { "?" }));
    /// assert_eq!(text, "borrowed by one of two");
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn run<F, R>(&self, task: F) -> R
    where
        F: FnOnce(&Worker) -> R + Send,
        R: Send,
    {
        self.run_from((Place::here(), Site::here()), task)
    }

    /// The same, from that place in the program.
    pub(crate) fn run_from<F, R>(&self, (place, site): (Place, Site), task: F) -> R
    where
        F: FnOnce(&Worker) -> R + Send,
        R: Send,
    {
        let shared = self.shared();
        Worker::with_current(|current| match current {
            Some(worker) if worker.belongs_to(shared) => shared.run_here(worker, site, task),
            Some(stranger) => {
                held::tell(current, Wait::Run, place);
                let latch = WorkerLatch::set_from_abroad(stranger);
                self.run_sent(site, task, latch, |latch| {
                    stranger.while_aside(|| stranger.wait_until(latch.flag()));
                })
            }
            None => self.run_sent(site, task, ThreadLatch::new(), ThreadLatch::wait),
        })
    }

    fn run_sent<F, R, L>(&self, site: Site, task: F, latch: L, wait: impl FnOnce(&L)) -> R
    where
        F: FnOnce(&Worker) -> R + Send,
        R: Send,
        L: Latch,
    {
        let job = StackJob::new(task, latch);
        Worker::with_current(|current| self.shared().is_sent_from(current, site));
        self.shared().send(job.as_job());
        wait(job.latch());
        Worker::with_current(|current| {
            self.shared().meter_comes_after(current, job.paths());
        });
        // SAFETY: the latch was waited for.
        unsafe { job.take_result() }.unwrap_or_else(|payload| unwind::resume(payload))
    }

    /// Accepts a detached task: it will run, whatever becomes of the caller and of this handle.
    ///
    /// A worker of this pool puts it with its own tasks; from elsewhere, tasks are taken in the order in which they were
    /// sent (with several workers, one that was taken later may be run sooner). Where tasks [go round](Unplaced::RoundRobin) the pool's places, it goes to
    /// the next place, and the order is that within a place. If the task panics, the payload goes to the pool's [`panic_handler`](PoolBuilder::panic_handler).
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = locksley::Pool::new(2)?;
    /// let (sender, receiver) = channel();
    /// pool.spawn(move |worker| sender.send(worker.index()).unwrap());
    /// assert!(receiver.recv().unwrap() < 2);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, task: F)
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        self.spawn_from(Site::here(), task);
    }

    /// The same, from that place in the program.
    pub(crate) fn spawn_from<F>(&self, site: Site, task: F)
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        let shared = self.shared();
        if let Some(job) = shared.detached(task) {
            Worker::with_current(|current| shared.is_sent_from(current, site));
            push_or_send(shared, job);
        }
    }
}

/// With the calling worker's own tasks if it belongs to the pool, else to the inbox; or to a place, where tasks go round.
pub(crate) fn push_or_send(shared: &Arc<Shared>, job: NonNull<crate::job::Job>) {
    Worker::with_current(|current| match current {
        Some(worker) if worker.belongs_to(shared) => worker.push_unplaced(job),
        _ => send(shared, job),
    });
}

/// To the inbox; or to a place, where tasks go round.
pub(crate) fn send(shared: &Shared, job: NonNull<crate::job::Job>) {
    match shared.next_place() {
        None => shared.send(job),
        Some(place) => shared.send_near(place, job),
    }
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
            Some(guest) if guest.belongs_to(&self.shared) && guest.is_guest() => {
                // Some of what was accepted may wait here, and this thread may never come back to it.
                while !std::thread::panicking() && guest.runs_one() {}
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
            Ok(_) => stranger.wait_until(latch.flag()),
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
    // When the workers have ended, nobody calls a stand-in any more.
    pool.stand_ins().take_threads().into_iter().for_each(join);
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pool").field(self.shared_now()).finish()
    }
}
