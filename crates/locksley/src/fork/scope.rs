//! `scope`: any number of tasks that borrow from the frame which waits for them.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::lazy::Lazy;
use super::strays::Below;
use super::waiting::Waiting;
use crate::held::{self, Place, Wait};
use crate::job::{Job, ScopedJob, ScopedLine};
use crate::latch::{CountLatch, Flag, Latch};
use crate::meter::Site;
use crate::pool::{Pool, Shared};
use crate::primitive::{AtomicPtr, Ordering};
use crate::strand::{self, Rendezvous};
use crate::unwind::{self, Payload};
use crate::worker::Worker;

/// Tasks may be spawned in it, and all of them end before it does. See [`scope`].
pub struct Scope<'scope> {
    /// Alive until the scope ends; the lifetimes that it borrows are erased here and kept by `scope_in`.
    tally: NonNull<Tally<'static>>,
    home: Arc<Shared>,
    /// Invariant: a scope must be neither shortened nor lengthened.
    lifetime: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// What the tasks of a scope have in common.
struct Tally<'w> {
    running: CountLatch<'w>,
    /// The first task to panic leaves its payload here.
    panic: AtomicPtr<Payload>,
    /// The lines of all workers, once anybody has spawned a task in order.
    lines: Lazy<Box<[ScopedLine]>>,
    /// If the waiter runs only what lies below it.
    below: Option<Below>,
    /// Where the paths of its tasks meet, if who opened it is metered.
    paths: Option<Box<Rendezvous>>,
}

// SAFETY: the tally is shared by reference only, and consists of atomics, of what is made to be used by any thread (lines, inboxes), and of
// a latch made to be set by any thread.
unsafe impl Send for Scope<'_> {}
// SAFETY: as above; spawning takes `&self` from any thread.
unsafe impl Sync for Scope<'_> {}

/// Runs `body`, which may spawn tasks that borrow what outlives the scope, and returns when all of them have ended.
///
/// On a thread that is no worker, it all happens in the [global pool](Pool::global).
///
/// Who waits here runs other tasks meanwhile ([`Waiting`]). So values that are set in
/// [thread-locals](crate::PoolBuilder::waiting_stacks) for the time of a call must not be relied on across a scope's end.
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
#[cfg_attr(feature = "held-locks", track_caller)]
pub fn scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    let place = Place::here();
    Worker::with_current(|current| match current {
        Some(worker) => scope_in(worker.shared(), Some((worker, None)), place, body),
        None => Pool::global().run(|worker| worker.scope_at(place, |_, scope| body(scope))),
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
#[cfg_attr(feature = "held-locks", track_caller)]
pub fn in_place_scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    let place = Place::here();
    Worker::with_current(|current| match current {
        Some(worker) => scope_in(worker.shared(), Some((worker, None)), place, body),
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
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn in_place_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        let place = Place::here();
        Worker::with_current(|current| {
            scope_in(self.shared(), current.map(|worker| (worker, None)), place, body)
        })
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
    /// pool.run(|worker| {
    ///     worker.scope(|worker, scope| {
    ///         for word in &mut words {
    ///             scope.spawn_on(worker, |_, _| word.push('!'));
    ///         }
    ///     })
    /// });
    /// assert_eq!(words, ["robin!", "marian!"]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Worker, &Scope<'scope>) -> R,
    {
        self.scope_at(Place::here(), body)
    }

    /// [`scope`](Self::scope), in the name of who is there.
    pub(crate) fn scope_at<'scope, F, R>(&self, place: Place, body: F) -> R
    where
        F: FnOnce(&Worker, &Scope<'scope>) -> R,
    {
        scope_in(self.shared(), Some((self, None)), place, |scope| body(self, scope))
    }

    /// [`scope`](Self::scope), and what this worker runs while it waits in it.
    ///
    /// # Panics
    /// As [`scope`](Self::scope).
    ///
    /// # Examples
    /// See [`Waiting`].
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn scope_waiting<'scope, F, R>(&self, waiting: Waiting, body: F) -> R
    where
        F: FnOnce(&Worker, &Scope<'scope>) -> R,
    {
        let how = Some((self, Some(waiting)));
        scope_in(self.shared(), how, Place::here(), |scope| body(self, scope))
    }
}

/// Runs `body` on the calling thread, which may be a worker of whatever pool, and waits for the tasks that it spawns into
/// `home`.
pub(super) fn scope_in<'scope, R>(
    home: &Arc<Shared>,
    current: Option<(&Worker, Option<Waiting>)>,
    place: Place,
    body: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    // A worker of another pool runs none of the tasks.
    let waiter = current.filter(|(worker, _)| worker.belongs_to(home));
    let waits_below = |&(worker, asked): &(&Worker, _)| worker.waiting(asked) == Waiting::Below;
    let tally = Tally {
        running: CountLatch::new(current.map(|(worker, _)| worker), home),
        panic: AtomicPtr::new(ptr::null_mut()),
        lines: Lazy::new(),
        below: waiter.filter(waits_below).map(|(worker, _)| Below::new(worker)),
        paths: home.rendezvous(current.map(|(worker, _)| worker)),
    };
    let scope = Scope {
        tally: NonNull::from(&tally).cast(),
        home: Arc::clone(home),
        lifetime: PhantomData,
    };
    let (tasks, below) = (scope.tally.cast(), tally.below.as_ref());
    let mark = current.map(|(worker, _)| worker.mark());
    let result = unwind::halt(|| {
        held::then_wait(current.map(|(worker, _)| worker), Wait::Scope, place, || body(&scope))
    });
    // The body counted as the first task.
    tally.running.end_and_wait(current.zip(mark).map(|((worker, waiting), mark)| {
        move |event: &Flag| worker.wait_for_scope(event, (tasks, below), mark, waiting)
    }));
    if let Some(paths) = &tally.paths {
        home.meter_comes_after(current.map(|(worker, _)| worker), paths.meeting());
    }
    let panic = tally.take_panic();
    match (result, panic) {
        (Ok(result), None) => result,
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
    #[track_caller]
    pub fn spawn<F>(&self, task: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let (job, site) = (self.job(|_, scope| task(scope)), Site::here());
        Worker::with_current(|current| {
            current.into_iter().for_each(|worker| worker.spawns_at(site));
            self.push_or_send(current, job);
        });
    }

    /// Adds a task to the scope from a known worker: [`spawn`](Self::spawn) without looking up who calls.
    ///
    /// # Examples
    /// See [`Worker::scope`].
    #[track_caller]
    pub fn spawn_on<F>(&self, worker: &Worker, task: F)
    where
        F: FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
    {
        let job = self.job(task);
        worker.spawns_at(Site::here());
        self.push_or_send(Some(worker), job);
    }

    /// Adds a task that begins after those that the calling worker has added like this before: see
    /// [`spawn_fifo`](crate::spawn_fifo) for what that means.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Mutex;
    ///
    /// let order = Mutex::new(Vec::new());
    /// locksley::Pool::new(1)?.run(|worker| {
    ///     worker.scope(|_, scope| {
    ///         for n in 0..3 {
    ///             let order = &order;
    ///             scope.spawn_fifo(move |_| order.lock().unwrap().push(n));
    ///         }
    ///     });
    /// });
    /// assert_eq!(order.into_inner().unwrap(), [0, 1, 2]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_fifo<F>(&self, task: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let (job, site) = (self.job(|_, scope| task(scope)), Site::here());
        Worker::with_current(|current| match current {
            Some(worker) if worker.belongs_to(&self.home) => {
                worker.spawns_at(site);
                let job = self.carried(Some(worker), job);
                // SAFETY: this worker's line of this scope, which does not end before the tasks that stand there; the word is
                // pushed below.
                let word = unsafe { self.line(worker).enqueue(job) };
                self.is_pushed_by(worker);
                worker.push_as_is(word);
            }
            _ => self.send(current, job), // where there is but one order
        });
    }

    /// Adds a task for each worker of the pool, to be run by that worker when it has no tasks of its own. From then on the scope waits for
    /// [`Anything`](Waiting::Anything).
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
    #[track_caller]
    pub fn spawn_broadcast<F>(&self, task: F)
    where
        F: Fn(&Worker, &Scope<'scope>) + Send + Sync + 'scope,
    {
        let site = Site::here();
        self.home.must_be_open();
        if let Some(below) = &self.tally().below {
            below.is_broadcast();
        }
        let task = Arc::new(task);
        Worker::with_current(|current| {
            for worker in 0..self.home.workers() {
                let task = Arc::clone(&task);
                let job = self.job(move |worker, scope| task(worker, scope));
                current.into_iter().for_each(|worker| worker.spawns_at(site));
                let job = self.carried(current, job);
                self.home.send_task_to(worker, self.tally.cast(), job);
            }
        });
    }

    /// A job that counts as one task of this scope, from now on.
    pub(super) fn job<F>(&self, task: F) -> NonNull<Job>
    where
        F: FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
    {
        self.tally().running.begin();
        let home = Arc::clone(&self.home);
        let run = move |worker: &Worker, tally: NonNull<()>| {
            let scope = Scope { tally: tally.cast(), home, lifetime: PhantomData };
            if let Err(payload) = unwind::halt(|| task(worker, &scope)) {
                scope.tally().keep_panic(payload);
            }
            match &scope.tally().paths {
                Some(paths) => paths.is_reached_by(worker),
                None => worker.arrives(),
            }
            let tally = scope.tally;
            drop(scope);
            // SAFETY: alive until all tasks have ended, of which this is one.
            let running = NonNull::from(&unsafe { tally.as_ref() }.running);
            // SAFETY: as above.
            unsafe { CountLatch::set(running) };
        };
        // SAFETY: run once, since the pool stays open while a task of it waits here; and before `'scope` ends, because
        // the scope waits for its tally. Its panic is caught.
        unsafe { ScopedJob::into_job(self.tally.cast(), run) }
    }

    /// With the worker's own tasks if it belongs to the pool, else to where all look; or to a place, where tasks go round.
    fn push_or_send(&self, worker: Option<&Worker>, job: NonNull<Job>) {
        let place = if self.heeds_places() { self.home.next_place() } else { None };
        self.push_or_send_to(worker, place, job);
    }

    /// With the worker's own tasks if it belongs to the pool, else to where all look; or to that place, where it has others.
    pub(super) fn push_or_send_near(
        &self,
        worker: Option<&Worker>,
        place: usize,
        job: NonNull<Job>,
    ) {
        self.push_or_send_to(worker, Some(place).filter(|_| self.heeds_places()), job);
    }

    fn push_or_send_to(&self, caller: Option<&Worker>, place: Option<usize>, job: NonNull<Job>) {
        match (caller.filter(|worker| worker.belongs_to(&self.home)), place) {
            (Some(worker), None) => self.push(worker, job),
            (Some(worker), Some(place)) => self.push_near(worker, place, job),
            (None, None) => self.send(caller, job),
            (None, Some(place)) => self.send_near(caller, place, job),
        }
    }

    /// Whether tasks may go to places. Whoever runs only what lies below would not find them there, and nobody else might look.
    fn heeds_places(&self) -> bool {
        self.tally().below.is_none()
    }

    fn push(&self, worker: &Worker, job: NonNull<Job>) {
        self.is_pushed_by(worker);
        match &self.tally().paths {
            None => worker.push(job),
            Some(_) => worker.push_as_is(self.carried(Some(worker), job)),
        }
    }

    fn push_near(&self, worker: &Worker, place: usize, job: NonNull<Job>) {
        worker.push_near_as_is(place, self.carried(Some(worker), job));
    }

    /// That worker is about to push a task, for the waiter to know.
    fn is_pushed_by(&self, worker: &Worker) {
        if let Some(below) = &self.tally().below {
            below.is_pushed_by(worker);
        }
    }

    fn send(&self, caller: Option<&Worker>, job: NonNull<Job>) {
        let job = self.carried(caller, job);
        // SAFETY: the scope's, and not shown to anybody yet.
        unsafe { leave_to_others(self.tally.cast(), job, &self.home) }
    }

    fn send_near(&self, caller: Option<&Worker>, place: usize, job: NonNull<Job>) {
        self.home.send_near_as_is(place, self.carried(caller, job));
    }

    /// The word to push or send instead of that of `job`, a task that `caller` has made, if either is metered.
    fn carried(&self, caller: Option<&Worker>, job: NonNull<Job>) -> NonNull<Job> {
        // SAFETY: not shown to anybody yet; whoever takes the word runs it, once, before the scope ends.
        unsafe { strand::carried_to(self.tally().paths.as_deref(), caller, job) }
    }

    pub(super) fn home(&self) -> &Shared {
        &self.home
    }

    /// Where the tasks stand that this worker has spawned in order.
    fn line(&self, worker: &Worker) -> &ScopedLine {
        let line = |_| ScopedLine::new(self.tally.cast());
        let made = || (0..self.home.workers()).map(line).collect();
        &self.tally().lines.get_or_make(made)[worker.index()]
    }

    fn tally(&self) -> &Tally<'_> {
        // SAFETY: alive until all tasks have ended; who has a `&Scope` is the body or a task that has not.
        unsafe { self.tally.cast().as_ref() }
    }
}

/// Puts a task of a scope of that pool where whoever comes finds it, and the scope's waiter.
///
/// # Safety
/// A task of that scope, which has not begun, and is the caller's alone.
pub(super) unsafe fn leave_to_others(scope: NonNull<()>, task: NonNull<Job>, pool: &Shared) {
    // SAFETY: alive until all tasks have ended, of which this is one.
    let below = unsafe { &scope.cast::<Tally<'_>>().as_ref().below };
    // From here on the scope may end at any time.
    match below.as_ref().map(Below::strays) {
        Some(strays) => strays.send(task, pool),
        None => pool.send_as_is(task),
    }
}

impl Tally<'_> {
    fn keep_panic(&self, payload: Payload) {
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

impl Drop for Tally<'_> {
    fn drop(&mut self) {
        drop(self.take_panic());
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("pool", &self.home).finish_non_exhaustive()
    }
}
