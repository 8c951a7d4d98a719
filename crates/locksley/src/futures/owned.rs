//! The futures of a pool that have returned `Pending` at least once. Dropping the pool cancels
//! them.
//!
//! There is one list for each worker slot. Each list has a lock, and no thread waits for it. To
//! insert a task while the nearest list is locked, a worker uses another list. To remove a task, or
//! to cancel all tasks, while a list is locked, it leaves a request at the list. The lock holder
//! serves the requests when it unlocks (flat combining: Hendler et al., SPAA 2010).

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::header::{self, Header};
use crate::primitive::{
    AtomicBool, AtomicPtr, CachePadded, Ordering, UnsafeCell, fence, spin_loop,
};
use crate::shared::CancelAll;

type Link = Option<NonNull<Header>>;

/// The part of a task that links it into a list.
#[derive(Default)]
pub(super) struct Links {
    /// The index of the list, if it is in one. Only the worker that runs the task accesses it.
    list: Cell<Option<u32>>,
    /// Only the lock holder accesses `prev` and `next`.
    prev: Cell<Link>,
    next: Cell<Link>,
    /// The next task in the stack of removal requests.
    next_removal: Cell<Link>,
}

/// # Safety
/// The task is alive while the result is used.
unsafe fn links<'t>(task: NonNull<Header>) -> &'t Links {
    // SAFETY: as the caller promises.
    unsafe { &(*task.as_ptr()).links }
}

pub(crate) struct OwnedTasks(Box<[CachePadded<List>]>);

/// A doubly linked list.
#[derive(Default)]
struct List {
    is_locked: AtomicBool,
    /// Only the lock holder accesses it, and the links of the tasks in the list.
    first: UnsafeCell<Link>,
    /// Tasks to remove: a stack (Treiber 1986) that is only emptied as a whole.
    removal_requests: AtomicPtr<Header>,
    /// True if all tasks of this list are to be cancelled.
    is_cancel_requested: AtomicBool,
}

// SAFETY: only the lock holder accesses what is not atomic. Any thread may cancel and free tasks.
unsafe impl Send for List {}
// SAFETY: as above.
unsafe impl Sync for List {}

impl OwnedTasks {
    pub(crate) fn new(slots: usize) -> Self {
        Self((0..slots).map(|_| CachePadded::default()).collect())
    }

    /// Inserts a task, unless it was inserted before. Uses the list with index `nearest` or, if
    /// that list is locked, another one.
    ///
    /// If the list has already served a request of [`cancel_all`](CancelAll::cancel_all), the
    /// request misses the task. Then all writes before `cancel_all` are visible to the caller, such
    /// as the flag that the pool is closing.
    ///
    /// # Safety
    /// The caller is a worker that runs the task. The task is removed before the pool's reference
    /// is dropped.
    pub(super) unsafe fn insert(&self, task: NonNull<Header>, nearest: usize) {
        // SAFETY: alive, because a task that runs has the pool's reference.
        let links = unsafe { links(task) };
        if links.list.get().is_some() {
            return;
        }
        let mut index = nearest;
        while !self.0[index].try_lock() {
            index = (index + 1) % self.0.len();
            if index == nearest {
                // There are fewer other workers than lists, and each of them holds at most one
                // lock. So one of them has unlocked a list and locked another in this round.
                spin_loop();
            }
        }
        links.list.set(Some(index as u32));
        let list = &self.0[index];
        // SAFETY: this thread holds the lock. The task is alive, and is inserted only here, once.
        unsafe { list.link(task) };
        // SAFETY: this thread holds the lock.
        unsafe { list.serve_and_unlock() };
    }

    /// Removes a task, if it was inserted, and drops the pool's reference. If another thread holds
    /// the lock, that thread does both, maybe later.
    ///
    /// # Safety
    /// The caller is the worker that has finished the task, and owns the pool's reference.
    pub(super) unsafe fn remove(&self, task: NonNull<Header>) {
        // SAFETY: alive, because the caller owns a reference.
        let Some(index) = unsafe { links(task) }.list.get() else {
            // SAFETY: the caller's reference.
            return unsafe { header::drop_reference(task) };
        };
        let list = &self.0[index as usize];
        if !list.try_lock() {
            list.request_removal(task);
            list.serve_if_unlocked();
            return;
        }
        // SAFETY: this thread holds the lock. The task is in the list, and its removal has not been
        // requested.
        unsafe { list.unlink(task) };
        // SAFETY: this thread holds the lock.
        unsafe { list.serve_and_unlock() };
        // SAFETY: the caller's reference.
        unsafe { header::drop_reference(task) };
    }
}

impl CancelAll for OwnedTasks {
    fn cancel_all(&self) {
        for list in &self.0 {
            // Release pairs with the acquire in `serve_cancel_request`.
            list.is_cancel_requested.store(true, Ordering::Release);
            list.serve_if_unlocked();
        }
    }
}

impl List {
    #[must_use]
    fn try_lock(&self) -> bool {
        // Acquire pairs with the release in `serve_and_unlock`: the links are visible.
        self.is_locked.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Serves requests until there are none, or another thread has taken the lock.
    ///
    /// # Safety
    /// The caller holds the lock, and gives it up.
    unsafe fn serve_and_unlock(&self) {
        loop {
            if self.has_requests() {
                // SAFETY: this thread holds the lock.
                unsafe { self.serve_removal_requests() };
                // SAFETY: as above.
                unsafe { self.serve_cancel_request() };
            }
            // Release pairs with the acquire in `try_lock`.
            self.is_locked.store(false, Ordering::Release);
            // Pairs with the fence in `serve_if_unlocked`: either this thread sees the request, or
            // the requester sees that the list is unlocked.
            fence(Ordering::SeqCst);
            if !self.has_requests() || !self.try_lock() {
                return;
            }
        }
    }

    /// Serves the request that the caller has just made, unless another thread holds the lock and
    /// so serves it.
    fn serve_if_unlocked(&self) {
        // Pairs with the fence in `serve_and_unlock`.
        fence(Ordering::SeqCst);
        if self.try_lock() {
            // SAFETY: this thread holds the lock.
            unsafe { self.serve_and_unlock() };
        }
    }

    fn has_requests(&self) -> bool {
        // Relaxed: the functions that serve the requests acquire.
        !self.removal_requests.load(Ordering::Relaxed).is_null()
            || self.is_cancel_requested.load(Ordering::Relaxed)
    }

    /// # Safety
    /// The caller holds the lock.
    #[cold]
    unsafe fn serve_removal_requests(&self) {
        // Acquire pairs with the release in `request_removal`.
        let newest = self.removal_requests.swap(ptr::null_mut(), Ordering::Acquire);
        let mut request = NonNull::new(newest);
        while let Some(task) = request {
            // SAFETY: alive, because the request owns the pool's reference.
            request = unsafe { links(task) }.next_removal.get();
            // SAFETY: the caller holds the lock. The task is in the list, and its removal is
            // requested once.
            unsafe { self.unlink(task) };
            // SAFETY: the request's reference.
            unsafe { header::drop_reference(task) };
        }
    }

    /// # Safety
    /// The caller holds the lock.
    #[cold]
    unsafe fn serve_cancel_request(&self) {
        // Acquire pairs with the release in `cancel_all`. The later lock holders see what happened
        // before that, because they acquire the lock.
        if !self.is_cancel_requested.swap(false, Ordering::Acquire) {
            return;
        }
        // SAFETY: the caller holds the lock.
        let mut next = self.first.with_mut(|first| unsafe { *first });
        while let Some(task) = next {
            // SAFETY: a task in the list has the pool's reference until it is unlinked.
            unsafe { header::cancel(task) };
            // SAFETY: alive, as above.
            next = unsafe { links(task) }.next.get();
        }
    }

    /// Requests that the lock holder removes the task. The request owns the pool's reference.
    fn request_removal(&self, task: NonNull<Header>) {
        let link = |newest| {
            // SAFETY: alive, because the caller owns the pool's reference.
            unsafe { links(task) }.next_removal.set(NonNull::new(newest));
            Some(task.as_ptr())
        };
        // Release pairs with the acquire in `serve_removal_requests`. That acquire pairs with older
        // requests, too: this exchange continues their release sequences.
        let _ = self.removal_requests.fetch_update(Ordering::Release, Ordering::Relaxed, link);
    }

    /// # Safety
    /// The caller holds the lock. The task is alive, and was never in a list, so its `prev` is
    /// `None`.
    unsafe fn link(&self, task: NonNull<Header>) {
        // SAFETY: the caller holds the lock.
        let next = self.first.with_mut(|first| unsafe { (*first).replace(task) });
        // SAFETY: alive, as the caller promises.
        unsafe { links(task) }.next.set(next);
        if let Some(next) = next {
            // SAFETY: in the list, and so alive.
            unsafe { links(next) }.prev.set(Some(task));
        }
    }

    /// # Safety
    /// The caller holds the lock, and the task is in the list.
    unsafe fn unlink(&self, task: NonNull<Header>) {
        // SAFETY: in the list, and so alive.
        let own = unsafe { links(task) };
        let (prev, next) = (own.prev.get(), own.next.get());
        if let Some(next) = next {
            // SAFETY: as above.
            unsafe { links(next) }.prev.set(prev);
        }
        // For each task, so that loom sees that this thread holds the lock.
        self.first.with_mut(|first| match prev {
            // SAFETY: as above.
            Some(prev) => unsafe { links(prev) }.next.set(next),
            // SAFETY: the caller holds the lock.
            None => unsafe { *first = next },
        });
    }
}
