//! The part of a task that does not depend on the type of its future, and its wakers.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::owned::Links;
use super::state::{State, Woken};
use crate::header::GroupHeader;
use crate::numbers::Index;
use crate::observe::LatestStamp;
use crate::os;
use crate::primitive::{AtomicU32, Life, Ordering, UnsafeCell};
use crate::worker::{follow, stamp};

/// The first part of a task's allocation. It begins with a job, so the task's address is the word
/// that goes into queues.
#[repr(C)]
pub(crate) struct Header {
    /// Its group is the address of the task's [`Owner`](super::cell::Owner), which is valid until
    /// the task has finished.
    head: GroupHeader,
    pub(super) state: State,
    pub(super) table: &'static Table,
    /// The worker that ran it last.
    last: AtomicU32,
    /// The generation of the process that spawned it.
    generation: u32,
    pub(super) links: Links,
    /// Belongs to the handle. While the state says that there is an awaiter, it belongs to the run
    /// that finishes the task.
    awaiter: UnsafeCell<MaybeUninit<Waker>>,
    /// In an observed pool, the causes of the next poll, or of what awaits the end.
    latest: Option<Box<LatestStamp>>,
    pub(super) life: Life,
}

/// The functions that depend on the types of the future and the owner.
pub(crate) struct Table {
    /// Sends the task's word to a queue.
    pub(crate) schedule: unsafe fn(NonNull<Header>),
    /// The address of the outcome.
    pub(crate) outcome: unsafe fn(NonNull<Header>) -> NonNull<()>,
    /// Frees the allocation, after the future and the outcome were dropped or moved out.
    pub(crate) free: unsafe fn(NonNull<Header>),
}

impl Header {
    pub(super) fn new(
        head: GroupHeader,
        state: State,
        table: &'static Table,
        is_observed: bool,
    ) -> Self {
        Self {
            head,
            state,
            table,
            last: AtomicU32::new(0),
            generation: os::generation(),
            links: Links::default(),
            awaiter: UnsafeCell::new(MaybeUninit::uninit()),
            latest: is_observed.then(Box::default),
            life: Life::default(),
        }
    }

    /// Panics in a child process of the one that spawned the task: it never finishes there.
    pub(crate) fn assert_same_process(&self) {
        assert_eq!(self.generation, os::generation(), "the task belongs to the parent process");
    }

    /// The address of the task's [`Owner`](super::cell::Owner).
    pub(crate) fn owner(&self) -> NonNull<()> {
        self.head.group
    }

    pub(crate) fn last_worker(&self) -> Index {
        // Relaxed: a hint, and no part of any protocol.
        Index::new(self.last.load(Ordering::Relaxed) as usize)
    }

    pub(crate) fn set_last_worker(&self, worker: Index) {
        // Relaxed: as in `last`.
        self.last.store(worker.get() as u32, Ordering::Relaxed);
    }

    /// In an observed pool: the next poll, or what awaits the end, comes after the task that the
    /// calling thread runs.
    #[inline]
    pub(crate) fn record_cause(&self) {
        let Some(latest) = &self.latest else { return };
        if self.state.is_finished() {
            return;
        }
        if let Some(stamp) = stamp() {
            latest.record(stamp);
        }
    }

    /// In an observed pool: the task that the calling thread runs comes after all recorded causes.
    #[inline]
    pub(crate) fn follow_causes(&self) {
        if let Some(latest) = &self.latest {
            follow(latest.get());
        }
    }

    /// # Safety
    /// The caller is the handle, and no awaiter is set; or the caller has finished the task, and an
    /// awaiter was set then.
    pub(crate) unsafe fn awaiter(&self) -> *mut Waker {
        self.awaiter.with_mut(<*mut MaybeUninit<Waker>>::cast)
    }
}

/// Wakes a task, and drops so many references of the caller's: none, or one.
///
/// # Safety
/// The caller has a reference, which it does not use afterwards if it is dropped.
unsafe fn wake(task: NonNull<Header>, references: usize) {
    // SAFETY: as the caller promises.
    unsafe { schedule_if(task, |state| state.wake(references)) };
}

/// Cancels a task.
///
/// # Safety
/// The caller has a reference.
pub(crate) unsafe fn cancel(task: NonNull<Header>) {
    // SAFETY: as the caller promises.
    unsafe { schedule_if(task, State::cancel) };
}

/// # Safety
/// The caller has a reference, which it does not use afterwards if `change` drops it.
unsafe fn schedule_if(task: NonNull<Header>, change: impl FnOnce(&State) -> Woken) {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { task.as_ref() };
    let table = header.table;
    header.life.assert_alive();
    header.record_cause();
    match change(&header.state) {
        // SAFETY: a task that is scheduled has not finished, so the pool's reference is there; and
        // the state told this caller alone to schedule it.
        Woken::Schedule => unsafe { (table.schedule)(task) },
        // SAFETY: this was the last reference.
        Woken::Free => unsafe { (table.free)(task) },
        Woken::Nothing => {}
    }
}

/// Drops a reference.
///
/// # Safety
/// The caller has it, and does not use it afterwards.
pub(crate) unsafe fn drop_reference(task: NonNull<Header>) {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { task.as_ref() };
    let table = header.table;
    header.life.assert_alive();
    if header.state.drop_reference() {
        // SAFETY: this was the last reference.
        unsafe { (table.free)(task) };
    }
}

/// A waker without a reference of its own, for the task's own run. A clone of it has one.
///
/// # Safety
/// The task stays alive as long as this is used.
pub(super) unsafe fn borrowed_waker(task: NonNull<Header>) -> ManuallyDrop<Waker> {
    let waker = RawWaker::new(task.as_ptr().cast_const().cast(), &WAKER);
    // SAFETY: any thread may call the functions of `WAKER`; a clone has a reference of its own.
    ManuallyDrop::new(unsafe { Waker::from_raw(waker) })
}

/// A waker is a reference to a task, and makes it ready.
static WAKER: RawWakerVTable = RawWakerVTable::new(
    |waker| {
        // SAFETY: a waker has a reference, or is borrowed from a run that has one.
        unsafe { woken_by(waker).as_ref() }.state.add_reference();
        RawWaker::new(waker, &WAKER)
    },
    // SAFETY: the waker's reference, which ends with it.
    |waker| unsafe { wake(woken_by(waker), 1) },
    // SAFETY: the waker has a reference.
    |waker| unsafe { wake(woken_by(waker), 0) },
    // SAFETY: the waker's reference, which ends with it.
    |waker| unsafe { drop_reference(woken_by(waker)) },
);

fn woken_by(waker: *const ()) -> NonNull<Header> {
    NonNull::new(waker.cast_mut().cast()).expect("a waker points to its task")
}
