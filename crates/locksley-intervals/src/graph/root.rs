//! Running a root interval, and all that is made inside of it.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::ptr::{self, NonNull};
use std::time::Instant;

use locksley::extend::{GroupEnd, Home, Stamp, WorkerExt as _};
use locksley::{Pool, Worker};
use locksley_sys::primitive::{AtomicPtr, CachePadded, Ordering};
use locksley_sys::unwind::{self, AbortOnUnwind, Payload};

use crate::graph::arena::{Arena, LANES, Lane};
use crate::graph::context::Context;
use crate::graph::interval::{self, Header, Interval, Parts, Side};
use crate::graph::lock;
use crate::graph::notes::{Notes, Record};
use crate::graph::occurrence::Occurrence;
use crate::graph::point::{BODY, Outcome, PointState};
use crate::graph::record::Recording;
use crate::graph::special::Special;

/// What the intervals of one root have in common. It lies in the frame that waits for the root's
/// end, and its address is the group of their jobs.
#[derive(Debug)]
pub(crate) struct Core<'w> {
    pub(crate) home: Home,
    ended: GroupEnd<'w>,
    /// The payload of the first panic.
    panic: AtomicPtr<Payload>,
    /// The name of the first interval that was cancelled.
    cancelled: AtomicPtr<String>,
    pub(crate) is_checked: bool,
    /// For each lane, the newest of the intervals that have something to be dropped.
    owners: [CachePadded<AtomicPtr<Header>>; LANES],
    /// Where intervals lie, and the edges for which they have no room.
    pub(crate) arena: Arena,
    pub(crate) began: Instant,
    /// No other root's.
    pub(crate) serial: u64,
}

impl Core<'_> {
    /// The list of intervals that have something to be dropped.
    pub(crate) fn owners(&self, lane: Lane) -> &AtomicPtr<Header> {
        lane.of::<CachePadded<_>>(&self.owners)
    }

    /// The newest interval of each of these lists.
    pub(crate) fn newest_owners(&self) -> impl Iterator<Item = NonNull<Header>> {
        // Acquire pairs with the release of the thread that added it.
        self.owners.iter().filter_map(|newest| NonNull::new(newest.load(Ordering::Acquire)))
    }

    /// The stamp of the task that the calling thread runs, if it is a worker of the root's pool.
    pub(crate) fn stamp_here(&self) -> Stamp {
        let stamp = |worker: &Worker| self.home.is_of(worker).then(|| worker.stamp())?;
        Worker::with_current(|current| current.and_then(stamp)).unwrap_or_default()
    }

    pub(crate) fn keep_panic(&self, payload: Payload) {
        if let Err(later) = keep(&self.panic, payload) {
            unwind::discard(later);
        }
    }

    pub(crate) fn keep_cancellation(&self, name: &str) {
        let _ = keep(&self.cancelled, name.into());
    }

    /// Says that the root's end has occurred. The frame may be gone when this returns.
    ///
    /// # Safety
    /// It is alive, and this is called once.
    pub(crate) unsafe fn end(this: NonNull<Self>) {
        // SAFETY: alive, as the caller promises.
        let ended = NonNull::from(&unsafe { this.as_ref() }.ended);
        // SAFETY: alive until it is set, by this alone.
        unsafe { GroupEnd::set(ended) };
    }
}

/// Keeps the first of several; gives back a later one.
fn keep<V>(place: &AtomicPtr<V>, value: V) -> Result<(), V> {
    let value = Box::into_raw(Box::new(value));
    // Release pairs with the acquire in `take`.
    let kept = place.compare_exchange(ptr::null_mut(), value, Ordering::Release, Ordering::Relaxed);
    // SAFETY: made above, and seen by no other thread.
    kept.map(drop).map_err(|_| *unsafe { Box::from_raw(value) })
}

fn take<V>(place: &AtomicPtr<V>) -> Option<V> {
    let value = place.swap(ptr::null_mut(), Ordering::Acquire);
    // SAFETY: null, or made by `keep`, and taken once.
    (!value.is_null()).then(|| *unsafe { Box::from_raw(value) })
}

/// Runs a root interval, and returns its body's result when it has ended, with all that was made
/// inside of it.
///
/// Everything runs on workers: those of the calling worker's pool, or on any other thread those of
/// the [global pool](Pool::global). The caller waits; a worker runs the root's own intervals
/// meanwhile.
///
/// An interval's memory is freed when its root has ended, since until then edges may be added that
/// come from it. Where many come and go for long, nest a root for each phase.
///
/// # Errors
/// If an interval was [cancelled](Context::cancel).
///
/// # Panics
/// If a body panics, with its payload, after all intervals have ended that do not depend on it; if
/// several do, with that of the root's own body, or else with the first one's. A panic comes before
/// a cancellation.
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

/// A root interval with options: see [`run`].
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
    /// A root of that name, in the calling worker's pool or the global one.
    ///
    /// # Examples
    /// See [`Root`].
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), pool: None, is_checked: false, recording: None }
    }

    /// The pool that it runs in.
    ///
    /// # Examples
    /// See [`Root`].
    pub fn on(self, pool: &'r Pool) -> Self {
        Self { pool: Some(pool), ..self }
    }

    /// Whether each access to a [`Guarded`](crate::Guarded) is checked: whether something orders it
    /// after those before it. All edges are remembered for that, and each access costs a search
    /// through what comes before it. Off by default.
    ///
    /// # Examples
    /// See [`Guarded`](crate::Guarded).
    pub fn checked(self, is_checked: bool) -> Self {
        Self { is_checked, ..self }
    }

    /// Leaves there what the graph was in the end, with times, also if the root panics.
    ///
    /// # Examples
    /// See [`Recording`].
    pub fn recorded(self, recording: &'r mut Recording) -> Self {
        Self { recording: Some(recording), ..self }
    }

    /// Runs it: see [`run`].
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
        let core = Core {
            home: Home::of(worker),
            // The root may end on any thread that an interval's context was lent to.
            ended: GroupEnd::awaited_by(worker),
            panic: AtomicPtr::new(ptr::null_mut()),
            cancelled: AtomicPtr::new(ptr::null_mut()),
            is_checked: self.is_checked,
            owners: std::array::from_fn(|_| CachePadded::new(AtomicPtr::new(ptr::null_mut()))),
            arena: Arena::new(),
            began: Instant::now(),
            serial: lock::new_serial(),
        };
        let is_recorded = self.is_checked || self.recording.is_some();
        let stamp = worker.stamp();
        let has_notes = is_recorded || stamp.is_some();
        let special = Special::default()
            .with(Special::NOTES, has_notes)
            .with(Special::GOES_ROUND, core.home.goes_round());
        let root = Interval::make_root(Parts {
            name: self.name,
            parent: None,
            core: NonNull::from(&core).cast(),
            special,
            holding: None,
            notes: has_notes.then(|| Notes::new(is_recorded.then(Record::default))),
            points: [PointState::occurred(), PointState::new(BODY)],
            lane: Lane::of_worker(worker),
        });
        // SAFETY: just made; all contexts and handles end with the time that `body` cannot name.
        let context = unsafe { Context::new(root, worker) };
        let notes = context.header().notes();
        if let Some(notes) = notes {
            notes.reach(Side::Start, stamp.unwrap_or_default());
            notes.occur(&core, Side::Start);
            notes.begin(&core, worker);
        }
        let result = unwind::halt(|| body(&context));
        let outcome = if result.is_ok() { Outcome::Well } else { Outcome::Failed };
        // Intervals point into this frame, and borrow from those above.
        let abort = AbortOnUnwind("a root interval could not be waited for");
        // SAFETY: the body has ended. The root's end is the last to occur, and frees nothing.
        unsafe { Occurrence::end_body(root, context.things_at_end(), outcome, worker) };
        // Only intervals of this root run on top of this frame: it waits for them in any case.
        core.ended.wait(worker, NonNull::from(&core).cast());
        if let Some(notes) = notes {
            worker.follow(notes.stamp(Side::End));
        }
        if let Some(recording) = self.recording {
            // SAFETY: alive, and all has ended.
            *recording = unsafe { Recording::of(root, &core) };
        }
        // SAFETY: all has ended.
        unsafe { interval::drop_all(&core) };
        abort.disarm();
        // Both, since they are freed here alone.
        let (panic, cancelled) = (take(&core.panic), take(&core.cancelled));
        match (result, panic) {
            (Ok(result), None) => match cancelled {
                None => Ok(result),
                Some(interval) => Err(IntervalCancelled { interval }),
            },
            (Ok(_), Some(payload)) => unwind::resume(payload),
            (Err(payload), later) => {
                later.into_iter().for_each(unwind::discard);
                unwind::resume(payload)
            }
        }
    }
}

/// An interval was [cancelled](Context::cancel), and what depends on it did not run.
///
/// # Examples
/// See [`Context::cancel`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntervalCancelled {
    interval: String,
}

impl IntervalCancelled {
    /// The name of the first interval that was cancelled.
    ///
    /// # Examples
    /// See [`Context::cancel`].
    #[must_use]
    pub fn interval(&self) -> &str {
        &self.interval
    }
}

impl fmt::Display for IntervalCancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was cancelled", self.interval)
    }
}

impl Error for IntervalCancelled {}
