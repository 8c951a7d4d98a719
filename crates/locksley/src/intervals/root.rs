//! Running a root interval, and all that is made inside of it.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Instant;

use super::arena::{Arena, LANES, Lane};
use super::context::Context;
use super::interval::{self, Header, Interval, Parts};
use super::lock;
use super::notes::Notes;
use super::occurrence::Occurrence;
use super::paths::Paths;
use super::point::Outcome;
use super::record::{Record, Recording};
use super::special::Special;
use crate::held::{self, Place, Wait};
use crate::latch::{Latch, WorkerLatch};
use crate::pool::{Pool, Shared};
use crate::primitive::{AtomicPtr, CachePadded, Ordering};
use crate::unwind::{self, AbortOnUnwind, Payload};
use crate::worker::Worker;

/// What the intervals of one root have in common. It lies in the frame of who waits for the root's end.
#[derive(Debug)]
pub(super) struct Core<'w> {
    home: Arc<Shared>,
    ended: WorkerLatch<'w>,
    /// What the first to panic has left.
    panic: AtomicPtr<Payload>,
    /// The name of the first to be cancelled.
    cancelled: AtomicPtr<String>,
    is_checked: bool,
    /// For each lane, intervals that have something to be dropped at the end; in a recorded root, where each is known to its parent, none.
    owners: [CachePadded<AtomicPtr<Header>>; LANES],
    arena: Arena,
    began: Instant,
    /// No other root's.
    serial: u64,
}

impl Core<'_> {
    pub(super) fn home(&self) -> &Arc<Shared> {
        &self.home
    }

    pub(super) fn is_checked(&self) -> bool {
        self.is_checked
    }

    pub(super) fn serial(&self) -> u64 {
        self.serial
    }

    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// Where to note an interval that has something to be dropped at the end.
    pub(super) fn owners(&self, lane: Lane) -> &AtomicPtr<Header> {
        lane.of::<CachePadded<_>>(&self.owners)
    }

    /// Those that were noted: the newest of each lane.
    pub(super) fn newest_owners(&self) -> impl Iterator<Item = NonNull<Header>> {
        // Acquire pairs with the release of who has noted one.
        self.owners.iter().filter_map(|newest| NonNull::new(newest.load(Ordering::Acquire)))
    }

    /// Where intervals lie, and the edges for which they have no room.
    pub(super) fn arena(&self) -> &Arena {
        &self.arena
    }

    pub(super) fn keep_panic(&self, payload: Payload) {
        if let Err(later) = keep(&self.panic, payload) {
            unwind::discard(later);
        }
    }

    pub(super) fn keep_cancellation(&self, name: &str) {
        let _ = keep(&self.cancelled, name.into());
    }

    /// The root's end has occurred. The frame may be gone when this returns.
    ///
    /// # Safety
    /// It is alive, and this is called once.
    pub(super) unsafe fn has_ended(this: NonNull<Self>) {
        // SAFETY: alive, as the caller promises.
        let ended = NonNull::from(&unsafe { this.as_ref() }.ended);
        // SAFETY: alive until it is set, which nobody but us does.
        unsafe { WorkerLatch::set(ended) };
    }
}

/// Keeps the first of several; gives back a later one.
fn keep<V>(place: &AtomicPtr<V>, value: V) -> Result<(), V> {
    let value = Box::into_raw(Box::new(value));
    // Release pairs with the acquire in `take`.
    let kept = place.compare_exchange(ptr::null_mut(), value, Ordering::Release, Ordering::Relaxed);
    // SAFETY: made above, and not shown to anybody.
    kept.map(drop).map_err(|_| *unsafe { Box::from_raw(value) })
}

fn take<V>(place: &AtomicPtr<V>) -> Option<V> {
    let value = place.swap(ptr::null_mut(), Ordering::Acquire);
    // SAFETY: null, or made by `keep`, and taken once.
    (!value.is_null()).then(|| *unsafe { Box::from_raw(value) })
}

impl Drop for Core<'_> {
    fn drop(&mut self) {
        drop(take(&self.cancelled));
        if let Some(payload) = take(&self.panic) {
            unwind::discard(payload);
        }
    }
}

/// Runs a root interval, and returns when it has ended, with all that was made inside of it. Its body's result.
///
/// Everything runs on workers: those of the calling worker's pool, or on any other thread those of the
/// [global pool](Pool::global). The caller waits; a worker works meanwhile.
///
/// An interval's memory is freed when its root has ended, since until then edges may be added that come from it. Where
/// many come and go for long, nest a root for each phase.
///
/// # Errors
/// If an interval was [cancelled](Context::cancel).
///
/// # Panics
/// If a body panics, with its payload, after all intervals have ended that do not depend on it; if several do, with that of the
/// root's own body, or else with the first one's. A panic comes before a cancellation.
///
/// # Examples
/// ```
/// use locksley::intervals;
///
/// let mut squares = [0; 4];
/// intervals::run("squares", |root| {
///     for (n, square) in squares.iter_mut().enumerate() {
///         root.interval("square").spawn(move |_| *square = n * n);
///     }
/// })?;
/// assert_eq!(squares, [0, 1, 4, 9]);
/// # Ok::<(), intervals::Cancelled>(())
/// ```
#[cfg_attr(feature = "held-locks", track_caller)]
pub fn run<'env, F, R>(name: impl Into<Cow<'static, str>>, body: F) -> Result<R, Cancelled>
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
/// use locksley::intervals::Root;
///
/// let pool = Pool::new(2)?;
/// let answer = Root::new("root").on(&pool).checked().run(|_| 42);
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

    /// Has it run in that pool.
    ///
    /// # Examples
    /// See [`Root`].
    pub fn on(self, pool: &'r Pool) -> Self {
        Self { pool: Some(pool), ..self }
    }

    /// Has each access to a [`Guarded`](super::Guarded) be checked: whether something orders it after those before it. All edges are
    /// remembered for that, and each access costs a search through what comes before it.
    ///
    /// # Examples
    /// See [`Guarded`](super::Guarded).
    pub fn checked(self) -> Self {
        Self { is_checked: true, ..self }
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
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn run<'env, F, R>(self, body: F) -> Result<R, Cancelled>
    where
        F: for<'g> FnOnce(&Context<'g, 'env>) -> R + Send,
        R: Send,
    {
        let place = Place::here();
        match self.pool {
            Some(pool) => pool.run(|worker| self.run_on(worker, place, body)),
            None => Worker::with_current(|current| match current {
                Some(worker) => self.run_on(worker, place, body),
                None => Pool::global().run(|worker| self.run_on(worker, place, body)),
            }),
        }
    }

    fn run_on<'env, R>(
        self,
        worker: &Worker,
        place: Place,
        body: impl for<'g> FnOnce(&Context<'g, 'env>) -> R,
    ) -> Result<R, Cancelled> {
        let core = Core {
            home: Arc::clone(worker.shared()),
            // Whoever has the root end may be any thread that an interval's context was lent to.
            ended: WorkerLatch::set_from_abroad(worker),
            panic: AtomicPtr::new(ptr::null_mut()),
            cancelled: AtomicPtr::new(ptr::null_mut()),
            is_checked: self.is_checked,
            owners: std::array::from_fn(|_| CachePadded::new(AtomicPtr::new(ptr::null_mut()))),
            arena: Arena::new(),
            began: Instant::now(),
            serial: lock::new_serial(),
        };
        let is_recorded = self.is_checked || self.recording.is_some();
        let record = is_recorded.then(|| Record::new(0, Vec::new()));
        let address = NonNull::from(&core).cast();
        let paths = Paths::of_root(worker, address);
        let has_notes = is_recorded || paths.is_some();
        let lane = Lane::of_worker(worker);
        let goes_round = core.home.goes_round();
        let root = Interval::make_root(Parts {
            name: self.name,
            parent: None,
            core: address,
            special: Special::of_root(is_recorded, paths.is_some(), goes_round),
            holding: None,
            notes: has_notes.then(|| Notes::placed(&core, lane, record, paths)),
            lane,
        });
        // SAFETY: just made; all contexts and handles end with the time that `body` cannot name.
        let context = unsafe { Context::new(root, worker) };
        if let Some(record) = context.header().record() {
            record.starts(&core);
            record.begins(&core, worker);
        }
        let mark = worker.mark();
        let result = unwind::halt(|| {
            held::then_wait(Some(worker), Wait::Intervals, place, || body(&context))
        });
        let outcome = if result.is_ok() { Outcome::Well } else { Outcome::Failed };
        // Intervals point into this frame, and borrow from those above.
        let abort = AbortOnUnwind("a root interval could not be waited for");
        // SAFETY: the body has ended. The end is the last to occur, and frees nothing.
        unsafe {
            Occurrence::body_has_ended(root, context.things_at_its_end(), outcome, Some(worker));
        }
        // What this worker has pushed itself is taken back without a hunt, and runs here: we wait for it.
        worker.wait_for_root(core.ended.flag(), NonNull::from(&core).cast(), mark);
        if let Some(paths) = context.header().paths() {
            // SAFETY: its end has occurred, which was waited for.
            let longest = unsafe { paths.end().longest() };
            longest.into_iter().for_each(|known| paths.begins_after(known.path(), worker));
        }
        if let Some(recording) = self.recording {
            // SAFETY: alive, and all has ended.
            *recording = unsafe { Recording::of(root, &core) };
        }
        // SAFETY: all has ended.
        if let Err(payload) = unsafe { interval::drop_all(root) } {
            core.keep_panic(payload);
        }
        abort.disarm();
        match (result, take(&core.panic)) {
            (Ok(result), None) => match take(&core.cancelled) {
                None => Ok(result),
                Some(interval) => Err(Cancelled { interval }),
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
pub struct Cancelled {
    interval: String,
}

impl Cancelled {
    /// The interval that was cancelled, the first of them.
    ///
    /// # Examples
    /// See [`Context::cancel`].
    #[must_use]
    pub fn interval(&self) -> &str {
        &self.interval
    }
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was cancelled", self.interval)
    }
}

impl Error for Cancelled {}
