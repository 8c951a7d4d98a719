//! The wait queue: first in, first out, cancellable, and lock-free.
//!
//! Michael and Scott's queue (PODC 1996, figure 1) with hazard pointers and four differences, which
//! `../README.md` explains. A wait is completed in its node, before the node leaves the queue. A
//! node counts what is taken there without waiting. Cancelled nodes are unlinked from the middle as
//! in Michael's list ("High performance dynamic lock-free hash tables and list-based sets", SPAA
//! 2002). The first node lies in the queue itself.

mod hazards;
mod next;
mod sweep;
mod ticket;
mod waiter;

use std::fmt;
use std::ptr::{self, NonNull};
use std::task::{Poll, Waker};

use locksley_sys::primitive::{AtomicPtr, AtomicUsize, Ordering, const_unless_loom, fence};
use next::Next;
use waiter::{Claim, Status};

pub(crate) use hazards::Hazards;
pub(crate) use ticket::Ticket;
pub(crate) use waiter::{Outcome, Waiter, WaiterRef};

/// A queue of waiters.
pub(crate) struct WaitQueue {
    /// The node in front of the oldest waiter: completed or cancelled. Null stands for `sentinel`.
    head: AtomicPtr<Waiter>,
    /// The newest node, or one in front of it that another thread is about to replace. Null stands
    /// for `sentinel`.
    tail: AtomicPtr<Waiter>,
    /// The first head. With it an unused queue needs no allocation.
    sentinel: Waiter,
    /// Cancellations since the last sweep.
    cancelled: AtomicUsize,
    /// The number of cancellations at which the next sweep is due.
    sweep_at: AtomicUsize,
    #[cfg(loom)]
    domain: hazards::Domain,
}

/// The oldest waiter that was found neither completed nor cancelled.
pub(crate) struct Oldest<'h> {
    queue: &'h WaitQueue,
    /// They protect `head` and `node`.
    hazards: &'h Hazards<'h>,
    waiter: &'h Waiter,
    /// The same as `waiter`, with the right to free it.
    node: *mut Waiter,
    head: *mut Waiter,
    /// What was taken in front of this waiter.
    pub(crate) taken: usize,
}

impl Oldest<'_> {
    /// Number of permits, or the generation in which the wait began.
    pub(crate) fn amount(&self) -> usize {
        self.waiter.amount
    }

    /// Completes the wait, and wakes it. Returns `false` if it was completed or cancelled before.
    pub(crate) fn complete(self, outcome: Outcome) -> bool {
        let is_completed = self.waiter.complete(outcome);
        if is_completed {
            self.advance_head();
        }
        is_completed
    }

    /// Wakes a completed wait, unless another thread has; and moves the head onto this node.
    fn advance_head(self) {
        self.hazards.call(|| self.waiter.wake());
        self.waiter.taken_before.store(self.taken, Ordering::Relaxed);
        let (queue, from, to) = (self.queue, self.head, self.node);
        // SAFETY: protected since it was the head.
        let head = unsafe { queue.node(from) };
        // Release, as when `to` was linked. A plain store: nothing else is written here any more,
        // since `to` is not swept. The mark tells a sweep that nodes behind may have left, too.
        let marked = Next::Waiter { waiter: to, marked: true }.to_word();
        head.next.store(marked, Ordering::Release);
        // Acquire: the thread that linked `to` had seen the tail at `from`.
        if queue.tail.load(Ordering::Acquire) == from {
            // Otherwise the tail would point to a node that has left the queue.
            queue.help_tail(from, to);
        }
        // Release pairs with the acquire in `protect`: it publishes `taken_before`.
        let moved = queue.head.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
        if moved.is_ok() && !from.is_null() {
            queue.assert_not_tail(from);
            // SAFETY: this thread moved the head, and so owns the queue's reference. Head and tail
            // have both moved on.
            unsafe { self.hazards.unlinked(from) };
        }
    }
}

/// The result of [`WaitQueue::try_take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TryTake {
    Taken,
    /// There is not enough.
    TooFew,
    /// The counter of the head cannot count that much more.
    CounterFull,
    /// The head is not the newest node. All other waits may be completed.
    NotEmpty,
}

impl WaitQueue {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self {
                head: AtomicPtr::new(ptr::null_mut()),
                tail: AtomicPtr::new(ptr::null_mut()),
                sentinel: Waiter::sentinel(),
                cancelled: AtomicUsize::new(0),
                sweep_at: AtomicUsize::new(sweep::MIN_INTERVAL),
                #[cfg(loom)]
                domain: hazards::Domain::new(),
            }
        }
    }

    /// A queue with one waiter. Its node is not accessed.
    ///
    /// # Safety
    /// The caller owns a reference to the waiter, which is in no queue, and hands that reference
    /// over, unless it takes it back by [`forget_first`](Self::forget_first).
    pub(crate) unsafe fn with_first(waiter: NonNull<Waiter>) -> Self {
        let queue = Self::new();
        // Relaxed: the queue itself is published by release.
        queue.sentinel.next.store(waiter.as_ptr(), Ordering::Relaxed);
        queue.tail.store(waiter.as_ptr(), Ordering::Relaxed);
        queue
    }

    /// Drops a queue that no other thread knows. The reference to its first waiter is the caller's
    /// again.
    pub(crate) fn forget_first(self) {
        self.sentinel.next.store(Next::End { taken: 0 }.to_word(), Ordering::Relaxed);
        self.tail.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Links the node behind all others. The caller then serves the queue: a thread that gives
    /// something afterwards sees the node, or the caller sees what was given.
    pub(crate) fn enqueue(&self, ticket: &Ticket) {
        self.link(ticket.share());
        // Pairs with the fence between a change of what is waited for and `is_empty`.
        fence(Ordering::SeqCst);
    }

    /// Completes waits in the order of the queue, as `outcome` says, until it says `None`. Returns
    /// `true` if there is a waiter left.
    ///
    /// Any thread may do this at any time, several at once. A panic of a waker resumes at the end.
    pub(crate) fn serve(&self, outcome: impl Fn(&Oldest<'_>) -> Option<Outcome>) -> bool {
        let mut hazards = self.hazards();
        while let Some(oldest) = self.oldest(&mut hazards) {
            let Some(outcome) = outcome(&oldest) else { return true };
            // `false` means that another thread did it.
            oldest.complete(outcome);
        }
        false
    }

    /// Serves the waiters behind a cancelled one, as [`serve`](Self::serve) does.
    pub(crate) fn after_cancel(
        &self,
        ticket: &Ticket,
        outcome: impl Fn(&Oldest<'_>) -> Option<Outcome>,
    ) {
        self.serve(outcome);
        // If the node was skipped, it has left the queue.
        if matches!(ticket.status(), Status::Cancelled | Status::Swept) {
            self.note_cancelled();
        }
    }

    /// Cancels a wait for the end of a generation.
    ///
    /// # Errors
    /// The outcome, if the wait is already completed.
    pub(crate) fn cancel_generation(
        &self,
        ticket: &Ticket,
        current: impl Fn() -> usize,
    ) -> Result<(), Outcome> {
        ticket.cancel()?;
        self.after_cancel(ticket, past(current));
        Ok(())
    }

    /// Dismisses the waiters of past generations.
    ///
    /// It is enough to look at the oldest waiter: no waiter of a past generation is behind one of
    /// the current generation ([`poll_generation`](Self::poll_generation)).
    pub(crate) fn dismiss_past(&self, current: impl Fn() -> usize) {
        self.serve(past(current));
    }

    /// Waits until `generation` is over, or for a grant. `ticket` is empty at the first poll.
    pub(crate) fn poll_generation(
        &self,
        ticket: &mut Option<Ticket>,
        generation: usize,
        current: impl Fn() -> usize,
        waker: &Waker,
    ) -> Poll<Outcome> {
        if let Some(ticket) = ticket {
            return ticket.poll(waker);
        }
        let ticket = ticket.insert(Ticket::new(generation, waker));
        self.enqueue(ticket);
        // The thread that began the next generation may be suspended before it dismisses.
        self.dismiss_past(&current);
        // The node in front may be of a later generation. Then its thread's view of the generation
        // is visible here, by release and acquire of the link.
        if current() != generation {
            ticket.complete(Outcome::Dismissed);
        }
        ticket.outcome()
    }

    /// True if there is no waiter that was enqueued before the caller's last fence.
    pub(crate) fn is_empty(&self) -> bool {
        // Acquire pairs with the release that moved the tail: the head is seen as of then, or
        // later.
        let tail = self.tail.load(Ordering::Acquire);
        // If they are equal, the head had come to what was the newest node.
        self.head.load(Ordering::Relaxed) == tail
    }

    /// Takes `amount` without waiting, if the queue is empty and `allows` permits it. The argument
    /// of `allows` is what was taken so far.
    pub(crate) fn try_take(&self, amount: usize, allows: impl Fn(usize) -> bool) -> TryTake {
        let hazards = self.hazards();
        loop {
            let head = hazards.protect(0, &self.head);
            // SAFETY: protected while it was the head, which is in the queue.
            let head = unsafe { self.node(head) };
            // Acquire pairs with the release below: what allowed others to take is visible to
            // `allows`.
            let Next::End { taken } = head.next() else { return TryTake::NotEmpty };
            if !allows(head.taken_including().wrapping_add(taken)) {
                return TryTake::TooFew;
            }
            if amount > Next::MAX_TAKEN - taken {
                return TryTake::CounterFull;
            }
            // Acquire pairs with the release that gave. Release pairs with the acquire above.
            let changed = head.next.compare_exchange(
                Next::End { taken }.to_word(),
                Next::End { taken: taken + amount }.to_word(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            if changed.is_ok() {
                return TryTake::Taken;
            }
        }
    }

    fn link(&self, waiter: WaiterRef) {
        let hazards = self.hazards();
        loop {
            let tail = hazards.protect(0, &self.tail);
            // SAFETY: protected, and `tail` never points to a node that has left the queue.
            let last = unsafe { self.node(tail) };
            match last.next() {
                Next::Waiter { waiter, .. } => self.help_tail(tail, waiter),
                Next::End { taken } => {
                    waiter.taken_at_previous.store(taken, Ordering::Relaxed);
                    // Release pairs with the acquires of `next` and of `tail`, and publishes the
                    // node. Acquire: what was taken at `last` is seen.
                    let linked = last.next.compare_exchange(
                        Next::End { taken }.to_word(),
                        waiter.as_ptr().as_ptr(),
                        Ordering::AcqRel,
                        Ordering::Relaxed,
                    );
                    if linked.is_ok() {
                        self.help_tail(tail, waiter.into_raw().as_ptr());
                        return;
                    }
                }
            }
        }
    }

    /// The oldest waiter. The head moves over completed and cancelled nodes on the way, and wakes
    /// completed waits: the thread that completed them may be suspended.
    ///
    /// It begins with the sequentially consistent fence of the hazard pointers. Of a thread that
    /// enqueues or cancels, and a thread that gives, one sees what the other did.
    pub(crate) fn oldest<'h>(&'h self, hazards: &'h mut Hazards<'_>) -> Option<Oldest<'h>> {
        let hazards = &*hazards;
        loop {
            let head_pointer = hazards.protect(0, &self.head);
            // SAFETY: protected while it was the head, which is in the queue.
            let head = unsafe { self.node(head_pointer) };
            let Next::Waiter { waiter: node, .. } = head.next() else { return None };
            hazards.announce(1, node);
            let Next::Waiter { waiter: now, .. } = head.next() else {
                unreachable!("a node with a successor keeps one");
            };
            if now != node || self.head.load(Ordering::Acquire) != head_pointer {
                continue; // the node may have left before it was announced
            }
            // SAFETY: announced before it could leave the queue.
            let waiter = unsafe { &*node };
            let taken = waiter.taken_after(head);
            let oldest = Oldest { queue: self, hazards, waiter, node, head: head_pointer, taken };
            match waiter.status() {
                Status::Waiting => return Some(oldest),
                Status::Cancelled => waiter.claim(Claim::Skip),
                // SAFETY: announced before it could leave the queue.
                Status::Swept => unsafe { self.unlink(hazards, head, node) },
                Status::Completed(_) | Status::Skipped => oldest.advance_head(),
            }
        }
    }

    /// What was taken in front of the oldest waiter. If there is none: what was taken so far.
    pub(crate) fn taken(&self, hazards: &mut Hazards<'_>) -> usize {
        loop {
            if let Some(oldest) = self.oldest(hazards) {
                return oldest.taken;
            }
            let head = hazards.protect(0, &self.head);
            // SAFETY: protected while it was the head, which is in the queue.
            let head = unsafe { self.node(head) };
            if let Next::End { taken } = head.next() {
                return head.taken_including().wrapping_add(taken);
            }
        }
    }

    /// Number of nodes, with the head.
    ///
    /// # Safety
    /// No other thread uses the queue during the call.
    #[cfg(all(test, not(loom)))]
    pub(crate) unsafe fn node_count(&self) -> usize {
        let mut count = 1;
        // SAFETY: in the queue, where it stays during the call.
        let mut node = unsafe { self.node(self.head.load(Ordering::Acquire)) };
        while let Next::Waiter { waiter, .. } = node.next() {
            // SAFETY: as above.
            node = unsafe { &*waiter };
            count += 1;
        }
        count
    }

    /// Asserts, in models only, that no node is linked behind one that is about to be freed.
    fn assert_not_tail(&self, _node: *mut Waiter) {
        #[cfg(loom)]
        assert!(self.tail.load(Ordering::Relaxed) != _node, "the tail has left the queue");
    }

    fn help_tail(&self, from: *mut Waiter, to: *mut Waiter) {
        // Release pairs with the acquire in `protect`. If it fails, another thread has helped.
        let _ = self.tail.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// # Safety
    /// `node` is null, or protected by a hazard pointer since before it could leave the queue.
    unsafe fn node(&self, node: *mut Waiter) -> &Waiter {
        // SAFETY: as the caller promises.
        unsafe { node.as_ref() }.unwrap_or(&self.sentinel)
    }
}

/// Dismisses waiters of past generations.
fn past(current: impl Fn() -> usize) -> impl Fn(&Oldest<'_>) -> Option<Outcome> {
    move |oldest| (oldest.amount() != current()).then_some(Outcome::Dismissed)
}

impl Drop for WaitQueue {
    fn drop(&mut self) {
        let mut node = self.head.load(Ordering::Acquire);
        loop {
            // SAFETY: `&mut self`: no thread takes it out of the queue.
            let next = unsafe { self.node(node) }.next();
            if let Some(node) = NonNull::new(node) {
                // SAFETY: the node is in the queue, which owns a reference.
                drop(unsafe { WaiterRef::from_raw(node) });
            }
            let Next::Waiter { waiter, .. } = next else { return };
            node = waiter;
        }
    }
}

impl fmt::Debug for WaitQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitQueue").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}
