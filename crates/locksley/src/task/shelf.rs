//! Shelves: where the tasks are noted that wait, so that they can be cancelled when their pool is dropped.
//!
//! There are as many as workers, and a worker uses its own, unless somebody else is just using that. Nobody ever waits for a
//! shelf: who has a task to put up takes another one; who has a task to take down, or wants all to be cancelled, leaves a
//! note, and whoever has the shelf sees to it when they put it back.

use std::cell::{Cell, UnsafeCell};
use std::ptr::{self, NonNull};

use super::header::{self, Header};
use crate::primitive::{AtomicBool, AtomicPtr, CachePadded, Ordering, fence, spin_loop};

/// A task's place on a shelf.
pub(super) struct Links {
    /// The number of its shelf, from 1; 0 for none. Belongs to whoever runs the task.
    shelf: Cell<u32>,
    /// Both belong to whoever has the shelf.
    before: Cell<*mut Header>,
    after: Cell<*mut Header>,
    /// The one that was noted before, to be taken down too.
    noted: Cell<*mut Header>,
}

impl Links {
    pub(super) fn new() -> Self {
        let nothing = || Cell::new(ptr::null_mut());
        Self { shelf: Cell::new(0), before: nothing(), after: nothing(), noted: nothing() }
    }
}

pub(crate) struct Shelves(Box<[CachePadded<Shelf>]>);

struct Shelf {
    is_in_use: AtomicBool,
    /// A list, linked both ways. Belongs to whoever uses the shelf.
    first: UnsafeCell<*mut Header>,
    /// Tasks that have finished while somebody else used the shelf: a stack (Treiber 1986) that is only emptied as a whole.
    noted: AtomicPtr<Header>,
    /// Whether all tasks here are to be cancelled.
    is_condemned: AtomicBool,
    #[cfg(all(test, loom))]
    watch: super::models::Sole,
}

// SAFETY: what is no atomic belongs to whoever uses the shelf; tasks may be cancelled and freed by any thread.
unsafe impl Send for Shelf {}
// SAFETY: as above.
unsafe impl Sync for Shelf {}

impl Shelves {
    pub(crate) fn new(workers: usize) -> Self {
        Self((0..workers).map(|_| CachePadded::new(Shelf::new())).collect())
    }

    /// Notes a task, once: on the shelf of that number or, if that is in use, on another. When [`cancel_all`](Self::cancel_all)
    /// has been through with that shelf before, the caller sees what was said before the call.
    ///
    /// # Safety
    /// The caller runs the task, which is taken down before the pool's reference is given back.
    pub(super) unsafe fn put_up(&self, task: NonNull<Header>, nearest: usize) {
        // SAFETY: it is being run.
        let links = unsafe { &(*task.as_ptr()).links };
        if links.shelf.get() != 0 {
            return;
        }
        let mut number = nearest;
        while !self.0[number].try_use() {
            number = (number + 1) % self.0.len();
            if number == nearest {
                spin_loop(); // each of the others has put one back and used one in the meantime
            }
        }
        links.shelf.set(number as u32 + 1);
        let shelf = &self.0[number];
        // SAFETY: we use the shelf.
        unsafe { shelf.link(task) };
        // SAFETY: as above.
        unsafe { shelf.put_back() };
    }

    /// Takes a task down, if it was put up, and lets go of the pool's reference. It may be a moment until the task is freed: then
    /// whoever uses its shelf sees to it.
    ///
    /// # Safety
    /// The caller has the pool's reference.
    pub(super) unsafe fn take_down(&self, task: NonNull<Header>) {
        // SAFETY: alive, as the caller promises.
        let links = unsafe { &(*task.as_ptr()).links };
        let Some(number) = (links.shelf.get() as usize).checked_sub(1) else {
            // SAFETY: as the caller promises.
            return unsafe { header::drop_reference(task) };
        };
        let shelf = &self.0[number];
        if !shelf.try_use() {
            shelf.note(task);
            // Pairs with the fence in `put_back`: either that sees the note, or we see that the shelf is not in use.
            fence(Ordering::SeqCst);
            if shelf.try_use() {
                // SAFETY: we use the shelf.
                unsafe { shelf.put_back() };
            }
            return;
        }
        // SAFETY: we use the shelf; it is there, and not noted.
        unsafe { shelf.unlink(task) };
        // SAFETY: as above.
        unsafe { shelf.put_back() };
        // SAFETY: as the caller promises.
        unsafe { header::drop_reference(task) };
    }

    /// Sees to it that all tasks which are noted here are cancelled.
    pub(crate) fn cancel_all(&self) {
        for shelf in &self.0 {
            shelf.is_condemned.store(true, Ordering::Release);
            // As in `take_down`.
            fence(Ordering::SeqCst);
            if shelf.try_use() {
                // SAFETY: we use the shelf.
                unsafe { shelf.put_back() };
            }
        }
    }
}

impl Shelf {
    fn new() -> Self {
        Self {
            is_in_use: AtomicBool::new(false),
            first: UnsafeCell::new(ptr::null_mut()),
            noted: AtomicPtr::new(ptr::null_mut()),
            is_condemned: AtomicBool::new(false),
            #[cfg(all(test, loom))]
            watch: super::models::Sole::new(),
        }
    }

    #[must_use]
    fn try_use(&self) -> bool {
        // Acquire pairs with the release in `put_back`: the list is as it was left.
        self.is_in_use.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Does what is noted, and lets others use the shelf.
    ///
    /// # Safety
    /// The caller uses the shelf, and does not afterwards.
    unsafe fn put_back(&self) {
        loop {
            if self.has_notes() {
                // SAFETY: as the caller promises.
                unsafe { self.see_to_notes() };
            }
            // Release pairs with the acquire in `try_use`.
            self.is_in_use.store(false, Ordering::Release);
            // Pairs with the fences of those who leave a note: either we see it, or they see that the shelf is free.
            fence(Ordering::SeqCst);
            if !self.has_notes() || !self.try_use() {
                return;
            }
        }
    }

    fn has_notes(&self) -> bool {
        // Relaxed: whoever sees to them acquires.
        !self.noted.load(Ordering::Relaxed).is_null() || self.is_condemned.load(Ordering::Relaxed)
    }

    /// # Safety
    /// The caller uses the shelf.
    #[cold]
    unsafe fn see_to_notes(&self) {
        // Acquire pairs with the release in `note`.
        let mut next = NonNull::new(self.noted.swap(ptr::null_mut(), Ordering::AcqRel));
        while let Some(task) = next {
            // SAFETY: it has the pool's reference, which came with the note.
            next = NonNull::new(unsafe { &(*task.as_ptr()).links }.noted.get());
            // SAFETY: the caller uses the shelf; the task is on it, and was noted once.
            unsafe { self.unlink(task) };
            // SAFETY: the reference that came with the note.
            unsafe { header::drop_reference(task) };
        }
        // Acquire pairs with the release in `cancel_all`: who uses the shelf after us sees what came before that.
        if self.is_condemned.swap(false, Ordering::AcqRel) {
            self.has_shelf();
            // SAFETY: the caller uses the shelf.
            let mut next = NonNull::new(unsafe { *self.first.get() });
            while let Some(task) = next {
                // SAFETY: on the shelf, so it has the pool's reference until we take it down.
                unsafe { header::cancel(task) };
                // SAFETY: as above; and the links are ours.
                next = NonNull::new(unsafe { &(*task.as_ptr()).links }.after.get());
            }
        }
    }

    /// Leaves a note that the task is to be taken down; with it goes the pool's reference.
    fn note(&self, task: NonNull<Header>) {
        let mut newest = self.noted.load(Ordering::Relaxed);
        loop {
            // SAFETY: it has the pool's reference.
            unsafe { &(*task.as_ptr()).links }.noted.set(newest);
            // Release pairs with the acquire in `see_to_notes`; older notes are in its release sequence.
            let noted = self.noted.compare_exchange(
                newest,
                task.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            );
            match noted {
                Ok(_) => return,
                Err(now) => newest = now,
            }
        }
    }

    /// # Safety
    /// The caller uses the shelf, and the task, which is alive, is on none.
    unsafe fn link(&self, task: NonNull<Header>) {
        self.has_shelf();
        // SAFETY: the caller uses the shelf.
        let first = unsafe { &mut *self.first.get() };
        // SAFETY: alive.
        unsafe { &(*task.as_ptr()).links }.after.set(*first);
        // SAFETY: null, or on the shelf, and so alive.
        if let Some(after) = unsafe { first.as_ref() } {
            after.links.before.set(task.as_ptr());
        }
        *first = task.as_ptr();
    }

    /// Tells the model checker that the caller alone uses the shelf.
    fn has_shelf(&self) {
        #[cfg(all(test, loom))]
        self.watch.is_mine();
    }

    /// # Safety
    /// The caller uses the shelf, and the task is on it.
    unsafe fn unlink(&self, task: NonNull<Header>) {
        self.has_shelf();
        // SAFETY: alive, since it is on the shelf.
        let links = unsafe { &(*task.as_ptr()).links };
        let (before, after) = (links.before.get(), links.after.get());
        // SAFETY: null, or on the shelf, and so alive.
        if let Some(after) = unsafe { after.as_ref() } {
            after.links.before.set(before);
        }
        // SAFETY: as above.
        match unsafe { before.as_ref() } {
            Some(before) => before.links.after.set(after),
            // SAFETY: the caller uses the shelf.
            None => unsafe { *self.first.get() = after },
        }
    }
}
