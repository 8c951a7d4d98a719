//! The inbox: a queue to which anybody may send and from which any worker may take, first in, first out.
//!
//! The algorithm is Michael and Scott's ("Simple, fast, and practical non-blocking and blocking concurrent queue
//! algorithms", PODC 1996, figure 1) with hazard pointers. It was chosen because of law 2: wherever a sender or a taker
//! is suspended, the others go on and see all items whose sending was linked. The README beside this file says why the
//! usual faster queues were not.

use std::ptr::NonNull;

use crate::primitive::hazard::{self, Domain};
use crate::primitive::{AtomicPtr, CachePadded, Ordering};

#[derive(Debug)]
struct Node<T> {
    /// Constant once linked; null in the first dummy. Belongs to whoever moves `head` onto this node.
    item: *mut T,
    next: AtomicPtr<Node<T>>,
}

// SAFETY: the item is an opaque word here; jobs are fit to change threads (`job.rs`).
unsafe impl<T> Send for Node<T> {}

impl<T> hazard::Node for Node<T> {
    unsafe fn free(this: *mut Self) {
        // SAFETY: made by `boxed`; the queue's right to it is the only one.
        drop(unsafe { Box::from_raw(this) });
    }
}

impl<T> Node<T> {
    fn boxed(item: *mut T) -> *mut Self {
        let next = AtomicPtr::new(std::ptr::null_mut());
        Box::into_raw(Box::new(Self { item, next }))
    }
}

/// A first-in, first-out queue of non-null words for any number of senders and takers.
#[derive(Debug)]
pub(crate) struct Inbox<T> {
    /// The dummy: its successor holds the oldest item.
    head: CachePadded<AtomicPtr<Node<T>>>,
    /// The newest node, or the one before it while its sender is between linking it and saying so here.
    tail: CachePadded<AtomicPtr<Node<T>>>,
    hazards: Domain<Node<T>>,
}

impl<T> Inbox<T> {
    pub(crate) fn new() -> Self {
        let dummy = Node::boxed(std::ptr::null_mut());
        Self {
            head: CachePadded::new(AtomicPtr::new(dummy)),
            tail: CachePadded::new(AtomicPtr::new(dummy)),
            hazards: Domain::new(),
        }
    }

    /// Adds an item behind all others.
    pub(crate) fn send(&self, item: NonNull<T>) {
        let node = Node::boxed(item.as_ptr());
        let hazards = self.hazards.hold();
        loop {
            let tail = hazards.protect(0, &self.tail);
            // SAFETY: protected, and `tail` never points to an unlinked node: takers move it on before they unlink.
            let last = unsafe { &*tail };
            let next = last.next.load(Ordering::Acquire);
            if !next.is_null() {
                self.help_tail(tail, next);
                continue;
            }
            // Release pairs with the acquires of `next` in `take` and of `tail` in `protect`: who finds the node sees
            // its contents, and what the item points to.
            let linked =
                last.next.compare_exchange(next, node, Ordering::AcqRel, Ordering::Relaxed);
            if linked.is_ok() {
                self.help_tail(tail, node);
                return;
            }
        }
    }

    /// Takes the oldest item. `None` only if there was none at some moment during the call.
    pub(crate) fn take(&self) -> Option<NonNull<T>> {
        let hazards = self.hazards.hold();
        loop {
            let head = hazards.protect(0, &self.head);
            // SAFETY: protected while it was `head`.
            let dummy = unsafe { &*head };
            let next = hazards.protect(1, &dummy.next);
            if self.head.load(Ordering::Acquire) != head {
                continue; // `next` may have been unlinked before we protected it
            }
            // SAFETY: null, or protected before `head` moved on, so not freed before we let go.
            let first = unsafe { next.as_ref() }?;
            let tail = self.tail.load(Ordering::Acquire);
            if tail == head {
                // Its sender was suspended before it could: do it, or `tail` would point to an unlinked node.
                self.help_tail(head, next);
            }
            let item = first.item;
            // AcqRel: the winner hands the node on as the new dummy.
            let moved = self.head.compare_exchange(head, next, Ordering::AcqRel, Ordering::Relaxed);
            if moved.is_ok() {
                // SAFETY: made by `Node::boxed`; `head` and `tail` have both moved past it, and we moved `head`.
                unsafe { hazards.unlinked(head) };
                return NonNull::new(item);
            }
        }
    }

    /// Whether there was no item at some moment during the call.
    pub(crate) fn is_empty(&self) -> bool {
        let hazards = self.hazards.hold();
        let head = hazards.protect(0, &self.head);
        // SAFETY: protected while it was `head`.
        unsafe { &*head }.next.load(Ordering::Acquire).is_null()
    }

    /// Whether there seems to be no item, at a glance: one whose sender is held before it could say so is overlooked.
    pub(crate) fn looks_empty(&self) -> bool {
        // Relaxed: whoever takes acquires, and nobody relies on this.
        self.head.load(Ordering::Relaxed) == self.tail.load(Ordering::Relaxed)
    }

    /// A mark that changes with each item that is taken. It may come again much later.
    pub(crate) fn mark(&self) -> usize {
        self.head.load(Ordering::Relaxed).addr()
    }

    fn help_tail(&self, from: *mut Node<T>, to: *mut Node<T>) {
        // Release pairs with the acquire in `protect`. Failure: somebody else helped.
        let _ = self.tail.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        let mut next = self.head.load(Ordering::Acquire);
        while !next.is_null() {
            // SAFETY: made by `Node::boxed`; `&mut self`: nobody else is here. Items are the pool's to finish before.
            let node = unsafe { Box::from_raw(next) };
            next = node.next.load(Ordering::Acquire);
        }
    }
}
