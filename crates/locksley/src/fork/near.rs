//! Tasks for a place: a hint, which costs a task its way back to its own worker, and no other worker its chance.

use super::scope::Scope;
use crate::pool::Pool;
use crate::scheduler::Worker;
use crate::scheduler::division::must_be_one_of;

/// Accepts a detached task for a place of the calling worker's pool, or of the [global pool](Pool::global) on any other thread:
/// [`Pool::spawn_near`].
///
/// # Panics
/// If the pool has no such place. [`Worker::places`] and [`Pool::places`] say which there are.
///
/// # Examples
/// ```
/// use std::sync::mpsc::channel;
///
/// let (sender, receiver) = channel();
/// locksley::spawn_near(0, move || sender.send("done").unwrap());
/// assert_eq!(receiver.recv(), Ok("done"));
/// ```
#[track_caller]
pub fn spawn_near<F>(place: usize, task: F)
where
    F: FnOnce() + Send + 'static,
{
    must_have_place_here(place);
    Worker::with_current(|current| match current {
        Some(worker) => worker.spawn_near(place, |_| task()),
        None => Pool::global().spawn_near(place, |_| task()),
    });
}

/// [`join`](crate::join), the second task of which is for a place: [`Worker::join_near`] on the calling worker, or in the
/// [global pool](Pool::global) on any other thread.
///
/// # Panics
/// If the pool has no such place; and as [`join`](crate::join).
///
/// # Examples
/// ```
/// assert_eq!(locksley::join_near(0, || 1, || "two"), (1, "two"));
/// ```
#[track_caller]
pub fn join_near<A, B, RA, RB>(place: usize, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    must_have_place_here(place);
    Worker::with_current(|current| match current {
        Some(worker) => worker.join_near(place, |_| a(), |_| b()),
        None => Pool::global().run(|worker| worker.join_near(place, |_| a(), |_| b())),
    })
}

impl Pool {
    /// Accepts a detached task for a place of this pool: its workers take it before others do.
    ///
    /// It is a hint. If a worker of the place sleeps, it is woken (but no more workers than the pool's [size](Self::resize) allows; nor, if a worker of the pool sends it and another one there is
    /// awake, than the governor's [limit](crate::idle::Limit)); but if all of them are about something else for longer than a moment, and
    /// a worker of another place has nothing to do, that one takes the task, and
    /// [counts it](crate::stats::WorkerStats::out_of_place). Where the pool has one place, or a worker of the place is the caller, this is
    /// [`spawn`](Self::spawn). What is sent to one place is taken in the order in which it was sent.
    ///
    /// # Panics
    /// If the pool has no such place.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = locksley::Pool::new(2)?;
    /// let (sender, receiver) = channel();
    /// for place in 0..pool.places().count() {
    ///     let sender = sender.clone();
    ///     pool.spawn_near(place, move |_| sender.send(place).unwrap());
    /// }
    /// drop(sender);
    /// assert_eq!(receiver.iter().count(), pool.places().count());
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_near<F>(&self, place: usize, task: F)
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        let shared = self.shared();
        shared.must_have_place(place);
        let Some(job) = shared.detached(task) else { return };
        Worker::with_current(|current| match current {
            Some(worker) if worker.belongs_to(shared) => worker.push_near(place, job),
            _ => shared.send_near_from(current, place, job),
        });
    }
}

impl Worker {
    /// Accepts a detached task for a place of this worker's pool: [`Pool::spawn_near`] on a known worker.
    ///
    /// # Panics
    /// If the pool has no such place.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let (sender, receiver) = channel();
    /// locksley::Pool::new(2)?.run(|worker| {
    ///     let here = worker.place();
    ///     worker.spawn_near(here, move |_| sender.send(here).unwrap());
    /// });
    /// assert_eq!(receiver.recv(), Ok(0));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_near<F>(&self, place: usize, task: F)
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        self.shared().must_have_place(place);
        if let Some(job) = self.shared().detached(task) {
            self.push_near(place, job);
        }
    }

    /// [`join`](Self::join), the second task of which is for a place, as [`Pool::spawn_near`] has it. The first runs on this worker.
    ///
    /// It costs more than a join: the second task has to be sent there. So it is for large tasks.
    ///
    /// # Panics
    /// If the pool has no such place; and as [`join`](Self::join).
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let last = pool.places().count() - 1;
    /// assert_eq!(pool.run(|worker| worker.join_near(last, |_| 1, |_| "two")), (1, "two"));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn join_near<A, B, RA, RB>(&self, place: usize, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        self.shared().must_have_place(place);
        if place == self.place() {
            return self.join(a, b);
        }
        let mut second = None;
        let result = &mut second;
        let first = self.scope(|worker, scope| {
            scope.spawn_near_on(worker, place, |worker, _| *result = Some(b(worker)));
            a(worker)
        });
        (first, second.expect("the scope waits for it, and raises its panic"))
    }
}

impl<'scope> Scope<'scope> {
    /// Adds a task for a place to the scope: see [`Pool::spawn_near`].
    ///
    /// # Panics
    /// If the pool has no such place.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let last = pool.places().count() - 1;
    /// let mut answer = 0;
    /// pool.in_place_scope(|scope| scope.spawn_near(last, |_| answer = 42));
    /// assert_eq!(answer, 42);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_near<F>(&self, place: usize, task: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.home().must_have_place(place);
        let job = self.job(|_, scope| task(scope));
        Worker::with_current(|current| self.push_or_send_near(current, Some(place), job));
    }

    /// Adds a task for a place to the scope from a known worker: [`spawn_near`](Self::spawn_near) without looking up who calls.
    ///
    /// # Panics
    /// If the pool has no such place.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let places = pool.places().count();
    /// let mut squares = [0; 100];
    /// pool.run(|worker| {
    ///     worker.scope(|worker, scope| {
    ///         for (n, square) in squares.iter_mut().enumerate() {
    ///             scope.spawn_near_on(worker, n % places, move |_, _| *square = n * n);
    ///         }
    ///     })
    /// });
    /// assert_eq!(squares[99], 9801);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_near_on<F>(&self, worker: &Worker, place: usize, task: F)
    where
        F: FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
    {
        self.home().must_have_place(place);
        self.push_or_send_near(Some(worker), Some(place), self.job(task));
    }
}

/// Panics if the calling worker's pool, or else the global one, has no such place.
#[track_caller]
fn must_have_place_here(place: usize) {
    let count = Worker::with_current(|current| match current {
        Some(worker) => worker.places().count(),
        None => Pool::global().places().count(),
    });
    must_be_one_of(place, count);
}
