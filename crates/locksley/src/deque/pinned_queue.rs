//! The pinned queue: tasks that only one worker may run. Any thread sends; that worker takes, first
//! in, first out.
//!
//! A stack (Treiber, "Systems programming: coping with parallelism", 1986) that the reader takes as
//! a whole and reverses. An inbox must not do that, because a suspended reader keeps all that it
//! has fetched. Here no other worker may run these items anyway.
//!
//! Senders write the old pointer to their own node and never follow it. Only the reader unlinks
//! nodes, so they need no hazard pointers, and `newest` may hold the same pointer again.

use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::primitive::{AtomicPtr, CachePadded, Ordering};

#[derive(Debug)]
struct Node<T> {
    item: NonNull<T>,
    /// The node that was sent before. Once fetched, the node that was sent after.
    next: *mut Node<T>,
}

/// The senders' side.
#[derive(Debug)]
pub(crate) struct PinnedQueue<T> {
    /// The newest node that the reader has not fetched.
    newest: CachePadded<AtomicPtr<Node<T>>>,
}

/// The reader's side. There is one.
pub(crate) struct Reader<T> {
    queue: Arc<PinnedQueue<T>>,
    /// The oldest node that was fetched and not taken.
    oldest: Cell<*mut Node<T>>,
}

// SAFETY: items are opaque words here, and jobs may change threads (`job.rs`). Fetched nodes belong
// to the reader, and move with it.
unsafe impl<T> Send for Reader<T> {}

pub(crate) fn pinned_queue<T>() -> (Arc<PinnedQueue<T>>, Reader<T>) {
    let newest = CachePadded::new(AtomicPtr::new(ptr::null_mut()));
    let queue = Arc::new(PinnedQueue { newest });
    (Arc::clone(&queue), Reader { queue, oldest: Cell::new(ptr::null_mut()) })
}

impl<T> PinnedQueue<T> {
    /// Adds an item at the end.
    pub(crate) fn send(&self, item: NonNull<T>) {
        let node = Box::into_raw(Box::new(Node { item, next: ptr::null_mut() }));
        let mut before = self.newest.load(Ordering::Relaxed);
        loop {
            // SAFETY: made above, and not published yet.
            unsafe { (*node).next = before };
            // Release pairs with the acquire in `fetch`: the reader sees the node, and what the
            // item points to. Older nodes too: each later change of the word is in its release
            // sequence.
            let linked =
                self.newest.compare_exchange(before, node, Ordering::Release, Ordering::Relaxed);
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
        // SAFETY: made by `send`, fetched by this reader, and taken once: `oldest` moves on below,
        // before any other call.
        let node = unsafe { Box::from_raw(oldest.as_ptr()) };
        self.oldest.set(node.next);
        Some(node.item)
    }

    /// True if there is no item. Exact for items that were sent before the caller's last fence.
    pub(crate) fn is_empty(&self) -> bool {
        self.oldest.get().is_null() && self.queue.newest.load(Ordering::Relaxed).is_null()
    }

    /// Fetches all items that were sent, and reverses their order. The reader has none left.
    fn fetch(&self) {
        // The common case, an empty queue, writes nothing.
        if self.queue.newest.load(Ordering::Relaxed).is_null() {
            return;
        }
        // Acquire pairs with the release in `send`.
        let mut node = self.queue.newest.swap(ptr::null_mut(), Ordering::Acquire);
        let mut reversed = ptr::null_mut();
        while !node.is_null() {
            // SAFETY: made by `send`, and unlinked by the exchange above.
            let next = unsafe { &mut (*node).next };
            let before = std::mem::replace(next, reversed);
            reversed = node;
            node = before;
        }
        self.oldest.set(reversed);
    }
}

impl<T> Drop for Reader<T> {
    fn drop(&mut self) {
        // Frees the nodes. The pool has finished the items before.
        while self.take().is_some() {}
    }
}

impl<T> Drop for PinnedQueue<T> {
    fn drop(&mut self) {
        // Nodes that were sent after the reader was dropped.
        let mut node = self.newest.load(Ordering::Acquire);
        while !node.is_null() {
            // SAFETY: made by `send`, and linked. `&mut self`: no other thread uses it.
            node = unsafe { Box::from_raw(node) }.next;
        }
    }
}
