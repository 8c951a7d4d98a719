//! The inbox: a first-in, first-out queue with any number of senders and takers.
//!
//! The algorithm is Michael and Scott's ("Simple, fast, and practical non-blocking and blocking
//! concurrent queue algorithms", PODC 1996, figure 1) with hazard pointers. It satisfies law 2: a
//! suspended sender or taker hides no item that was linked.
//!
//! Faster queues do not. In Vyukov's and crossbeam's, a sender reserves a place before it fills it.
//! If it is suspended in between, it hides all later items. A stack that is taken as a whole leaves
//! all items with one thread.
//!
//! Reclamation: a taker writes the pointer to a hazard slot, makes a fence, and reads `head` again.
//! A thread that frees a node unlinks it, makes a fence, and reads all slots. One of the two sees
//! the other. A suspended thread keeps two nodes, and up to 63 in its list, from being freed.

use std::ptr::NonNull;

use crate::primitive::hazard::{self, Domain};
use crate::primitive::{AtomicPtr, CachePadded, Life, Ordering};

#[derive(Debug)]
struct Node<T> {
    /// Constant once linked, and null in the first dummy. The taker that moves `head` to this node
    /// has the item.
    item: *mut T,
    next: AtomicPtr<Node<T>>,
    /// Asserted when a field is read. Under loom, a node is never freed, so that a late read fails
    /// the assertion.
    life: Life,
}

// SAFETY: the item is an opaque word here, and jobs may change threads (`header.rs`).
unsafe impl<T> Send for Node<T> {}

impl<T> hazard::Node for Node<T> {
    unsafe fn free(this: *mut Self) {
        // SAFETY: alive until here.
        unsafe { &(*this).life }.end();
        // SAFETY: made by `boxed`, and owned by the queue alone.
        #[cfg(not(loom))]
        drop(unsafe { Box::from_raw(this) });
    }
}

impl<T> Node<T> {
    fn boxed(item: *mut T) -> *mut Self {
        Box::into_raw(Box::new(Self {
            item,
            next: AtomicPtr::new(std::ptr::null_mut()),
            life: Life::default(),
        }))
    }

    fn next(&self) -> *mut Self {
        // Acquire pairs with the release of the sender that linked the next node.
        let next = self.next.load(Ordering::Acquire);
        self.life.assert_alive();
        next
    }
}

/// A first-in, first-out queue of non-null words for any number of senders and takers.
#[derive(Debug)]
pub(crate) struct Inbox<T> {
    /// The dummy. Its successor holds the oldest item.
    head: CachePadded<AtomicPtr<Node<T>>>,
    /// The newest node, or the one before it while a sender is between its two steps.
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

    /// Adds an item at the end.
    pub(crate) fn send(&self, item: NonNull<T>) {
        let node = Node::boxed(item.as_ptr());
        let hazards = self.hazards.hold();
        loop {
            let tail = hazards.protect(0, &self.tail);
            // SAFETY: protected, and `tail` never points to an unlinked node: takers advance it
            // before they unlink.
            let last = unsafe { &*tail };
            let next = last.next();
            if !next.is_null() {
                self.advance_tail(tail, next);
                continue;
            }
            // Release pairs with the acquires of `next` in `take` and of `tail` in `protect`: a
            // thread that finds the node sees its contents, and what the item points to.
            let linked =
                last.next.compare_exchange(next, node, Ordering::AcqRel, Ordering::Relaxed);
            last.life.assert_alive();
            if linked.is_ok() {
                self.advance_tail(tail, node);
                return;
            }
        }
    }

    /// Takes the oldest item. `None` only if the inbox [was empty](Self::is_empty).
    pub(crate) fn take(&self) -> Option<NonNull<T>> {
        if self.is_empty() {
            return None;
        }
        let hazards = self.hazards.hold();
        loop {
            let head = hazards.protect(0, &self.head);
            // SAFETY: protected while it was `head`.
            let dummy = unsafe { &*head };
            let next = hazards.protect(1, &dummy.next);
            dummy.life.assert_alive();
            if self.head.load(Ordering::Acquire) != head {
                continue; // `next` may have been unlinked before it was protected
            }
            // SAFETY: null, or protected before `head` moved on, so not freed during this call.
            let first = unsafe { next.as_ref() }?;
            let tail = self.tail.load(Ordering::Acquire);
            if tail == head {
                // A sender has not advanced `tail` yet. Without this it would point to an unlinked
                // node.
                self.advance_tail(head, next);
            }
            let item = first.item;
            first.life.assert_alive();
            // AcqRel: the winner publishes the node as the new dummy.
            let moved = self.head.compare_exchange(head, next, Ordering::AcqRel, Ordering::Relaxed);
            if moved.is_ok() {
                self.assert_not_tail(head);
                // SAFETY: made by `Node::boxed`. `head` and `tail` have both moved past it, and
                // this thread moved `head`.
                unsafe { hazards.retire(head) };
                return NonNull::new(item);
            }
        }
    }

    /// True if every item whose sending ended before the call has been taken. Writes nothing, so
    /// threads that look into an empty inbox again and again share its cache lines.
    pub(crate) fn is_empty(&self) -> bool {
        // In this order: once `head` has come to that `tail`, all items up to it have been taken,
        // even if the node was used again in between. Acquire pairs with the release in
        // `advance_tail`.
        let tail = self.tail.load(Ordering::Acquire);
        self.head.load(Ordering::Acquire) == tail
    }

    /// A number that changes with each item that is taken. It may recur much later.
    pub(crate) fn mark(&self) -> usize {
        self.head.load(Ordering::Relaxed).addr()
    }

    /// Asserts, in models only, that no node is linked behind one that is about to be freed.
    fn assert_not_tail(&self, _node: *mut Node<T>) {
        #[cfg(loom)]
        assert!(self.tail.load(Ordering::Relaxed) != _node, "the tail has left the queue");
    }

    /// Advances `tail`, on behalf of any sender.
    fn advance_tail(&self, from: *mut Node<T>, to: *mut Node<T>) {
        // Release pairs with the acquires in `protect` and `take`. On failure another thread has
        // advanced it.
        let _ = self.tail.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        let mut next = self.head.load(Ordering::Acquire);
        while !next.is_null() {
            // SAFETY: made by `Node::boxed`. `&mut self`: no other thread uses it. The pool has
            // finished the items before.
            let node = unsafe { Box::from_raw(next) };
            next = node.next();
        }
    }
}
