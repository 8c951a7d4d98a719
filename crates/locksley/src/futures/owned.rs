//! Lists of the tasks of a pool that have waited, by which a pool that is dropped cancels them.
//!
//! There are as many lists as worker slots. Each has a lock that is tried and never waited for. To
//! insert a task, a worker takes another list if the nearest is locked. To remove a task from its
//! list, or to cancel all, it leaves a request if the list is locked. The owner of the lock serves
//! requests when it unlocks.

use std::cell::{Cell, UnsafeCell};
use std::ptr::{self, NonNull};

use super::header::{self, Header};
use crate::primitive::{AtomicBool, AtomicPtr, CachePadded, Ordering, fence, spin_loop};

/// The links of a task in a list.
pub(super) struct Links {
    /// The number of its list, from 1; 0 for none. Belongs to the run.
    list: Cell<u32>,
    /// Both belong to the owner of the list's lock.
    before: Cell<*mut Header>,
    after: Cell<*mut Header>,
    /// The removal that was requested before.
    next_removal: Cell<*mut Header>,
}

impl Links {
    pub(super) fn new() -> Self {
        let none = || Cell::new(ptr::null_mut());
        Self { list: Cell::new(0), before: none(), after: none(), next_removal: none() }
    }
}

pub(crate) struct OwnedTasks(Box<[CachePadded<List>]>);

/// A list, linked both ways.
struct List {
    is_locked: AtomicBool,
    /// Belongs to the owner of the lock.
    first: UnsafeCell<*mut Header>,
    /// Requests to remove tasks: a stack (Treiber 1986) that is only emptied as a whole.
    removals: AtomicPtr<Header>,
    /// A request to cancel all tasks here.
    cancels: AtomicBool,
    #[cfg(all(test, loom))]
    watch: super::models::Sole,
}

// SAFETY: what is not atomic belongs to the owner of the lock. Any thread may cancel and
// free tasks.
unsafe impl Send for List {}
// SAFETY: as above.
unsafe impl Sync for List {}

impl OwnedTasks {
    pub(crate) fn new(workers: usize) -> Self {
        Self((0..workers).map(|_| CachePadded::new(List::new())).collect())
    }

    /// Inserts a task, unless it was inserted before; into the list with number `nearest` or, if
    /// that is locked, into another. If a request of `cancel_all` was served in that list before,
    /// the caller sees what happened before `cancel_all`.
    ///
    /// # Safety
    /// The caller runs the task, which is removed before the pool's reference is dropped.
    pub(super) unsafe fn insert(&self, task: NonNull<Header>, nearest: usize) {
        // SAFETY: a run has the pool's reference.
        let links = unsafe { &(*task.as_ptr()).links };
        if links.list.get() != 0 {
            return;
        }
        let mut number = nearest;
        while !self.0[number].try_lock() {
            number = (number + 1) % self.0.len();
            if number == nearest {
                spin_loop(); // each other worker has unlocked one and locked one meanwhile
            }
        }
        links.list.set(number as u32 + 1);
        let list = &self.0[number];
        // SAFETY: this thread has the lock.
        unsafe { list.link(task) };
        // SAFETY: as above.
        unsafe { list.unlock() };
    }

    /// Removes a task, if it was inserted, and drops the pool's reference. If another thread has
    /// the lock, that thread frees the task, maybe later.
    ///
    /// # Safety
    /// The caller has the pool's reference.
    pub(super) unsafe fn remove(&self, task: NonNull<Header>) {
        // SAFETY: alive, as the caller promises.
        let links = unsafe { &(*task.as_ptr()).links };
        let Some(number) = (links.list.get() as usize).checked_sub(1) else {
            // SAFETY: as the caller promises.
            return unsafe { header::drop_reference(task) };
        };
        let list = &self.0[number];
        if !list.try_lock() {
            list.request_removal(task);
            return list.offer_requests();
        }
        // SAFETY: this thread has the lock; the task is in the list, and no removal was requested.
        unsafe { list.unlink(task) };
        // SAFETY: as above.
        unsafe { list.unlock() };
        // SAFETY: as the caller promises.
        unsafe { header::drop_reference(task) };
    }
}

impl crate::scheduler::shared::OwnedTasks for OwnedTasks {
    fn cancel_all(&self) {
        for list in &self.0 {
            // Release pairs with the acquire in `serve_requests`.
            list.cancels.store(true, Ordering::Release);
            list.offer_requests();
        }
    }
}

impl List {
    fn new() -> Self {
        Self {
            is_locked: AtomicBool::new(false),
            first: UnsafeCell::new(ptr::null_mut()),
            removals: AtomicPtr::new(ptr::null_mut()),
            cancels: AtomicBool::new(false),
            #[cfg(all(test, loom))]
            watch: super::models::Sole::new(),
        }
    }

    #[must_use]
    fn try_lock(&self) -> bool {
        // Acquire pairs with the release in `unlock`: the list is as it was left.
        self.is_locked.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Serves the requests, and unlocks.
    ///
    /// # Safety
    /// The caller has the lock, and does not have it afterwards.
    unsafe fn unlock(&self) {
        loop {
            if self.has_requests() {
                // SAFETY: as the caller promises.
                unsafe { self.serve_requests() };
            }
            // Release pairs with the acquire in `try_lock`.
            self.is_locked.store(false, Ordering::Release);
            // Pairs with the fence in `offer_requests`: either this sees the request, or that sees
            // that the list is unlocked.
            fence(Ordering::SeqCst);
            if !self.has_requests() || !self.try_lock() {
                return;
            }
        }
    }

    /// The caller has left a request. If no other thread has the lock, it is served here.
    fn offer_requests(&self) {
        // Pairs with the fence in `unlock`.
        fence(Ordering::SeqCst);
        if self.try_lock() {
            // SAFETY: this thread has the lock.
            unsafe { self.unlock() };
        }
    }

    fn has_requests(&self) -> bool {
        // Relaxed: `serve_requests` acquires.
        !self.removals.load(Ordering::Relaxed).is_null() || self.cancels.load(Ordering::Relaxed)
    }

    /// # Safety
    /// The caller has the lock.
    #[cold]
    unsafe fn serve_requests(&self) {
        // Acquire pairs with the release in `request_removal`.
        let mut next = NonNull::new(self.removals.swap(ptr::null_mut(), Ordering::AcqRel));
        while let Some(task) = next {
            // SAFETY: alive: the pool's reference came with the request.
            next = NonNull::new(unsafe { &(*task.as_ptr()).links }.next_removal.get());
            // SAFETY: the caller has the lock; the task is in the list, and requested once.
            unsafe { self.unlink(task) };
            // SAFETY: the reference that came with the request.
            unsafe { header::drop_reference(task) };
        }
        // Acquire pairs with the release in `cancel_all`: the next owner of the lock sees what
        // happened before that.
        if self.cancels.swap(false, Ordering::AcqRel) {
            self.watch_lock();
            // SAFETY: the caller has the lock.
            let mut next = NonNull::new(unsafe { *self.first.get() });
            while let Some(task) = next {
                // SAFETY: in the list, so the pool's reference is there until it is unlinked.
                unsafe { header::cancel(task) };
                // SAFETY: as above; and the links belong to the owner of the lock.
                next = NonNull::new(unsafe { &(*task.as_ptr()).links }.after.get());
            }
        }
    }

    /// Asks the owner of the lock to remove the task. The pool's reference goes with the request.
    fn request_removal(&self, task: NonNull<Header>) {
        let mut newest = self.removals.load(Ordering::Relaxed);
        loop {
            // SAFETY: the pool's reference is there.
            unsafe { &(*task.as_ptr()).links }.next_removal.set(newest);
            // Release pairs with the acquire in `serve_requests`; older requests are in its release
            // sequence.
            let requested = self.removals.compare_exchange(
                newest,
                task.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            );
            match requested {
                Ok(_) => return,
                Err(now) => newest = now,
            }
        }
    }

    /// # Safety
    /// The caller has the lock. The task is alive, and in no list.
    unsafe fn link(&self, task: NonNull<Header>) {
        self.watch_lock();
        // SAFETY: the caller has the lock.
        let first = unsafe { &mut *self.first.get() };
        // SAFETY: alive.
        unsafe { &(*task.as_ptr()).links }.after.set(*first);
        // SAFETY: null, or in the list, and so alive.
        if let Some(after) = unsafe { first.as_ref() } {
            after.links.before.set(task.as_ptr());
        }
        *first = task.as_ptr();
    }

    /// # Safety
    /// The caller has the lock, and the task is in the list.
    unsafe fn unlink(&self, task: NonNull<Header>) {
        self.watch_lock();
        // SAFETY: alive, since it is in the list.
        let links = unsafe { &(*task.as_ptr()).links };
        let (before, after) = (links.before.get(), links.after.get());
        // SAFETY: null, or in the list, and so alive.
        if let Some(after) = unsafe { after.as_ref() } {
            after.links.before.set(before);
        }
        // SAFETY: as above.
        match unsafe { before.as_ref() } {
            Some(before) => before.links.after.set(after),
            // SAFETY: the caller has the lock.
            None => unsafe { *self.first.get() = after },
        }
    }

    /// Loom fails if another thread has the lock at the same time.
    fn watch_lock(&self) {
        #[cfg(all(test, loom))]
        self.watch.touch();
    }
}
