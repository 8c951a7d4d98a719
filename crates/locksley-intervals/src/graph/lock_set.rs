//! The locks of one interval, and its request for one that is not free.

use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use locksley::extend::Job;
use locksley_sync::{Acquire, Permit, Semaphore, TryAcquireError};
use locksley_sys::primitive::plain::AtomicU64;
use locksley_sys::primitive::{AtomicU32, Ordering, UnsafeCell};

/// Returns a number that no other lock set and no other root has.
pub(crate) fn new_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The locks of one interval.
#[derive(Debug)]
pub(crate) struct LockSet {
    /// The keys of the interval have the same.
    pub(crate) id: u64,
    /// In the order in which all intervals take them: by address.
    locks: Vec<NonNull<Semaphore>>,
    /// Belongs to the thread that may take the next lock: first the one that starts the interval,
    /// then the one that has its job.
    progress: UnsafeCell<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    taken: usize,
    request: Option<(Acquire<'static>, Arc<LockRequest>)>,
}

impl LockSet {
    pub(crate) fn new() -> Self {
        let progress = UnsafeCell::new(Progress::default());
        Self { id: new_id(), locks: Vec::new(), progress }
    }

    /// Adds a lock. Returns the id of the set, for the key.
    pub(crate) fn add(&mut self, lock: &Semaphore) -> u64 {
        self.locks.push(NonNull::from(lock));
        self.id
    }

    /// Sorts the locks. Returns true if all of them are distinct.
    pub(crate) fn sort_distinct(&mut self) -> bool {
        self.locks.sort_unstable();
        self.locks.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// Returns true if `other` names all of these locks.
    pub(crate) fn is_subset_of(&self, other: &Self) -> bool {
        self.locks.iter().all(|lock| other.locks.binary_search(lock).is_ok())
    }

    /// Returns true if both name the same lock.
    pub(crate) fn intersects(&self, other: &Self) -> bool {
        self.locks.iter().any(|lock| other.locks.binary_search(lock).is_ok())
    }

    /// Takes locks for an interval, the job of which is given. If one is not free, returns the
    /// request for that lock. The interval waits if the request can be [parked](LockRequest::park).
    ///
    /// # Safety
    /// The progress belongs to the caller.
    pub(crate) unsafe fn advance(&self, job: NonNull<Job>) -> Option<Arc<LockRequest>> {
        // SAFETY: the progress belongs to the caller.
        self.progress.with_mut(|own| unsafe { &mut *own }.advance(&self.locks, job))
    }

    /// Releases the locks that were taken: none, if the start has failed. Called once, at the end.
    pub(crate) fn release(&self) {
        // SAFETY: the end has occurred, so no thread takes locks any more.
        let taken = self.progress.with(|own| unsafe { (*own).taken });
        for lock in &self.locks[..taken] {
            // SAFETY: locks outlive the root.
            unsafe { lock.as_ref() }.add_permits(1);
        }
    }
}

impl Progress {
    /// See [`LockSet::advance`].
    fn advance(
        &mut self,
        locks: &[NonNull<Semaphore>],
        job: NonNull<Job>,
    ) -> Option<Arc<LockRequest>> {
        while let Some(lock) = locks.get(self.taken) {
            // SAFETY: not `'static`, but the lock outlives the root, and so the interval. Only
            // `request` keeps the reference, and there is no request after the last lock is taken.
            let lock: &'static Semaphore = unsafe { lock.as_ref() };
            if self.request.is_none() {
                match lock.try_acquire() {
                    Ok(permit) => {
                        self.keep(permit);
                        continue;
                    }
                    Err(TryAcquireError::NoPermits) => {}
                    Err(TryAcquireError::Closed) => unreachable!("no lock is closed"),
                }
            }
            let (acquire, request) =
                self.request.get_or_insert_with(|| (lock.acquire(), LockRequest::new(job)));
            request.begin_poll();
            let waker = Waker::from(Arc::clone(request));
            match Pin::new(acquire).poll(&mut task::Context::from_waker(&waker)) {
                Poll::Pending => return Some(Arc::clone(request)),
                Poll::Ready(permit) => {
                    self.keep(permit.expect("no lock is closed"));
                    self.request = None;
                }
            }
        }
        None
    }

    /// Keeps the permit of the next lock until [`LockSet::release`].
    fn keep(&mut self, permit: Permit<'_>) {
        permit.forget();
        self.taken += 1;
    }
}

/// The request of an interval for a lock. As a waker, it schedules the job of the interval.
///
/// The semaphore may call it late and more than once. So it is allocated separately: the interval
/// may be freed by then.
#[derive(Debug)]
pub(crate) struct LockRequest {
    state: AtomicU32,
    pub(crate) job: NonNull<Job>,
}

// SAFETY: only the thread that finds the request parked accesses the interval, which is alive then.
unsafe impl Send for LockRequest {}
// SAFETY: as above.
unsafe impl Sync for LockRequest {}

/// The thread to which the progress belongs polls, or is about to. No grant since the poll began.
const POLLING: u32 = 0;
/// The lock may have been granted, and the polling thread will see that.
const GRANTED: u32 = 1;
/// No thread polls: the thread that grants the lock schedules the job.
const PARKED: u32 = 2;

impl LockRequest {
    pub(crate) fn new(job: NonNull<Job>) -> Arc<Self> {
        Arc::new(Self { state: AtomicU32::new(POLLING), job })
    }

    pub(crate) fn begin_poll(&self) {
        // Acquire pairs with the release in `grant`: the next poll sees what was granted.
        self.state.swap(POLLING, Ordering::Acquire);
    }

    /// Parks the request after a poll. Returns false if the lock was granted meanwhile. If true,
    /// the progress of the interval belongs to the thread that calls [`grant`](Self::grant).
    pub(crate) fn park(&self) -> bool {
        // Release pairs with the acquire in `grant`: the progress is visible there. Acquire, as in
        // `begin_poll`.
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        self.state.compare_exchange(POLLING, PARKED, success, failure).is_ok()
    }

    /// Marks the request as granted. Returns true if the progress now belongs to the caller.
    pub(crate) fn grant(&self) -> bool {
        // AcqRel: see `begin_poll` and `park`.
        self.state.swap(GRANTED, Ordering::AcqRel) == PARKED
    }
}
