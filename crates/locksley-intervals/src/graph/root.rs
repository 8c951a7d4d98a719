//! Roots: running a graph.

use std::borrow::Cow;
use std::ptr::NonNull;

use locksley::extend;
use locksley::{Pool, Worker};
use locksley_sys::unwind::{self, AbortOnUnwind};

use crate::graph::cancellation::{CancelHandle, IntervalCancelled};
use crate::graph::context::Context;
use crate::graph::interval::{Extras, Interval, NewInterval};
use crate::graph::occurrence::Occurrence;
use crate::graph::point::{Outcome, Side};
use crate::graph::recording::Recording;
use crate::graph::root_state::RootState;

/// Runs a root interval and all intervals inside of it, and returns the result of its body.
///
/// Bodies run on the workers of the calling worker's pool; on other threads, on those of the
/// [global pool](Pool::global). A worker that waits runs intervals of this root meanwhile.
///
/// The memory of an interval is freed when its root has ended, because edges from it may be added
/// until then. A program that creates many intervals over a long time nests a root for each phase.
///
/// # Errors
/// If an interval was [cancelled](Context::cancel), or bodies did not run because the root was
/// [cancelled](Root::cancel).
///
/// # Panics
/// If a body panics, with its payload, after all intervals that do not depend on it have ended. Of
/// several panics, that of the root's own body counts, or else the first one. A panic counts more
/// than a cancellation.
///
/// # Examples
/// ```
/// use locksley_intervals as intervals;
///
/// let mut squares = [0; 4];
/// intervals::run("squares", |root| {
///     for (n, square) in squares.iter_mut().enumerate() {
///         root.interval("square").spawn(move |_| *square = n * n);
///     }
/// })?;
/// assert_eq!(squares, [0, 1, 4, 9]);
/// # Ok::<(), intervals::IntervalCancelled>(())
/// ```
pub fn run<'env, F, R>(name: impl Into<Cow<'static, str>>, body: F) -> Result<R, IntervalCancelled>
where
    F: for<'g> FnOnce(&Context<'g, 'env>) -> R + Send,
    R: Send,
{
    Root::new(name).run(body)
}

/// Configures a root interval. [`run`] is the short form without options.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_intervals::Root;
///
/// let pool = Pool::new(2)?;
/// let answer = Root::new("root").on(&pool).checked(true).run(|_| 42);
/// assert_eq!(answer, Ok(42));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Debug)]
#[must_use = "it does nothing until it is run"]
pub struct Root<'r> {
    name: Cow<'static, str>,
    pool: Option<&'r Pool>,
    is_checked: bool,
    recording: Option<&'r mut Recording>,
    cancel_handle: Option<CancelHandle>,
}

impl<'r> Root<'r> {
    /// Creates a root of that name for the calling worker's pool, or else the global one.
    ///
    /// # Examples
    /// See [`Root`].
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        let (pool, is_checked, recording, cancel_handle) = (None, false, None, None);
        Self { name: name.into(), pool, is_checked, recording, cancel_handle }
    }

    /// Sets the pool.
    ///
    /// # Examples
    /// See [`Root`].
    pub fn on(self, pool: &'r Pool) -> Self {
        Self { pool: Some(pool), ..self }
    }

    /// Sets whether the graph must order all accesses to [`Guarded`](crate::Guarded) data and to
    /// [results](crate::Handle::get). Off by default.
    ///
    /// Use it in tests. The root then keeps all edges, and each access searches the graph.
    ///
    /// # Examples
    /// See [`Guarded`](crate::Guarded).
    pub fn checked(self, is_checked: bool) -> Self {
        Self { is_checked, ..self }
    }

    /// Records the graph and its times, even if the root panics.
    ///
    /// # Examples
    /// See [`Recording`].
    pub fn recorded(self, recording: &'r mut Recording) -> Self {
        Self { recording: Some(recording), ..self }
    }

    /// Lets the handle cancel the root, from any thread. The last call counts.
    ///
    /// # Examples
    /// See [`CancelHandle`].
    pub fn cancel(self, handle: &CancelHandle) -> Self {
        Self { cancel_handle: Some(handle.clone()), ..self }
    }

    /// Runs the root as [`run`] does.
    ///
    /// # Errors
    /// See [`run`].
    ///
    /// # Panics
    /// See [`run`].
    ///
    /// # Examples
    /// See [`Root`].
    pub fn run<'env, F, R>(self, body: F) -> Result<R, IntervalCancelled>
    where
        F: for<'g> FnOnce(&Context<'g, 'env>) -> R + Send,
        R: Send,
    {
        match self.pool {
            Some(pool) => pool.install(|worker| self.run_on(worker, body)),
            None => Worker::with_current(|current| match current {
                Some(worker) => self.run_on(worker, body),
                None => Pool::global().install(|worker| self.run_on(worker, body)),
            }),
        }
    }

    fn run_on<'env, R>(
        self,
        worker: &Worker,
        body: impl for<'g> FnOnce(&Context<'g, 'env>) -> R,
    ) -> Result<R, IntervalCancelled> {
        let stamp = extend::stamp();
        let has_logs = self.is_checked || self.recording.is_some();
        let has_traces = has_logs || stamp.is_some();
        let cancel = self.cancel_handle.map(|handle| (handle, self.name.to_string()));
        let state = RootState::new(worker, self.is_checked, has_logs, has_traces, cancel);
        if let Some(cancelled) = state.cancellation() {
            return Err(cancelled);
        }
        let trace = state.new_trace(&self.name, || stamp.unwrap_or_default(), std::iter::empty());
        let extras = trace.map(|trace| Extras { trace: Some(trace), ..Extras::default() });
        let root = Interval::create_root(NewInterval {
            name: self.name,
            root: NonNull::from(&state).cast(),
            parent: None,
            extras: extras.map(Box::new),
            followed: None,
            dependencies: [0, 1],
        });
        // SAFETY: just created. All contexts and handles end with the lifetime that `body` cannot
        // name.
        let context = unsafe { Context::new(root) };
        let trace = context.header().trace();
        if let Some(trace) = trace {
            trace.log_occurrence(&state, Side::Start);
            trace.log_begin(context.header(), worker);
        }
        let result = unwind::catch(|| body(&context));
        let outcome = if result.is_ok() { Outcome::Succeeded } else { Outcome::Failed };
        // Intervals point into this frame, and borrow from those above.
        let abort = AbortOnUnwind("a root interval could not be waited for");
        // SAFETY: the body has ended. The end of the root is the last to occur, and frees nothing.
        unsafe { Occurrence::end_body(root, outcome, worker) };
        // Only intervals of this root run on top of this frame, which waits for them anyway.
        state.ended.wait(worker, NonNull::from(&state).cast());
        if let Some(trace) = trace {
            extend::follow(trace.stamp(Side::End));
        }
        if let Some(recording) = self.recording {
            // SAFETY: alive, and all has ended.
            *recording = unsafe { Recording::of(root, &state) };
        }
        // SAFETY: all has ended.
        unsafe { state.drop_contents() };
        abort.disarm();
        // Both are taken here, because nothing else frees them.
        let (panic, cancelled) = state.take_failures();
        match (result, panic) {
            (Ok(result), None) => match cancelled {
                None => Ok(result),
                Some(cancelled) => Err(cancelled),
            },
            (Ok(result), Some(payload)) => unwind::resume_without((result, cancelled), payload),
            (Err(payload), later) => {
                later.into_iter().for_each(unwind::discard);
                unwind::resume_without(cancelled, payload)
            }
        }
    }
}
