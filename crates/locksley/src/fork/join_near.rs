//! `join_near`: a join that sends its second task to a place.

use super::join::both;
use super::scope::scope_in;
use super::spawn::Spawn;
use crate::unwind;
use crate::worker::Worker;

impl Worker {
    /// [`join`](Self::join) with a second task for a place, as with [`Spawn::Near`]. The first runs
    /// on this worker.
    ///
    /// Use it for large tasks: to send the second one costs more than a join does.
    ///
    /// # Panics
    /// If the pool has no such place. Otherwise as [`join`](Self::join).
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
        let first = unwind::catch(|| {
            scope_in(self.shared(), Some(self), |scope| {
                scope.spawn_with(Spawn::Near(place), |worker, _| *result = Some(b(worker)));
                a(self)
            })
        });
        let (first, second) = both(first, Ok(second));
        (first, second.expect("the scope has waited for it"))
    }
}
