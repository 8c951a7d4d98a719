//! The pinned queue: an inbox of one worker. Anybody may send to it; only that worker takes, first in, first out.
//!
//! A stack of pinned tasks (Treiber, "Systems programming: coping with parallelism", 1986) that the reader empties at once and
//! turns over. What would be wrong for the pool's inbox, that everything is then in one thread's hands, is right here:
//! nobody else could run these items. And since nobody but the reader unlinks a pinned task, none is freed under a sender.

use std::cell::Cell;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::primitive::{AtomicPtr, CachePadded, Ordering};

#[derive(Debug)]
struct PinnedTask<T> {
    item: NonNull<T>,
    /// The one that was sent before; once it has been read, the one that was sent after.
    next: *mut PinnedTask<T>,
}

/// The senders' side.
#[derive(Debug)]
pub(crate) struct PinnedQueue<T> {
    /// The newest pinned task that the reader has not fetched.
    newest: CachePadded<AtomicPtr<PinnedTask<T>>>,
}

/// The reader's side, of which there is one.
pub(crate) struct Reader<T> {
    pinned_queue: Arc<PinnedQueue<T>>,
    /// The oldest of the pinned tasks that were fetched and not taken.
    oldest: Cell<*mut PinnedTask<T>>,
}

// SAFETY: items are opaque words here; jobs are fit to change threads (`job.rs`). PinnedTasks belong to the reader once they
// are fetched, and may go where it goes.
unsafe impl<T> Send for Reader<T> {}

pub(crate) fn pinned_queue<T>() -> (Arc<PinnedQueue<T>>, Reader<T>) {
    let pinned_queue =
        Arc::new(PinnedQueue { newest: CachePadded::new(AtomicPtr::new(ptr::null_mut())) });
    (Arc::clone(&pinned_queue), Reader { pinned_queue, oldest: Cell::new(ptr::null_mut()) })
}

impl<T> PinnedQueue<T> {
    /// Adds an item behind all others.
    pub(crate) fn send(&self, item: NonNull<T>) {
        let pinned_task = Box::into_raw(Box::new(PinnedTask { item, next: ptr::null_mut() }));
        let mut before = self.newest.load(Ordering::Relaxed);
        loop {
            // SAFETY: made above, and not shown to anybody yet.
            unsafe { (*pinned_task).next = before };
            // Release pairs with the acquire in `fetch`: who finds the pinned task sees its contents, and what the item points
            // to. So it does for older pinned tasks: each later change of the word is one of its release sequence.
            let linked = self.newest.compare_exchange(
                before,
                pinned_task,
                Ordering::Release,
                Ordering::Relaxed,
            );
            match linked {
                Ok(_) => return,
                Err(now) => before = now,
            }
        }
    }
}

impl<T> Reader<T> {
    /// Takes the oldest item.
    pub(crate) fn take(&self) -> Option<NonNull<T>> {
        if self.oldest.get().is_null() {
            self.fetch();
        }
        let oldest = NonNull::new(self.oldest.get())?;
        // SAFETY: made by `send`, fetched by us, and taken once: `oldest` moves on below, before anything else is called.
        let pinned_task = unsafe { Box::from_raw(oldest.as_ptr()) };
        self.oldest.set(pinned_task.next);
        Some(pinned_task.item)
    }

    /// Whether there is no item. Exact for what was sent before the caller's last fence.
    pub(crate) fn is_empty(&self) -> bool {
        self.oldest.get().is_null() && self.pinned_queue.newest.load(Ordering::Relaxed).is_null()
    }

    /// Takes all pinned tasks that were sent, the oldest first. The reader has none left.
    fn fetch(&self) {
        // A look in vain, which is the common case, changes nothing.
        if self.pinned_queue.newest.load(Ordering::Relaxed).is_null() {
            return;
        }
        // Acquire pairs with the release in `send`.
        let mut pinned_task = self.pinned_queue.newest.swap(ptr::null_mut(), Ordering::Acquire);
        let mut turned = ptr::null_mut();
        while !pinned_task.is_null() {
            // SAFETY: made by `send`; unlinked by the exchange above, so ours alone.
            let next = unsafe { &mut (*pinned_task).next };
            let before = std::mem::replace(next, turned);
            turned = pinned_task;
            pinned_task = before;
        }
        self.oldest.set(turned);
    }
}

impl<T> Drop for Reader<T> {
    fn drop(&mut self) {
        // The pinned tasks; items are the pool's to finish before.
        while self.take().is_some() {}
    }
}

impl<T> fmt::Debug for Reader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}

impl<T> Drop for PinnedQueue<T> {
    fn drop(&mut self) {
        // What was sent after the reader had gone.
        let mut pinned_task = self.newest.load(Ordering::Acquire);
        while !pinned_task.is_null() {
            // SAFETY: made by `send`, and linked; `&mut self`: nobody else is here.
            pinned_task = unsafe { Box::from_raw(pinned_task) }.next;
        }
    }
}
