//! What others know of a stack that waits, and how they give it back to its worker.

use std::cell::Cell;
use std::fmt;
use std::ptr::{self, NonNull};

use crate::primitive::{AtomicPtr, CachePadded, Ordering, UnsafeCell};

/// In the word of what a stack waits for: a node, and not what was there before.
const WAITS: usize = 2;
const TAG: usize = 3;

/// A stack that waits, as whoever ends its wait sees it. It is the first part of what the stack's worker keeps of it.
///
/// It is the waiter's until its address lies in the word of what it waits for; then it belongs to whoever sets that, who sends it
/// to the worker; and then it is the worker's again.
#[repr(align(8))]
pub(crate) struct Node {
    /// What was in the word before.
    before: UnsafeCell<*mut ()>,
    /// The node that was sent before this one; once they have arrived, the one that was sent after.
    next: UnsafeCell<*mut Node>,
}

impl Node {
    pub(crate) fn new() -> Self {
        let (before, next) = (ptr::null_mut(), ptr::null_mut());
        Self { before: UnsafeCell::new(before), next: UnsafeCell::new(next) }
    }

    /// The node in a word, if there is one.
    pub(crate) fn in_word(word: *mut ()) -> Option<NonNull<Self>> {
        if word.addr() & TAG != WAITS {
            return None;
        }
        NonNull::new(word.map_addr(|addr| addr & !TAG).cast())
    }

    /// The word that says that this stack waits.
    pub(crate) fn as_word(this: NonNull<Self>) -> *mut () {
        this.as_ptr().map_addr(|addr| addr | WAITS).cast()
    }

    /// # Safety
    /// The node is the caller's.
    pub(crate) unsafe fn keep(this: NonNull<Self>, before: *mut ()) {
        // SAFETY: alive, since it is the caller's.
        let node = unsafe { this.as_ref() };
        // SAFETY: nobody else touches it.
        node.before.with_mut(|kept| unsafe { *kept = before });
    }

    /// What was in the word before.
    ///
    /// # Safety
    /// The caller has found the node in a word that nobody but the caller will set.
    pub(crate) unsafe fn kept(this: NonNull<Self>) -> *mut () {
        // SAFETY: the stack waits until the word is set.
        let node = unsafe { this.as_ref() };
        // SAFETY: whoever waits has written it before, and nobody else reads it.
        node.before.with_mut(|kept| unsafe { *kept })
    }

    /// # Safety
    /// The node is the caller's.
    unsafe fn set_next(this: NonNull<Self>, next: *mut Node) -> *mut Node {
        // SAFETY: alive, since it is the caller's.
        let node = unsafe { this.as_ref() };
        node.next.with_mut(|place| {
            // SAFETY: nobody else touches it.
            std::mem::replace(unsafe { &mut *place }, next)
        })
    }
}

/// Where stacks come back to a worker that are ready: anybody sends, the worker alone fetches.
///
/// A stack of nodes (Treiber, "Systems programming: coping with parallelism", 1986) that is emptied at once. As nobody unlinks
/// one node, none is seen twice at the same place (no ABA), and none needs memory of its own.
pub(crate) struct Returns {
    newest: CachePadded<AtomicPtr<Node>>,
}

impl Returns {
    pub(crate) fn new() -> Self {
        Self { newest: CachePadded::new(AtomicPtr::new(ptr::null_mut())) }
    }

    /// Gives a stack back.
    ///
    /// # Safety
    /// The caller has taken the node out of the word that its stack waited for. These are its worker's returns.
    pub(crate) unsafe fn send(&self, node: NonNull<Node>) {
        let mut before = self.newest.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller's until the exchange below.
            unsafe { Node::set_next(node, before) };
            // Release pairs with the acquire in `fetch`: what the setter saw and wrote is seen by the stack; so it is for
            // older nodes, since each later change of the word is one of their release sequences.
            let sent = self.newest.compare_exchange(
                before,
                node.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            );
            match sent {
                Ok(_) => return,
                Err(now) => before = now,
            }
        }
    }

    /// Whether there is none. Exact for what was sent before the caller's last fence.
    pub(crate) fn is_empty(&self) -> bool {
        self.newest.load(Ordering::Relaxed).is_null()
    }
}

impl fmt::Debug for Returns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Returns").field("is_empty", &self.is_empty()).finish()
    }
}

/// The stacks of a worker that are ready, as the worker itself has them: first come, first served.
#[derive(Debug)]
pub(crate) struct Ready {
    oldest: Cell<*mut Node>,
    newest: Cell<*mut Node>,
}

impl Ready {
    pub(crate) fn new() -> Self {
        Self { oldest: Cell::new(ptr::null_mut()), newest: Cell::new(ptr::null_mut()) }
    }

    /// Whether there is none that the worker knows of.
    pub(crate) fn is_empty(&self) -> bool {
        self.oldest.get().is_null()
    }

    /// Puts a stack behind all others.
    ///
    /// # Safety
    /// The node is the caller's.
    pub(crate) unsafe fn put_last(&self, node: NonNull<Node>) {
        // SAFETY: as the caller promises.
        unsafe { Node::set_next(node, ptr::null_mut()) };
        match NonNull::new(self.newest.replace(node.as_ptr())) {
            // SAFETY: what is in this queue is the worker's.
            Some(last) => _ = unsafe { Node::set_next(last, node.as_ptr()) },
            None => self.oldest.set(node.as_ptr()),
        }
    }

    /// The stack that has been ready longest.
    pub(crate) fn take(&self, returns: &Returns) -> Option<NonNull<Node>> {
        if self.is_empty() {
            self.fetch(returns);
        }
        let oldest = NonNull::new(self.oldest.get())?;
        // SAFETY: what is in this queue is the worker's.
        let next = unsafe { Node::set_next(oldest, ptr::null_mut()) };
        self.oldest.set(next);
        if next.is_null() {
            self.newest.set(next);
        }
        Some(oldest)
    }

    /// Takes all that were sent, behind those that are here.
    pub(crate) fn fetch(&self, returns: &Returns) {
        // Whoever looks in vain changes nothing.
        if returns.is_empty() {
            return;
        }
        // Acquire pairs with the release in `send`.
        let newest = returns.newest.swap(ptr::null_mut(), Ordering::Acquire);
        let (mut node, mut turned) = (newest, ptr::null_mut());
        while let Some(this) = NonNull::new(node) {
            // SAFETY: unlinked by the exchange above, so the worker's.
            node = unsafe { Node::set_next(this, turned) };
            turned = this.as_ptr();
        }
        match NonNull::new(self.newest.replace(newest)) {
            // SAFETY: what is in this queue is the worker's.
            Some(last) => _ = unsafe { Node::set_next(last, turned) },
            None => self.oldest.set(turned),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_came_first_is_served_first() {
        let nodes: Vec<_> = (0..5).map(|_| Box::new(Node::new())).collect();
        let node = |n: usize| NonNull::from(&*nodes[n]);
        let (returns, ready) = (Returns::new(), Ready::new());
        // SAFETY: here, and below: nobody else has them, and they are alive.
        let send = |n| unsafe { returns.send(node(n)) };
        [0, 1].into_iter().for_each(send);
        ready.fetch(&returns);
        // Behind those that are there already.
        [2, 3].into_iter().for_each(send);
        ready.fetch(&returns);
        ready.fetch(&returns);
        // SAFETY: as above.
        unsafe { ready.put_last(node(4)) };
        for n in 0..5 {
            assert_eq!(ready.take(&returns), Some(node(n)));
        }
        assert!(ready.is_empty() && ready.take(&returns).is_none());
    }
}
