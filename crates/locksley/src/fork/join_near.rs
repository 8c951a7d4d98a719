//! `join_near`: a join whose second task is for a place.

#[cfg(doc)]
use crate::Spawn;
use crate::scheduler::Worker;

impl Worker {
    /// [`join`](Self::join), the second task of which is for a place, as
    /// [`Spawn::Near`] has it. The first runs on this worker.
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
    /// assert_eq!(pool.install(|worker| worker.join_near(last, |_| 1, |_| "two")), (1, "two"));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn join_near<A, B, RA, RB>(&self, place: usize, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        self.shared().assert_has_place(place);
        if place == self.place() {
            return self.join(a, b);
        }
        let mut second = None;
        let result = &mut second;
        let first = self.scope(|worker, scope| {
            let job = scope.job(|worker, _| *result = Some(b(worker)));
            worker.push_near(place, job.expect("the scope has no token"));
            a(worker)
        });
        (first, second.expect("the scope waits for it, and raises its panic"))
    }
}
