//! In whose name a library waits.

use super::{Place, Wait, tell};
use crate::fork::Scope;
use crate::worker::Worker;

/// Where somebody has called a library that joins for them.
///
/// What is held across a join is said to be held where [`Worker::join`] is called. In a library that is always the same line, of which its
/// users know nothing. If its functions are marked `#[track_caller]`, down to where they make one of these, and it joins by that, the
/// place is that of whoever has called it. Without the feature `held-locks` a `Caller` is empty.
///
/// # Examples
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use locksley::held::{self, Caller, Mark};
/// use locksley::{Pool, Worker};
///
/// /// A library's function.
/// #[track_caller]
/// fn both(worker: &Worker, task: impl Fn() + Sync) {
///     let caller = Caller::here();
///     // In here `Worker::join` would say that it is called here.
///     let joins = || caller.join(worker, |_| task(), |_| task());
///     joins();
/// }
///
/// let lines = Arc::new(Mutex::new(Vec::new()));
/// let told = Arc::clone(&lines);
/// let note = move |held: &held::HeldLock| told.lock().unwrap().push(held.waits_at().line());
/// let pool = Pool::builder().workers(1).held_lock_handler(note).build()?;
/// let called_at = pool.run(|worker| {
///     let _mark = Mark::new("printer");
///     both(worker, || ()); line!()
/// });
/// let expected = if held::WATCHED { vec![called_at] } else { Vec::new() };
/// assert_eq!(*lines.lock().unwrap(), expected);
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Caller(Place);

impl Caller {
    /// Whoever has called the function that calls this, if that is marked `#[track_caller]`; or else that function.
    ///
    /// # Examples
    /// See [`Caller`].
    #[inline]
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn here() -> Self {
        Self(Place::here())
    }

    /// [`Worker::join`], in the caller's name.
    ///
    /// # Panics
    /// As [`Worker::join`].
    ///
    /// # Examples
    /// See [`Caller`].
    #[inline(always)]
    pub fn join<A, B, RA, RB>(self, worker: &Worker, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        worker.join_at(self.0, a, b)
    }

    /// [`Worker::scope`], in the caller's name.
    ///
    /// # Panics
    /// As [`Worker::scope`].
    ///
    /// # Examples
    /// As for [`join`](Self::join), see [`Caller`].
    pub fn scope<'scope, F, R>(self, worker: &Worker, body: F) -> R
    where
        F: FnOnce(&Worker, &Scope<'scope>) -> R,
    {
        worker.scope_at(self.0, body)
    }

    /// [`Worker::run_one`], in the caller's name.
    ///
    /// # Examples
    /// As for [`join`](Self::join), see [`Caller`].
    pub fn run_one(self, worker: &Worker) -> bool {
        tell(Some(worker), Wait::RunOne, self.0);
        worker.runs_one()
    }

    /// [`Worker::run_local`], in the caller's name.
    ///
    /// # Examples
    /// As for [`join`](Self::join), see [`Caller`].
    pub fn run_local(self, worker: &Worker) -> bool {
        tell(Some(worker), Wait::RunOne, self.0);
        worker.runs_local()
    }
}
