//! `scope`: any number of tasks that borrow from the frame which waits for them.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::lazy::Lazy;
use super::spawn::Spawn;
use crate::cancellation::{Cancellation, Cancelled};
use crate::pool::Pool;
use crate::primitive::{AtomicBool, AtomicI64, AtomicPtr, Ordering};
use crate::scheduler::Shared;
use crate::scheduler::Worker;
use crate::scheduler::job::{GroupJob, Job, Line};
use crate::scheduler::latch::{CountLatch, Latch};
use crate::unwind::{self, Payload};

/// Tasks may be spawned in it, and all of them end before it does. See [`scope`].
pub struct Scope<'scope> {
    /// Alive until the scope ends; the lifetimes that it borrows are erased here and kept by `scope_in`.
    state: NonNull<ScopeState<'static>>,
    home: Arc<Shared>,
    /// Invariant: a scope must be neither shortened nor lengthened.
    lifetime: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// What the tasks of a scope have in common.
pub(crate) struct ScopeState<'w> {
    home: &'w Arc<Shared>,
    running: CountLatch<'w>,
    /// The first task to panic leaves its payload here.
    panic: AtomicPtr<Payload>,
    /// The lines of all workers, once a task was spawned in order.
    lines: Lazy<Box<[Line]>>,
    /// The slot of the waiter, if that is a worker of the pool.
    waiter: Option<usize>,
    /// No task of the scope lies below this in the waiter's deque. Written by its thread.
    floor: AtomicI64,
    /// Once it is cancelled, no task begins.
    token: Option<&'w Cancellation>,
    /// True if a task was left out.
    is_incomplete: AtomicBool,
}

// SAFETY: the state is shared by reference only, and consists of atomics, of what is made to be used by any thread (lines, inboxes), and of
// a latch made to be set by any thread.
unsafe impl Send for Scope<'_> {}
// SAFETY: as above; spawning takes `&self` from any thread.
unsafe impl Sync for Scope<'_> {}

/// Runs `body`, which may spawn tasks that borrow what outlives the scope, and returns when all of them have ended.
///
/// On a thread that is no worker, it all happens in the [global pool](Pool::global).
///
/// A worker that waits here runs tasks of the scope. If it finds none, it blocks, and a replacement
/// worker takes its slot.
///
/// # Panics
/// If the body or a task panics, with its payload, after all tasks have ended; if several do, with the body's or else
/// the first one's.
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
        Some(worker) => scope_in(worker.shared(), Some(worker), None, body).0,
        None => Pool::global().install(|worker| worker.scope(|_, scope| body(scope))),
    })
}

/// As [`scope`], but its tasks do not begin once `token` is cancelled.
///
/// Tasks that have begun are waited for, as ever; a long task [checks](Cancellation::check) the token
/// at times. Tasks that have not begun are dropped, with what they own, on a worker, and before this
/// returns. Futures of the scope are not stopped. To cancel this scope and nothing outside of it,
/// give it a [child](Cancellation::child) of a token.
///
/// # Errors
/// [`Cancelled`] if the body or some task did not begin. If all began, the result is returned,
/// cancelled or not.
///
/// # Panics
/// As [`scope`]; a panic comes before the error.
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
        Some(worker) => worker.scope_until(token, |_, scope| body(scope)),
        None => Pool::global().install(|worker| worker.scope_until(token, |_, scope| body(scope))),
    })
}

/// As [`scope`], but `body` runs on the calling thread, whether that is a worker or not; its tasks run in the calling
/// worker's pool, or else in the [global pool](Pool::global).
///
/// # Panics
/// If the body or a task panics, with its payload, after all tasks have ended.
///
/// # Examples
/// What does not go to other threads can be used in the body, though not in the tasks:
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
        Some(worker) => scope_in(worker.shared(), Some(worker), None, body).0,
        None => Pool::global().in_place_scope(body),
    })
}

impl Pool {
    /// Runs `body` on the calling thread; the tasks that it spawns run in this pool, and end before this returns.
    ///
    /// A worker, of this or another pool, works while it waits for them; any other thread blocks.
    ///
    /// # Panics
    /// If the body or a task panics, with its payload, after all tasks have ended.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = locksley::Pool::new(1)?;
    /// let (sender, receiver) = channel();
    /// pool.in_place_scope(move |scope| {
    ///     scope.spawn(move |_| sender.send(1).unwrap());
    ///     receiver.recv().unwrap(); // the body does not take up the only worker
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn in_place_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        Worker::with_current(|current| scope_in(self.shared(), current, None, body).0)
    }
}

impl Worker {
    /// Runs `body`, which may spawn tasks that borrow what outlives the scope, and returns when all of them have
    /// ended: [`scope`] on a known worker. The body runs on this very worker.
    ///
    /// # Panics
    /// If the body or a task panics, with its payload, after all tasks have ended.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let mut words = ["robin", "marian"].map(String::from);
    /// pool.install(|worker| {
    ///     worker.scope(|worker, scope| {
    ///         for word in &mut words {
    ///             scope.spawn_on(worker, |_, _| word.push('!'));
    ///         }
    ///     })
    /// });
    /// assert_eq!(words, ["robin!", "marian!"]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Worker, &Scope<'scope>) -> R,
    {
        scope_in(self.shared(), Some(self), None, |scope| body(self, scope)).0
    }

    /// [`scope_until`] on a known worker. The body runs on this very worker.
    ///
    /// # Errors
    /// [`Cancelled`] if the body or some task did not begin.
    ///
    /// # Panics
    /// As [`Worker::scope`].
    ///
    /// # Examples
    /// ```
    /// use locksley::{Cancellation, Pool};
    ///
    /// let mut words = ["robin", "marian"].map(String::from);
    /// let result = Pool::new(2)?.install(|worker| {
    ///     worker.scope_until(&Cancellation::new(), |worker, scope| {
    ///         for word in &mut words {
    ///             scope.spawn_on(worker, |_, _| word.push('!'));
    ///         }
    ///     })
    /// });
    /// assert_eq!(result, Ok(()));
    /// assert_eq!(words, ["robin!", "marian!"]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn scope_until<'scope, F, R>(&self, token: &Cancellation, body: F) -> Result<R, Cancelled>
    where
        F: FnOnce(&Worker, &Scope<'scope>) -> R,
    {
        token.check()?;
        let body = |scope: &Scope<'scope>| body(self, scope);
        let (result, is_complete) = scope_in(self.shared(), Some(self), Some(token), body);
        if is_complete { Ok(result) } else { Err(Cancelled) }
    }
}

/// Runs `body` on the calling thread, which may be a worker of any pool, and waits for the tasks that
/// it spawns into `home`. Also returns whether all of them have begun.
fn scope_in<'scope, R>(
    home: &Arc<Shared>,
    current: Option<&Worker>,
    token: Option<&Cancellation>,
    body: impl FnOnce(&Scope<'scope>) -> R,
) -> (R, bool) {
    let state = ScopeState {
        home,
        running: CountLatch::new(current, home),
        panic: AtomicPtr::new(ptr::null_mut()),
        lines: Lazy::new(),
        waiter: current.filter(|worker| worker.belongs_to(home)).map(Worker::slot_index),
        floor: AtomicI64::new(i64::MAX),
        token,
        is_incomplete: AtomicBool::new(false),
    };
    let scope = Scope {
        state: NonNull::from(&state).cast(),
        home: Arc::clone(home),
        lifetime: PhantomData,
    };
    let result = unwind::halt(|| body(&scope));
    let group = scope.state.cast();
    // The body counted as the first task.
    state.running.end_and_wait(|event| {
        let worker = current.expect("only a worker waits so");
        if worker.belongs_to(home) {
            // Relaxed: written by this thread.
            let floor = || state.floor.load(Ordering::Relaxed);
            worker.wait_for_group(event, group, floor);
        } else {
            worker.wait_for_others(event);
        }
    });
    let panic = state.take_panic();
    match (result, panic) {
        // Relaxed: written by tasks that were waited for.
        (Ok(result), None) => (result, !state.is_incomplete.load(Ordering::Relaxed)),
        (Ok(_), Some(payload)) => unwind::resume(payload),
        (Err(payload), other) => {
            if let Some(other) = other {
                unwind::discard(other);
            }
            unwind::resume(payload)
        }
    }
}

impl<'scope> Scope<'scope> {
    /// Adds a task to the scope. It may run at once on another worker, and may spawn more.
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
        Worker::with_current(|current| self.push_or_send(current, job));
    }

    /// Adds a task to the scope from a known worker: [`spawn`](Self::spawn) without looking up who calls.
    ///
    /// # Examples
    /// See [`Worker::scope`].
    pub fn spawn_on<F>(&self, worker: &Worker, task: F)
    where
        F: FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
    {
        let Some(job) = self.job(task) else { return };
        self.push_or_send(Some(worker), job);
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
    /// locksley::Pool::new(1)?.install(|worker| {
    ///     worker.scope(|_, scope| {
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
        option.assert_valid_in(&self.home);
        let Some(job) = self.job(task) else { return };
        Worker::with_current(|current| {
            let own = current.filter(|worker| worker.belongs_to(&self.home));
            if let Some(worker) = own {
                self.note_push_by(worker);
            }
            match (own, option) {
                // SAFETY: this worker's line of this scope, which does not end before the tasks that
                // stand there.
                (Some(worker), Spawn::Fifo) => unsafe {
                    worker.push_in_line(self.line(worker), job);
                },
                _ => self.home.send_with(current, option, job),
            }
        });
    }

    /// Adds a task for each worker of the pool, to be run by that worker when it has no tasks of its own, or waits for
    /// the scope or for another broadcast.
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
        self.home.must_be_open();
        let task = Arc::new(task);
        Worker::with_current(|current| {
            for worker in 0..self.home.workers() {
                let task = Arc::clone(&task);
                if let Some(job) = self.job(move |worker, scope| task(worker, scope)) {
                    self.home.send_to(current, worker, job);
                }
            }
        });
    }

    /// Counts one more task of this scope. Returns its group.
    pub(crate) fn begin(&self) -> NonNull<()> {
        self.state().running.begin();
        self.state.cast()
    }

    /// A job that counts as one task of this scope, from now on. `None` if the scope is cancelled.
    pub(super) fn job<F>(&self, task: F) -> Option<NonNull<Job>>
    where
        F: FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
    {
        if !self.state().admits() {
            return None;
        }
        let group = self.begin();
        let home = Arc::clone(&self.home);
        let run = move |worker: &Worker, group: NonNull<()>| {
            let scope = Scope { state: group.cast(), home, lifetime: PhantomData };
            let run = || match scope.state().admits() {
                true => task(worker, &scope),
                false => drop(task),
            };
            if let Err(payload) = unwind::halt(run) {
                scope.state().keep_panic(payload);
            }
            drop(scope);
            // SAFETY: counted by `begin`, and ended once.
            unsafe { ScopeState::end(group, worker) };
        };
        // SAFETY: run once, since the pool stays open while a task of it waits here; and before
        // `'scope` ends, because the scope waits for its state. Its panic is caught.
        Some(unsafe { GroupJob::into_job(group, run) })
    }

    /// Pushes to the caller's own deque if it belongs to the pool, and sends otherwise; or to a place,
    /// where tasks go round.
    pub(crate) fn push_or_send(&self, caller: Option<&Worker>, job: NonNull<Job>) {
        match (caller.filter(|worker| worker.belongs_to(&self.home)), self.home.next_place()) {
            (Some(worker), None) => {
                self.note_push_by(worker);
                worker.push(job);
            }
            (Some(worker), Some(place)) => worker.push_near(place, job),
            (None, None) => self.home.send_from(caller, job),
            (None, Some(place)) => self.home.send_near_from(caller, place, job),
        }
    }

    /// That worker is about to push a task of the scope: the waiter has to know how deep to look.
    fn note_push_by(&self, worker: &Worker) {
        let state = self.state();
        if state.waiter == Some(worker.slot_index()) {
            // Relaxed: the waiter's thread alone uses it.
            let floor = state.floor.load(Ordering::Relaxed).min(worker.deque_end());
            state.floor.store(floor, Ordering::Relaxed);
        }
    }

    /// The pool in which the tasks run.
    pub(crate) fn home(&self) -> &Shared {
        &self.home
    }

    /// Where the tasks stand that this worker has spawned in order.
    fn line(&self, worker: &Worker) -> &Line {
        let line = |_| Line::of_a_group(self.state.cast());
        let made = || (0..self.home.workers()).map(line).collect();
        &self.state().lines.get_or_make(made)[worker.index()]
    }

    fn state(&self) -> &ScopeState<'_> {
        // SAFETY: alive until all tasks have ended; who has a `&Scope` is the body or a task that has not.
        unsafe { self.state.cast().as_ref() }
    }
}

impl ScopeState<'_> {
    /// That of a group.
    ///
    /// # Safety
    /// It is the group of a scope that waits for a task which has not ended, for as long as the
    /// reference is used.
    pub(crate) unsafe fn of<'t>(group: NonNull<()>) -> &'t ScopeState<'t> {
        // SAFETY: as the caller promises.
        unsafe { group.cast::<ScopeState<'t>>().as_ref() }
    }

    /// True if a task may begin. If not, it is left out.
    fn admits(&self) -> bool {
        let admits = self.token.is_none_or(|token| !token.is_cancelled());
        if !admits {
            // Relaxed: read after all tasks were waited for, of which the caller's is one.
            self.is_incomplete.store(true, Ordering::Relaxed);
        }
        admits
    }

    /// The pool of the scope.
    pub(crate) fn home(&self) -> &Arc<Shared> {
        self.home
    }

    /// A task of the scope ends, which ran on that worker.
    ///
    /// # Safety
    /// It was counted by [`Scope::begin`], and ends once.
    pub(crate) unsafe fn end(group: NonNull<()>, worker: &Worker) {
        let running = {
            // SAFETY: alive until all tasks have ended, of which this is one.
            let state = unsafe { ScopeState::of(group) };
            state.running.ends_at(worker);
            NonNull::from(&state.running)
        };
        // SAFETY: as above.
        unsafe { CountLatch::set(running) };
    }

    pub(crate) fn keep_panic(&self, payload: Payload) {
        let payload = Box::into_raw(Box::new(payload));
        // Release pairs with the acquire in `take_panic`, though the counter would do as well.
        let first = self.panic.compare_exchange(
            ptr::null_mut(),
            payload,
            Ordering::Release,
            Ordering::Relaxed,
        );
        if first.is_err() {
            // SAFETY: made above, and not shown to anybody.
            unwind::discard(*unsafe { Box::from_raw(payload) });
        }
    }

    fn take_panic(&self) -> Option<Payload> {
        let payload = self.panic.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: null, or made by `keep_panic` and taken only here.
        (!payload.is_null()).then(|| *unsafe { Box::from_raw(payload) })
    }
}

impl Drop for ScopeState<'_> {
    fn drop(&mut self) {
        drop(self.take_panic());
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("pool", &self.home).finish_non_exhaustive()
    }
}
