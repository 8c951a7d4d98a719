//! What the intervals of one root share.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use locksley::Worker;
use locksley::extend::{self, GroupEnd, Home, Stamp, Tracer};
use locksley_sys::primitive::{AtomicPtr, Instant, Ordering};
use locksley_sys::unwind::{self, Payload};

use crate::graph::arena::Arena;
use crate::graph::cancellation::{CancelHandle, IntervalCancelled};
use crate::graph::interval::{self, Header, PointRef};
use crate::graph::lock_set;
use crate::graph::point::Side;
use crate::graph::trace::{Log, Trace};

/// What the intervals of one root share. It lies in the frame that waits for the end of the root,
/// and its address is the group of their jobs.
#[derive(Debug)]
pub(crate) struct RootState<'w> {
    pub(crate) home: Home,
    pub(crate) ended: GroupEnd<'w>,
    /// The payload of the first panic.
    panic: AtomicPtr<Payload>,
    /// The first cancellation.
    cancelled: AtomicPtr<IntervalCancelled>,
    /// What cancels the root as a whole, with the name of the root.
    cancel: Option<(CancelHandle, String)>,
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

impl<'w> RootState<'w> {
    /// Creates the state of a root that runs on `worker`, which will wait for its end.
    pub(crate) fn new(
        worker: &'w Worker,
        is_checked: bool,
        has_logs: bool,
        has_traces: bool,
        cancel: Option<(CancelHandle, String)>,
    ) -> Self {
        Self {
            home: Home::of(worker),
            // Any thread that a context was lent to may end the root.
            ended: GroupEnd::awaited_by(worker),
            panic: AtomicPtr::new(ptr::null_mut()),
            cancelled: AtomicPtr::new(ptr::null_mut()),
            cancel,
            is_checked,
            has_logs,
            has_traces,
            tracer: extend::tracer(worker),
            newest_owner: AtomicPtr::new(ptr::null_mut()),
            arena: Arena::new(),
            began: Instant::now(),
            id: lock_set::new_id(),
        }
    }

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
    pub(crate) unsafe fn drop_contents(&self) {
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

    /// Returns true if the root was cancelled as a whole.
    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|(handle, _)| handle.is_cancelled())
    }

    /// Returns how the root was cancelled as a whole, if it was.
    pub(crate) fn cancellation(&self) -> Option<IntervalCancelled> {
        let (handle, name) = self.cancel.as_ref()?;
        let reason = handle.reason()?.clone();
        Some(IntervalCancelled { interval: name.clone(), reason })
    }

    pub(crate) fn keep_cancellation(&self, cancelled: IntervalCancelled) {
        let _ = keep(&self.cancelled, cancelled);
    }

    /// Keeps that the root was cancelled as a whole, and that a body did not run for that reason.
    pub(crate) fn keep_own_cancellation(&self) {
        if let Some(cancelled) = self.cancellation() {
            self.keep_cancellation(cancelled);
        }
    }

    /// Takes the payload of the first panic, and the first cancellation.
    pub(crate) fn take_failures(&self) -> (Option<Payload>, Option<IntervalCancelled>) {
        (take(&self.panic), take(&self.cancelled))
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
