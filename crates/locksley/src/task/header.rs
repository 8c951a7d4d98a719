//! What all tasks have in common, whatever their futures are.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::Waker;

use super::shelf::Links;
use super::state::{State, Woken};
use crate::job::Job;
use crate::meter::{Path, Region};
use crate::os;
use crate::primitive::{AtomicU32, Ordering};
use crate::strand::Followed;

/// The first part of a task's one allocation. Its own first field is the job, so the task's address is the word that goes into
/// queues.
#[repr(C)]
pub(super) struct Header {
    job: Job,
    pub(super) state: State,
    table: &'static Table,
    /// The pool, as its [`Home`](super::cell::Home) knows it. Good as long as the task has not finished.
    home: *const (),
    /// The worker that last ran it.
    last: AtomicU32,
    /// That of the process in which it was made.
    generation: u32,
    pub(super) links: Links,
    /// Belongs to the handle, and while the state says that there is an awaiter to whoever finishes the task.
    awaiter: UnsafeCell<MaybeUninit<Waker>>,
    #[cfg(all(test, loom))]
    watch: super::models::Watch,
}

/// What depends on the future or on the home.
pub(super) struct Table {
    /// Puts the task's word where a worker finds it.
    pub(super) schedule: unsafe fn(NonNull<Header>),
    /// Where the outcome lies.
    pub(super) outcome: unsafe fn(NonNull<Header>) -> NonNull<()>,
    /// Frees the allocation; there is neither future nor outcome in it any more.
    pub(super) free: unsafe fn(NonNull<Header>),
}

impl Header {
    pub(super) fn new(job: Job, state: State, table: &'static Table, home: *const ()) -> Self {
        let (last, links) = (AtomicU32::new(0), Links::new());
        Self {
            job,
            state,
            table,
            home,
            last,
            generation: os::generation(),
            links,
            awaiter: UnsafeCell::new(MaybeUninit::uninit()),
            #[cfg(all(test, loom))]
            watch: super::models::Watch::new(),
        }
    }

    /// Panics if this is the child of the process in which the task was made: nobody is there to finish it.
    pub(super) fn must_be_of_this_process(&self) {
        assert_eq!(self.generation, os::generation(), "a task was lost in a fork");
    }

    /// Tells the model checker that the caller counts on the task being alive.
    #[inline]
    pub(super) fn must_be_alive(&self) {
        #[cfg(all(test, loom))]
        self.watch.must_be_alive();
    }

    /// Tells it that the caller alone has what comes after the header.
    #[inline]
    pub(super) fn has_stage(&self) {
        #[cfg(all(test, loom))]
        self.watch.stage.is_mine();
    }

    /// Tells the model checker that nobody does any more.
    pub(super) fn ends(&self) {
        #[cfg(all(test, loom))]
        self.watch.ends();
    }

    pub(super) fn home(&self) -> *const () {
        self.home
    }

    pub(super) fn last(&self) -> usize {
        // Relaxed: a wish, and no part of any protocol.
        self.last.load(Ordering::Relaxed) as usize
    }

    pub(super) fn ran_at(&self, worker: usize) {
        self.last.store(worker as u32, Ordering::Relaxed);
    }

    /// What is known of its path, if that is metered.
    #[inline]
    pub(super) fn followed(&self) -> Option<&Followed> {
        // SAFETY: it is followed, and as it is alive, so is that.
        self.state.is_followed().then(|| unsafe { Followed::of(NonNull::from(&self.job)) })
    }

    /// # Safety
    /// The cell is the caller's, who is the handle, and no awaiter is set; or that was set, the task has finished, and the caller
    /// is who finished it.
    pub(super) unsafe fn awaiter(&self) -> *mut Waker {
        #[cfg(all(test, loom))]
        self.watch.awaiter.is_mine();
        self.awaiter.get().cast()
    }
}

/// Wakes a task.
///
/// # Safety
/// The caller has a reference.
pub(super) unsafe fn wake(task: NonNull<Header>) {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { task.as_ref() };
    header.must_be_alive();
    header.followed().into_iter().for_each(Followed::is_woken);
    // SAFETY: as the caller promises.
    unsafe { wake_without_path(task) };
}

/// The same, where a task that is followed knows by itself after what it comes.
///
/// # Safety
/// As above.
#[inline(always)]
pub(super) unsafe fn wake_without_path(task: NonNull<Header>) {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { task.as_ref() };
    if header.state.wake() {
        // SAFETY: alive, and this caller alone was told to.
        unsafe { (header.table.schedule)(task) };
    }
}

/// The same as [`wake`], with a reference less.
///
/// # Safety
/// The caller has a reference, and had it.
pub(super) unsafe fn wake_and_drop(task: NonNull<Header>) {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { task.as_ref() };
    let table = header.table;
    header.must_be_alive();
    header.followed().into_iter().for_each(Followed::is_woken);
    match header.state.wake_and_drop() {
        // SAFETY: what is scheduled has not finished, so it has the pool's reference; this caller alone was told to.
        Woken::Schedule => unsafe { (table.schedule)(task) },
        // SAFETY: that was the last reference.
        Woken::Free => unsafe { (table.free)(task) },
        Woken::Nothing => {}
    }
}

/// Cancels a task.
///
/// # Safety
/// The caller has a reference.
pub(super) unsafe fn cancel(task: NonNull<Header>) {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { task.as_ref() };
    header.must_be_alive();
    header.followed().into_iter().for_each(Followed::is_woken);
    if header.state.cancel() {
        // SAFETY: alive, and this caller alone was told to.
        unsafe { (header.table.schedule)(task) };
    }
}

/// Lets go of a reference.
///
/// # Safety
/// The caller has it, and had it.
pub(super) unsafe fn drop_reference(task: NonNull<Header>) {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { task.as_ref() };
    let table = header.table;
    header.must_be_alive();
    if header.state.drop_reference() {
        // SAFETY: that was the last reference.
        unsafe { (table.free)(task) };
    }
}

/// Where the task's outcome lies, or its future.
///
/// # Safety
/// The caller has a reference.
pub(super) unsafe fn outcome(task: NonNull<Header>) -> NonNull<()> {
    // SAFETY: alive, as the caller promises.
    let table = unsafe { task.as_ref() }.table;
    // SAFETY: as above.
    unsafe { (table.outcome)(task) }
}

/// Only addresses are compared.
pub(super) fn is_home(header: &Header, home: *const ()) -> bool {
    ptr::eq(header.home, home)
}

/// Has the path of a task followed, from where it is spawned.
///
/// # Safety
/// As for [`Followed::begin`].
pub(super) unsafe fn follow(task: NonNull<Header>, region: &Arc<Region>, from: Path) {
    // SAFETY: as the caller promises; its kind is its own until then.
    unsafe { Followed::begin(task.cast(), region, from) };
    // SAFETY: alive, as the caller promises.
    unsafe { task.as_ref() }.state.is_to_be_followed();
}
