//! Roots: running a graph, and what its intervals share.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Instant;

use locksley::extend::{self, GroupEnd, Home, Stamp, Tracer};
use locksley::{Pool, Worker};
use locksley_sys::primitive::{AtomicPtr, Ordering};
use locksley_sys::unwind::{self, AbortOnUnwind, Payload};

use crate::graph::arena::Arena;
use crate::graph::context::Context;
use crate::graph::extras::Extras;
use crate::graph::interval::{self, Header, Interval, NewInterval};
use crate::graph::lock;
use crate::graph::occurrence::Occurrence;
use crate::graph::point::Outcome;
use crate::graph::point_ref::{PointRef, Side};
use crate::graph::recording::Recording;
use crate::graph::trace::{Log, Trace};

/// What the intervals of one root share. It lies in the frame that waits for the end of the root,
/// and its address is the group of their jobs.
#[derive(Debug)]
pub(crate) struct RootState<'w> {
    pub(crate) home: Home,
    ended: GroupEnd<'w>,
    /// The payload of the first panic.
    panic: AtomicPtr<Payload>,
    /// The name of the first cancelled interval.
    cancelled: AtomicPtr<String>,
    pub(crate) is_checked: bool,
    has_logs: bool,
    has_traces: bool,
    /// That of the pool, which is told the names of intervals.
    pub(crate) tracer: Option<Arc<dyn Tracer>>,
    /// The newest interval that has something to drop.
    newest_owner: AtomicPtr<Header>,
    pub(crate) arena: Arena,
    pub(crate) began: Instant,
    /// Differs from that of all other roots.
    pub(crate) id: u64,
}

impl RootState<'_> {
    /// Adds an interval to the list of those that have something to drop.
    ///
    /// # Safety
    /// It is alive as long as the root, and no other thread has seen it yet.
    pub(crate) unsafe fn add_owner(&self, interval: NonNull<Header>) {
        let mut newest = self.newest_owner.load(Ordering::Relaxed);
        loop {
            // SAFETY: as the caller promises.
            unsafe { (*interval.as_ptr()).next_owner = newest };
            // Release pairs with the acquire in `owners`.
            let (success, failure) = (Ordering::Release, Ordering::Relaxed);
            let list = &self.newest_owner;
            match list.compare_exchange(newest, interval.as_ptr(), success, failure) {
                Ok(_) => return,
                Err(newer) => newest = newer,
            }
        }
    }

    /// Returns the intervals that have something to drop.
    ///
    /// # Safety
    /// Each is alive until it is returned.
    unsafe fn owners(&self) -> impl Iterator<Item = NonNull<Header>> {
        // Acquire pairs with the release in `add_owner`.
        let mut next = self.newest_owner.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            let interval = NonNull::new(next)?;
            // SAFETY: alive, as the caller promises.
            next = unsafe { interval.as_ref() }.next_owner;
            Some(interval)
        })
    }

    /// Drops the contents of all intervals: all results first, because their destructors may still
    /// use points.
    ///
    /// # Safety
    /// The root has ended. Only destructors of results access its intervals.
    unsafe fn drop_contents(&self) {
        // SAFETY: alive, as the root is.
        for interval in unsafe { self.owners() } {
            // SAFETY: nothing else has a right to what the body has left.
            unsafe { interval::abandon(interval) };
        }
        // SAFETY: alive. The next one is read before this one is dropped.
        for interval in unsafe { self.owners() } {
            // SAFETY: not dropped yet, and not accessed again. Its body has left nothing.
            unsafe { interval.drop_in_place() };
        }
    }

    /// Returns the stamp of the task on the calling thread, if that is a worker of the root's pool.
    pub(crate) fn current_stamp(&self) -> Stamp {
        let stamp = |worker: &Worker| self.home.is_of(worker).then(extend::stamp)?;
        Worker::with_current(|current| current.and_then(stamp)).unwrap_or_default()
    }

    /// Creates the trace of an interval with these edges, which is caused by the task of `stamp`.
    pub(crate) fn new_trace(
        &self,
        name: &str,
        stamp: impl FnOnce() -> Stamp,
        sources: impl Iterator<Item = (PointRef, Side)>,
    ) -> Option<Trace> {
        let is_named = self.tracer.is_some() && !name.is_empty();
        (self.has_traces || is_named).then(|| {
            let log = || Log { sources: sources.collect(), ..Log::default() };
            let trace = Trace::new(self.has_logs.then(log));
            trace.add_stamp(Side::Start, stamp());
            trace
        })
    }

    pub(crate) fn keep_panic(&self, payload: Payload) {
        if let Err(later) = keep(&self.panic, payload) {
            unwind::discard(later);
        }
    }

    pub(crate) fn keep_cancellation(&self, name: &str) {
        let _ = keep(&self.cancelled, name.into());
    }

    /// Sets the latch of the root after its end has occurred. The frame may be gone when this
    /// returns.
    ///
    /// # Safety
    /// It is alive, and this is called once.
    pub(crate) unsafe fn end(this: NonNull<Self>) {
        // SAFETY: alive, as the caller promises.
        let ended = NonNull::from(&unsafe { this.as_ref() }.ended);
        // SAFETY: alive until it is set, which only this does.
        unsafe { GroupEnd::set(ended) };
    }
}

/// Keeps the first of several values, and returns later ones.
fn keep<V>(place: &AtomicPtr<V>, value: V) -> Result<(), V> {
    let value = Box::into_raw(Box::new(value));
    // Release pairs with the acquire in `take`.
    let kept = place.compare_exchange(ptr::null_mut(), value, Ordering::Release, Ordering::Relaxed);
    // SAFETY: made above, and no other thread has seen it.
    kept.map(drop).map_err(|_| *unsafe { Box::from_raw(value) })
}

fn take<V>(place: &AtomicPtr<V>) -> Option<V> {
    let value = place.swap(ptr::null_mut(), Ordering::Acquire);
    // SAFETY: null, or made by `keep`, and taken once.
    (!value.is_null()).then(|| *unsafe { Box::from_raw(value) })
}

/// Runs a root interval and all intervals inside of it, and returns the result of its body.
///
/// Bodies run on the workers of the calling worker's pool; on other threads, on those of the
/// [global pool](Pool::global). A worker that waits runs intervals of this root meanwhile.
///
/// The memory of an interval is freed when its root has ended, because edges from it may be added
/// until then. A program that creates many intervals over a long time nests a root for each phase.
///
/// # Errors
/// If an interval was [cancelled](Context::cancel).
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
}

impl<'r> Root<'r> {
    /// Creates a root of that name for the calling worker's pool, or else the global one.
    ///
    /// # Examples
    /// See [`Root`].
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), pool: None, is_checked: false, recording: None }
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
        let home = Home::of(worker);
        let stamp = extend::stamp();
        let has_logs = self.is_checked || self.recording.is_some();
        let state = RootState {
            home,
            // Any thread that a context was lent to may end the root.
            ended: GroupEnd::awaited_by(worker),
            panic: AtomicPtr::new(ptr::null_mut()),
            cancelled: AtomicPtr::new(ptr::null_mut()),
            is_checked: self.is_checked,
            has_logs,
            has_traces: has_logs || stamp.is_some(),
            tracer: extend::tracer(worker),
            newest_owner: AtomicPtr::new(ptr::null_mut()),
            arena: Arena::new(),
            began: Instant::now(),
            id: lock::new_id(),
        };
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
        let (panic, cancelled) = (take(&state.panic), take(&state.cancelled));
        match (result, panic) {
            (Ok(result), None) => match cancelled {
                None => Ok(result),
                Some(interval) => Err(IntervalCancelled { interval }),
            },
            (Ok(result), Some(payload)) => unwind::resume_without(result, payload),
            (Err(payload), later) => {
                later.into_iter().for_each(unwind::discard);
                unwind::resume(payload)
            }
        }
    }
}

/// The error of a root in which an interval was [cancelled](Context::cancel).
///
/// # Examples
/// See [`Context::cancel`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IntervalCancelled {
    /// The name of the first interval that was cancelled.
    pub interval: String,
}

impl fmt::Display for IntervalCancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was cancelled", self.interval)
    }
}

impl Error for IntervalCancelled {}
