//! Stamps for observers, and logs for recordings and checks.

use std::ptr::NonNull;
use std::sync::PoisonError;
use std::time::Duration;

use locksley::Worker;
use locksley::extend::{self, LatestStamp, Stamp};
use locksley_sys::primitive::plain::{Mutex, MutexGuard};

use crate::graph::interval::{Header, PointRef};
use crate::graph::point::Side;
use crate::graph::root_state::RootState;

/// The trace of one interval, in a root that is recorded, checked or observed.
#[derive(Debug)]
pub(crate) struct Trace {
    /// The latest stamp of all that has arrived at the start, and at the end.
    stamps: [LatestStamp; 2],
    /// Present in roots that are recorded or checked.
    log: Option<Mutex<Log>>,
}

impl Trace {
    pub(crate) fn new(log: Option<Log>) -> Self {
        Self { stamps: Default::default(), log: log.map(Mutex::new) }
    }

    pub(crate) fn log(&self) -> Option<MutexGuard<'_, Log>> {
        self.log.as_ref().map(lock)
    }

    /// Adds the stamp of something that a point waits for, before that arrives.
    pub(crate) fn add_stamp(&self, side: Side, stamp: Stamp) {
        self.stamps[side as usize].record(stamp);
    }

    /// Returns the stamp of a point that waits for nothing any more.
    pub(crate) fn stamp(&self, side: Side) -> Stamp {
        self.stamps[side as usize].get()
    }

    /// Logs that a point occurs.
    pub(crate) fn log_occurrence(&self, root: &RootState<'_>, side: Side) {
        if let Some(mut log) = self.log() {
            log.occurred[side as usize] = Some(root.began.elapsed());
        }
    }

    /// Logs that a worker begins to run the body of the interval.
    pub(crate) fn log_begin(&self, interval: &Header, worker: &Worker) {
        interval.tracer().inspect(|tracer| tracer.begin_span(interval.name()));
        extend::follow(self.stamp(Side::Start));
        if let Some(mut log) = self.log() {
            log.begun = Some((interval.root().began.elapsed(), worker.index()));
        }
    }
}

/// Adds the stamp of a point that occurs to a point that waits for it.
///
/// # Safety
/// Both are alive.
pub(crate) unsafe fn pass_stamp(from: PointRef, to: PointRef) {
    // SAFETY: as the caller promises.
    if let Some(trace) = unsafe { from.header() }.trace() {
        // SAFETY: as the caller promises.
        if let Some(target) = unsafe { to.header() }.trace() {
            target.add_stamp(to.side(), trace.stamp(from.side()));
        }
    }
}

/// The log of one interval. Its mutex exists only in recorded and checked roots.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// The number of children that the parent had made before.
    pub(crate) number: usize,
    /// All children in the order of their creation, refused ones too.
    pub(crate) children: Vec<NonNull<Header>>,
    /// The sources of all edges into the interval, and the point that each leads to.
    pub(crate) sources: Vec<(PointRef, Side)>,
    /// When the start and the end occurred, counted from the begin of the root.
    pub(crate) occurred: [Option<Duration>; 2],
    /// When the body began, and on which worker.
    pub(crate) begun: Option<(Duration, usize)>,
}

/// Locks a mutex, and ignores that it is poisoned.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
