//! What is noted of an interval whose root is recorded, checked or observed.

use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use locksley::Worker;
use locksley::extend::{LatestStamp, Stamp, WorkerExt as _};

use crate::graph::interval::{At, Header, Side};
use crate::graph::root::Core;

/// Lies apart from the interval: one that is neither recorded nor observed has a null pointer.
#[derive(Debug)]
pub(crate) struct Notes {
    /// Of what has reached the start, and the end.
    stamps: [LatestStamp; 2],
    /// If the root is recorded or checked.
    record: Option<Mutex<Record>>,
}

impl Notes {
    pub(crate) fn new(record: Option<Record>) -> Box<Self> {
        let stamps = [LatestStamp::new(), LatestStamp::new()];
        Box::new(Self { stamps, record: record.map(Mutex::new) })
    }

    pub(crate) fn record(&self) -> Option<MutexGuard<'_, Record>> {
        self.record.as_ref().map(lock)
    }

    /// Notes a stamp of something that a point waits for. It counts as arrived after that.
    pub(crate) fn reach(&self, side: Side, stamp: Stamp) {
        self.stamps[side as usize].record(stamp);
    }

    /// The stamp of a point, which waits for nothing any more.
    pub(crate) fn stamp(&self, side: Side) -> Stamp {
        self.stamps[side as usize].get()
    }

    /// Notes that a point occurs, and returns its stamp.
    pub(crate) fn occur(&self, core: &Core<'_>, side: Side) -> Stamp {
        if let Some(mut record) = self.record() {
            record.occurred[side as usize] = Some(core.began.elapsed());
        }
        self.stamp(side)
    }

    /// Notes that a worker begins with the body.
    pub(crate) fn begin(&self, core: &Core<'_>, worker: &Worker) {
        worker.follow(self.stamp(Side::Start));
        if let Some(mut record) = self.record() {
            record.begun = Some((core.began.elapsed(), worker.index()));
        }
    }
}

/// What is remembered of an interval.
///
/// It has a lock, which keeps back other accesses to the notes of this interval for a moment, in
/// recorded and checked roots alone.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The number of children that its parent had before.
    pub(crate) number: usize,
    /// In the order in which they were made, those that were refused included.
    pub(crate) children: Vec<NonNull<Header>>,
    /// Where edges come from, other than the parent and the children, and to which point they go.
    pub(crate) sources: Vec<(At, Side)>,
    /// When its start and its end occurred, from when the root began.
    pub(crate) occurred: [Option<Duration>; 2],
    /// When its body began, and on which worker.
    pub(crate) begun: Option<(Duration, usize)>,
}

/// Locks a mutex, also after a panic of a thread that had it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
