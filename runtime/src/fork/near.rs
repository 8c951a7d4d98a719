//! Tasks for a place: a hint, which costs a task its way back to its own worker, and no other worker its chance.

use super::scope::Scope;
use crate::meter::Site;
use crate::pool::Pool;
use crate::worker::Worker;

impl Pool {
    /// Accepts a detached task for a place of this pool: its workers take it before others do.
    ///
    /// It is a hint. If a worker of the place sleeps, it is woken (but no more workers than the pool's [size](Self::resize) allows; nor, if a worker of the pool sends it and another one there is
    /// awake, than the governor's [limit](crate::hunt::Limit)); but if all of them are about something else for longer than a moment, and
    /// a worker of another place has nothing to do, that one takes the task, and
    /// [counts it](crate::meter::WorkerStats::out_of_place). Where the pool has one place, or a worker of the place is the caller, this is
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
        let (Some(job), site) = (shared.detached(task), Site::here()) else { return };
        Worker::with_current(|current| {
            shared.is_sent_from(current, site);
            match current {
                Some(worker) if worker.belongs_to(shared) => worker.push_near(place, job),
                _ => shared.send_near(place, job),
            }
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
            self.spawns_at(Site::here());
            self.push_near(place, job);
        }
    }

    /// [`join`](Self::join), the second task of which is for a place, as [`Pool::spawn_near`] has it. The first runs on this worker.
    ///
    /// It costs more than a join: the second task has to be sent there. So it is for large tasks. In a pool whose workers run
    /// [only what lies below](crate::Waiting::Below) while they wait, the hint does not count.
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
        let (mut second, site) = (None, Site::here());
        let result = &mut second;
        let first = self.scope(|worker, scope| {
            scope.spawn_near_from(worker, site, place, |worker, _| *result = Some(b(worker)));
            worker.in_name_of(site, || false, || a(worker))
        });
        (first, second.expect("the scope waits for it, and raises its panic"))
    }
}

impl<'scope> Scope<'scope> {
    /// Adds a task for a place to the scope, from a known worker: see [`Pool::spawn_near`].
    ///
    /// Where the one who waits for the scope runs [only what lies below](crate::Waiting::Below), the hint does not count: what
    /// is sent lies below nobody.
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
    ///             scope.spawn_near(worker, n % places, move |_, _| *square = n * n);
    ///         }
    ///     })
    /// });
    /// assert_eq!(squares[99], 9801);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_near<F>(&self, worker: &Worker, place: usize, task: F)
    where
        F: FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
    {
        self.home().must_have_place(place);
        self.spawn_near_from(worker, Site::here(), place, task);
    }

    /// The same for a place that there is, from that place in the program.
    pub(crate) fn spawn_near_from<F>(&self, worker: &Worker, site: Site, place: usize, task: F)
    where
        F: FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
    {
        let job = self.job(task);
        worker.spawns_at(site);
        self.push_or_send_near(worker, place, job);
    }
}
