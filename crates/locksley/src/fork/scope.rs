//! `scope`: any number of tasks that borrow from the frame that waits for them.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use super::join::both;
use super::once_box::OnceBox;
use super::spawn::Spawn;
use crate::cancellation::{Cancellation, Cancelled};
use crate::header::{Job, JobFifo};
use crate::job::HeapJob;
use crate::job::latch::Latch;
use crate::pool::Pool;
use crate::primitive::{AtomicBool, Ordering};
use crate::shared::Shared;
use crate::unwind::{self, Payload};
use crate::worker::Worker;

/// A handle for spawning tasks, all of which end before [`scope`] returns.
pub struct Scope<'scope> {
    /// Alive until the scope ends. Its lifetimes are erased here, and upheld by `run_scope`.
    state: NonNull<ScopeState<'static>>,
    /// Makes the lifetime invariant: it must be neither shortened nor lengthened.
    lifetime: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// The state that the tasks of a scope share. Its address is the identity of these tasks' group, by
/// which the waiter knows the jobs that it may run.
pub(crate) struct ScopeState<'w> {
    /// The pool in which the tasks run.
    pub(crate) pool: &'w Arc<Shared>,
    /// Counts the tasks that have not ended, and the body.
    unfinished: Latch<'w>,
    /// The payload of the first task to panic.
    panic: OnceBox<Payload>,
    /// A FIFO for each worker, made by the first `Spawn::Fifo`.
    fifos: OnceBox<Box<[JobFifo]>>,
    /// No task begins once this token is cancelled.
    token: Option<&'w Cancellation>,
    /// True if a task was dropped without running.
    is_incomplete: AtomicBool,
    /// True if a task of the scope is pinned to a worker, which may be the waiter.
    has_pinned_tasks: AtomicBool,
}

// SAFETY: the state is shared by reference only. Any thread may use the pool, the token, the FIFOs
// and the atomics, set the latch, and store the panic. Only the waiter takes the panic out.
unsafe impl Send for Scope<'_> {}
// SAFETY: as for `Send`. `&self` gives shared references to the state, too.
unsafe impl Sync for Scope<'_> {}

/// Runs `body`, which may spawn tasks, and returns when all of them have ended. The tasks may
/// borrow what outlives the scope.
///
/// Use it if running tasks discover more tasks. [`join`](crate::join()) is for two tasks, and
/// [`loops::par`](crate::loops::par) for many items that are known beforehand.
///
/// On a thread that is no worker, the body and the tasks run in the [global pool](Pool::global).
///
/// A worker that waits here runs tasks of the scope, and tasks that only this worker may run
/// ([`Spawn::At`], broadcasts). If it finds none, it blocks, and a replacement worker takes its
/// slot.
///
/// # Panics
/// If the body or a task panics: with its payload, after all tasks have ended. If several do: with
/// that of the body, or else with that of the first task to panic. Also if the global pool is
/// needed and cannot be built.
///
/// # Examples
/// ```
/// let mut squares = vec![0; 100];
/// locksley::scope(|scope| {
///     for (n, square) in squares.iter_mut().enumerate() {
///         scope.spawn(move |_| *square = n * n);
///     }
/// });
/// assert_eq!(squares[99], 9801);
/// ```
///
/// What a task borrows must outlive the scope:
/// ```compile_fail,E0373
/// locksley::scope(|scope| {
///     let inside = 1;
///     scope.spawn(|_| println!("{inside}"));
/// });
/// ```
pub fn scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    Worker::with_current(|current| match current {
        Some(worker) => scope_in(worker.shared(), Some(worker), body),
        None => Pool::global().install(|_| scope(body)),
    })
}

/// [`scope`] with a token: no task begins once `token` is cancelled.
///
/// Tasks that have begun run to their ends, so a long task should [check](Cancellation::check) the
/// token regularly. A worker drops tasks that have not begun, before this returns. Futures of the
/// scope are not stopped: the scope waits for them. To cancel this scope alone, give it a
/// [child](Cancellation::child) of a token.
///
/// # Errors
/// [`Cancelled`] if the body or some task did not begin. If all began, the result is returned, even
/// if the token is cancelled.
///
/// # Panics
/// As [`scope`]. A panic takes precedence over the error.
///
/// # Examples
/// ```
/// use locksley::{Cancellation, Cancelled, scope_until};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let (token, begun) = (&Cancellation::new(), &AtomicU32::new(0));
/// let result = scope_until(token, |scope| {
///     for n in 0..1000 {
///         scope.spawn(move |_| {
///             begun.fetch_add(1, Ordering::Relaxed);
///             if n == 3 {
///                 token.cancel();
///             }
///         });
///     }
///     token.cancel();
///     scope.spawn(|_| unreachable!("it is too late"));
/// });
/// assert_eq!(result, Err(Cancelled));
/// ```
pub fn scope_until<'scope, F, R>(token: &Cancellation, body: F) -> Result<R, Cancelled>
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    Worker::with_current(|current| match current {
        Some(worker) => {
            token.check()?;
            run_scope(worker.shared(), Some(worker), Some(token), body)
        }
        None => Pool::global().install(|_| scope_until(token, body)),
    })
}

/// [`scope`] with a `body` that runs on the calling thread, which need not be a worker. The tasks
/// run in the calling worker's pool, or else in the [global pool](Pool::global).
///
/// # Panics
/// As [`scope`].
///
/// # Examples
/// The body may use values that are not `Send`, but the tasks may not:
/// ```
/// use std::rc::Rc;
///
/// let here = Rc::new(20);
/// let mut there = 0;
/// let place = &mut there;
/// locksley::in_place_scope(|scope| {
///     let number = *here;
///     scope.spawn(move |_| *place = number + 1);
/// });
/// assert_eq!(there, 21);
/// ```
pub fn in_place_scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    Worker::with_current(|current| match current {
        Some(worker) => scope_in(worker.shared(), Some(worker), body),
        None => Pool::global().in_place_scope(body),
    })
}

impl Pool {
    /// [`scope`] with a `body` that runs on the calling thread, and tasks that run in this pool.
    ///
    /// While it waits, a calling worker of this pool runs tasks of the scope. A calling worker of
    /// another pool runs only tasks of its own pool that no other worker may run ([`Spawn::At`],
    /// broadcasts). If there are none, it blocks, and a replacement works under its index there.
    /// Any other thread blocks.
    ///
    /// # Panics
    /// As [`scope`].
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = locksley::Pool::new(1)?;
    /// let (sender, receiver) = channel();
    /// pool.in_place_scope(move |scope| {
    ///     scope.spawn(move |_| sender.send(1).unwrap());
    ///     receiver.recv().unwrap(); // the body does not occupy the only worker
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn in_place_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        Worker::with_current(|current| scope_in(self.shared(), current, body))
    }
}

/// [`run_scope`] without a token.
pub(super) fn scope_in<'scope, R>(
    pool: &Arc<Shared>,
    current: Option<&Worker>,
    body: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    run_scope(pool, current, None, body).expect("there is no token")
}

/// Runs `body` on the calling thread, which may be a worker of any pool. Waits for the tasks that
/// are spawned into `pool`. [`Cancelled`] if one of these tasks was dropped without running.
fn run_scope<'scope, R>(
    pool: &Arc<Shared>,
    current: Option<&Worker>,
    token: Option<&Cancellation>,
    body: impl FnOnce(&Scope<'scope>) -> R,
) -> Result<R, Cancelled> {
    let mut state = ScopeState {
        pool,
        unfinished: Latch::new(current),
        panic: OnceBox::new(),
        fifos: OnceBox::new(),
        token,
        is_incomplete: AtomicBool::new(false),
        has_pinned_tasks: AtomicBool::new(false),
    };
    let scope = Scope { state: NonNull::from(&state).cast(), lifetime: PhantomData };
    // The waiter leaves older jobs in its deque. (If the body runs some of these itself, tasks of
    // the scope may lie below. Then thieves take them, or the wait does when it is about to park.)
    let start = pool.own_worker(current).map(|worker| worker.local.deque.bottom());
    let result = unwind::catch(|| body(&scope));
    let group = scope.state.cast();
    // The body counts as the first task.
    state.unfinished.end_and_wait(current, |worker, event| match start {
        Some(start) => {
            // Relaxed: if it is seen late, the wait runs pinned tasks after a while.
            let has_pinned_tasks = || state.has_pinned_tasks.load(Ordering::Relaxed);
            worker.wait_for_group(event, group, start, has_pinned_tasks);
        }
        None => worker.wait_for_others(event),
    });
    let (result, ()) = both(result, state.panic.take().map_or(Ok(()), Err));
    // Relaxed: the wait above orders this load after the stores in `admit_task`.
    if state.is_incomplete.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(result) }
}

impl<'scope> Scope<'scope> {
    /// Spawns a task in the scope, which may spawn more.
    ///
    /// A worker begins with the newest of the tasks that it spawned. [`Spawn::Fifo`] changes that
    /// ([`spawn_with`](Self::spawn_with)). In a scope [that is cancelled](scope_until), the task is
    /// dropped without running.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let count = AtomicU32::new(0);
    /// locksley::scope(|scope| {
    ///     scope.spawn(|scope| {
    ///         count.fetch_add(1, Ordering::Relaxed);
    ///         scope.spawn(|_| {
    ///             count.fetch_add(1, Ordering::Relaxed);
    ///         });
    ///     });
    /// });
    /// assert_eq!(count.into_inner(), 2);
    /// ```
    pub fn spawn<F>(&self, task: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let Some(job) = self.job(|_, scope| task(scope)) else { return };
        Worker::with_current(|current| self.pool().push_or_send(current, job));
    }

    /// [`spawn`](Self::spawn) with an option.
    ///
    /// # Panics
    /// If the pool does not have the place or the worker that the option names.
    ///
    /// # Examples
    /// ```
    /// use locksley::Spawn;
    /// use std::sync::Mutex;
    ///
    /// let order = &Mutex::new(Vec::new());
    /// locksley::Pool::new(1)?.install(|_| {
    ///     locksley::scope(|scope| {
    ///         for n in 0..3 {
    ///             scope.spawn_with(Spawn::Fifo, move |_, _| order.lock().unwrap().push(n));
    ///         }
    ///     });
    /// });
    /// assert_eq!(*order.lock().unwrap(), [0, 1, 2]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_with<F>(&self, option: Spawn, task: F)
    where
        F: FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
    {
        let pool = self.pool();
        option.assert_valid_in(pool);
        if matches!(option, Spawn::At(_)) {
            self.state().has_pinned_tasks.store(true, Ordering::Relaxed);
        }
        let Some(job) = self.job(task) else { return };
        Worker::with_current(|current| match (pool.own_worker(current), option) {
            // SAFETY: the FIFO is freed with the state, after all tasks of the scope.
            (Some(worker), Spawn::Fifo) => unsafe { worker.push_fifo(self.fifo(worker), job) },
            _ => pool.send_with(current, Some(option), job),
        });
    }

    /// Spawns a task that each worker of the pool runs once.
    ///
    /// A worker runs it when its own deque is empty, or while it waits.
    ///
    /// # Panics
    /// If the pool is closed. This can happen only on a thread that the pool has
    /// [borrowed](crate::PoolBuilder::with_current_thread), after the thread has dropped the pool.
    /// If the task panics, the scope panics.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let sum = AtomicUsize::new(0);
    /// locksley::Pool::new(3)?.in_place_scope(|scope| {
    ///     scope.spawn_broadcast(|worker, _| {
    ///         sum.fetch_add(worker.index(), Ordering::Relaxed);
    ///     });
    /// });
    /// assert_eq!(sum.into_inner(), 0 + 1 + 2);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn spawn_broadcast<F>(&self, task: F)
    where
        F: Fn(&Worker, &Scope<'scope>) + Send + Sync + 'scope,
    {
        let task = Arc::new(task);
        for worker in 0..self.pool().workers {
            let task = Arc::clone(&task);
            self.spawn_with(Spawn::At(worker), move |worker, scope| task(worker, scope));
        }
    }

    /// Counts one more task of this scope. Returns the group of the task.
    pub(crate) fn count_task(&self) -> NonNull<()> {
        self.state().unfinished.increment();
        self.state.cast()
    }

    /// Makes a job that counts as a task of this scope. `None` if the scope is cancelled.
    fn job<F>(&self, task: F) -> Option<NonNull<Job>>
    where
        F: FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
    {
        if !self.state().admit_task() {
            return None;
        }
        let group = self.count_task();
        let scope = Scope { ..*self };
        let run = move |worker: &Worker| {
            let state = scope.state();
            // A task that is not admitted is dropped in here: its destructor may panic.
            let ended = unwind::catch(|| {
                if state.admit_task() {
                    task(worker, &scope);
                }
            });
            if let Err(payload) = ended {
                state.keep_panic(payload);
            }
            // From `scope`, which is `Send`, unlike the pointer above.
            let group = scope.state.cast();
            // SAFETY: counted by `count_task`, and ended once.
            unsafe { ScopeState::end_task(group, worker) };
        };
        // SAFETY: it runs once, since the pool stays open while a scope in it waits. It runs before
        // `'scope` ends, because the scope waits for it. Its panic is caught.
        Some(unsafe { HeapJob::into_job(Some(group), run) })
    }

    /// The FIFO of the tasks that `worker` has spawned with [`Spawn::Fifo`].
    fn fifo(&self, worker: &Worker) -> &JobFifo {
        let fifo = |_| JobFifo::new(Some(self.state.cast()));
        let init = || (0..worker.indices()).map(fifo).collect();
        &self.state().fifos.get_or_init(init)[worker.index()]
    }

    /// The pool in which the tasks run.
    pub(crate) fn pool(&self) -> &Arc<Shared> {
        self.state().pool
    }

    fn state(&self) -> &ScopeState<'_> {
        // SAFETY: alive until all tasks have ended, and a `&Scope` exists only in the body or in a
        // task.
        unsafe { self.state.cast().as_ref() }
    }
}

impl ScopeState<'_> {
    /// The state of the scope that `group` identifies.
    ///
    /// # Safety
    /// `group` comes from [`Scope::count_task`]. While the reference is used, a task of the scope
    /// has not ended.
    pub(crate) unsafe fn from_group<'t>(group: NonNull<()>) -> &'t ScopeState<'t> {
        // SAFETY: as the caller promises.
        unsafe { group.cast::<ScopeState<'t>>().as_ref() }
    }

    /// Returns true if a task may begin. Otherwise marks the scope as incomplete.
    #[must_use]
    fn admit_task(&self) -> bool {
        let is_admitted = self.token.is_none_or(|token| !token.is_cancelled());
        if !is_admitted {
            // Relaxed: `run_scope` reads it after it has waited for all tasks, and for the caller.
            self.is_incomplete.store(true, Ordering::Relaxed);
        }
        is_admitted
    }

    /// Counts the end of a task that ran on this worker.
    ///
    /// # Safety
    /// The task was counted by [`Scope::count_task`], and ends once.
    pub(crate) unsafe fn end_task(group: NonNull<()>, worker: &Worker) {
        // SAFETY: alive until all tasks have ended, of which this is one.
        let unfinished = NonNull::from(&unsafe { ScopeState::from_group(group) }.unfinished);
        // SAFETY: alive when the call begins, since this task has not ended. The waiter may free
        // the state during the call: no reference to it is left here.
        unsafe { Latch::end(unfinished, Some(worker)) };
    }

    /// Keeps the payload of the first panic, and discards later ones.
    pub(crate) fn keep_panic(&self, payload: Payload) {
        if let Err(later) = self.panic.set(payload) {
            unwind::discard(later);
        }
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("pool", self.pool()).finish_non_exhaustive()
    }
}
