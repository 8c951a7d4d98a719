//! The wait queue: first in, first out, cancellable, and lock-free.
//!
//! Michael and Scott's queue (PODC 1996, figure 1) with hazard pointers. `../README.md` explains
//! four differences, one of which is from Michael's list (SPAA 2002).
//!
//! | term | meaning |
//! |---|---|
//! | complete | end a wait: *grant* what it waits for, or *dismiss* it without |
//! | serve | complete waits in the order of the queue, as far as possible |
//! | take | take permits: by a grant, or without waiting ([`WaitQueue::try_take`]) |
//! | skip, sweep | remove a cancelled node: by moving the head over it, or from the middle |

mod hazards;
mod next;
mod sweep;
mod ticket;
mod waiter;

use std::fmt;
use std::ptr::{self, NonNull};
use std::task::{Poll, Waker};

use locksley_sys::primitive::hazard::Holder;
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
    cancelled_since_sweep: AtomicUsize,
    /// The number of cancellations at which the next sweep is due.
    sweep_threshold: AtomicUsize,
    #[cfg(loom)]
    domain: hazards::Domain,
}

/// The first waiter behind the head. When [`WaitQueue::oldest`] returns it, the wait was neither
/// completed nor cancelled a moment ago.
pub(crate) struct Oldest<'h> {
    queue: &'h WaitQueue,
    /// They protect `head_ptr` and `waiter_ptr`.
    hazards: &'h Hazards<'h>,
    waiter: &'h Waiter,
    /// The same node as `waiter`, by a pointer from which it may be freed.
    waiter_ptr: *mut Waiter,
    head_ptr: *mut Waiter,
    /// All that was taken in front of this waiter since the queue was made. It wraps.
    pub(crate) taken: usize,
}

impl Oldest<'_> {
    /// The number of permits, or the generation in which the wait began.
    pub(crate) fn key(&self) -> usize {
        self.waiter.key
    }

    /// Completes the wait, and wakes its task. Returns `false` if the wait was already completed or
    /// cancelled.
    pub(crate) fn complete(self, outcome: Outcome) -> bool {
        let is_completed = self.waiter.complete(outcome);
        if is_completed {
            self.wake_and_advance_head();
        }
        is_completed
    }

    /// Moves the head onto this node, which is completed or skipped. Before that, wakes a completed
    /// wait, unless another thread has done so.
    fn wake_and_advance_head(self) {
        self.hazards.call_waker(|| self.waiter.wake());
        // Relaxed: published by the exchange of the head below.
        self.waiter.taken_before.store(self.taken, Ordering::Relaxed);
        let (queue, from, to) = (self.queue, self.head_ptr, self.waiter_ptr);
        // SAFETY: protected since it was the head.
        let head = unsafe { queue.node(from) };
        // The mark tells a sweep that the head leaves the queue. A plain store is enough: only a
        // sweep of `to` would change this link, and a completed or skipped node is never swept.
        // Release pairs with the acquire in `next`.
        let marked = Next::Waiter { waiter: to, marked: true }.to_word();
        head.next.store(marked, Ordering::Release);
        // Acquire pairs with the release in `help_tail`. The thread that linked `to` has read
        // `from` in the tail, so this load does not find an older node there.
        if queue.tail.load(Ordering::Acquire) == from {
            // The tail must not point to a node that has left the queue.
            queue.help_tail(from, to);
        }
        // Release pairs with the acquire in `protect`, and publishes `taken_before`. Acquire pairs
        // with the release of the thread that moved the head onto `from`.
        let moved = queue.head.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
        if moved.is_ok() && !from.is_null() {
            queue.assert_not_tail(from);
            // SAFETY: this thread moved the head, and so owns the queue's reference. Head and tail
            // have both moved on.
            unsafe { self.hazards.retire(from) };
        }
    }
}

/// The result of [`WaitQueue::try_take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TryTake {
    Taken,
    /// The queue is empty, and `allows` has returned `false`.
    Insufficient,
    /// The counter of the head would overflow.
    CounterFull,
    /// There are nodes behind the head. Their waits may all be completed or cancelled.
    NotEmpty,
}

impl WaitQueue {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self {
                head: AtomicPtr::new(ptr::null_mut()),
                tail: AtomicPtr::new(ptr::null_mut()),
                sentinel: Waiter::sentinel(),
                cancelled_since_sweep: AtomicUsize::new(0),
                sweep_threshold: AtomicUsize::new(sweep::MIN_INTERVAL),
                #[cfg(loom)]
                domain: hazards::Domain::new(),
            }
        }
    }

    /// A queue with one waiter. Its node is not accessed.
    ///
    /// # Safety
    /// The caller owns a reference to the waiter, which is in no queue, and hands that reference
    /// over, unless it takes it back by [`drop_unpublished`](Self::drop_unpublished).
    pub(crate) unsafe fn with_first(waiter: NonNull<Waiter>) -> Self {
        let queue = Self::new();
        // Relaxed: the queue itself is published by release.
        queue.sentinel.next.store(waiter.as_ptr(), Ordering::Relaxed);
        queue.tail.store(waiter.as_ptr(), Ordering::Relaxed);
        queue
    }

    /// Drops a queue that no other thread knows. The caller owns the reference to the first waiter
    /// again.
    pub(crate) fn drop_unpublished(self) {
        self.sentinel.next.store(Next::End { taken: 0 }.to_word(), Ordering::Relaxed);
        self.tail.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Links the node behind all others. The caller must serve the queue afterwards.
    pub(crate) fn enqueue(&self, ticket: &Ticket) {
        self.link(ticket.share());
        // Pairs with the fence of a thread that adds permits, or begins a generation, and then
        // looks at the queue. Either that thread sees the node, or the caller sees the change.
        fence(Ordering::SeqCst);
    }

    /// Completes waits in the order of the queue until `decide` returns `None`. Returns `true` if
    /// there is a waiter left.
    ///
    /// Several threads may serve at the same time. A panic of a waker resumes at the end.
    pub(crate) fn serve(&self, decide: impl Fn(&Oldest<'_>) -> Option<Outcome>) -> bool {
        let mut hazards = self.hazards();
        while let Some(oldest) = self.oldest(&mut hazards) {
            let Some(outcome) = decide(&oldest) else { return true };
            // `false` means that another thread has completed or cancelled the wait.
            oldest.complete(outcome);
        }
        false
    }

    /// Serves the waiters behind a cancelled one, as [`serve`](Self::serve) does.
    pub(crate) fn serve_after_cancel(
        &self,
        ticket: &Ticket,
        decide: impl Fn(&Oldest<'_>) -> Option<Outcome>,
    ) {
        self.serve(decide);
        // A skipped node needs no sweep.
        if matches!(ticket.status(), Status::Cancelled | Status::Swept) {
            self.count_cancelled();
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
        self.serve_after_cancel(ticket, dismiss_if_past(current));
        Ok(())
    }

    /// Dismisses the waiters of past generations.
    ///
    /// This ends at the first waiter of the current generation: no waiter of a past generation is
    /// behind it ([`poll_generation`](Self::poll_generation)).
    pub(crate) fn dismiss_past(&self, current: impl Fn() -> usize) {
        self.serve(dismiss_if_past(current));
    }

    /// Waits until `generation` is over, or for a grant. `ticket` is `None` at the first poll.
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
        // If the wait in front has begun in a later generation, its thread has read that generation
        // before it linked the node. Release and acquire of the link make it visible here.
        if current() != generation {
            ticket.complete(Outcome::Dismissed);
        }
        ticket.outcome()
    }

    /// True if the queue has no waiter that was enqueued before the caller's last fence.
    pub(crate) fn is_empty(&self) -> bool {
        // Acquire pairs with the release in `help_tail`, so the load of the head is not older.
        let tail = self.tail.load(Ordering::Acquire);
        // If they are equal, the head has reached the node that was the newest.
        self.head.load(Ordering::Relaxed) == tail
    }

    /// Takes `permits` without waiting, if the queue is empty and `allows` returns `true`. The
    /// argument of `allows` is the number of permits that were taken so far.
    pub(crate) fn try_take(&self, permits: usize, allows: impl Fn(usize) -> bool) -> TryTake {
        let hazards = self.hazards();
        loop {
            // SAFETY: the slot is used again only in the next round.
            let (_, head) = unsafe { self.protect_head(&hazards, 0) };
            // Acquire (in `next`) pairs with the release below: the supply that allowed others to
            // take is visible to `allows`.
            let Next::End { taken } = head.next() else { return TryTake::NotEmpty };
            if !allows(head.taken_through().wrapping_add(taken)) {
                return TryTake::Insufficient;
            }
            if permits > Next::MAX_TAKEN - taken {
                return TryTake::CounterFull;
            }
            // Release pairs with the acquire in `next`. Acquire pairs with the release of this
            // exchange in other threads.
            let changed = head.next.compare_exchange(
                Next::End { taken }.to_word(),
                Next::End { taken: taken + permits }.to_word(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            if changed.is_ok() {
                return TryTake::Taken;
            }
        }
    }

    fn link(&self, new: WaiterRef) {
        let hazards = self.hazards();
        loop {
            let tail_ptr = hazards.protect(0, &self.tail);
            // SAFETY: protected, and `tail` never points to a node that has left the queue.
            let tail = unsafe { self.node(tail_ptr) };
            match tail.next() {
                Next::Waiter { waiter, .. } => self.help_tail(tail_ptr, waiter),
                Next::End { taken } => {
                    // Relaxed: published by the exchange below.
                    new.taken_at_previous.store(taken, Ordering::Relaxed);
                    // Release pairs with the acquire in `next`, and publishes the node. Acquire
                    // pairs with the release in `try_take`.
                    let linked = tail.next.compare_exchange(
                        Next::End { taken }.to_word(),
                        new.as_ptr().as_ptr(),
                        Ordering::AcqRel,
                        Ordering::Relaxed,
                    );
                    if linked.is_ok() {
                        self.help_tail(tail_ptr, new.into_raw().as_ptr());
                        return;
                    }
                }
            }
        }
    }

    /// Finds the oldest waiter. Moves the head over completed and cancelled nodes, and wakes
    /// completed waits: the thread that has completed them may be suspended.
    ///
    /// Begins with the sequentially consistent fence in `protect`. If one thread enqueues or
    /// cancels, and another adds permits or begins a generation, at least one of the two sees the
    /// other's change. `hazards` is borrowed mutably, because both of its slots are in use until
    /// the result is dropped.
    pub(crate) fn oldest<'h>(&'h self, hazards: &'h mut Hazards<'_>) -> Option<Oldest<'h>> {
        let hazards = &*hazards;
        loop {
            // SAFETY: the slot is used again only in the next round.
            let (head_ptr, head) = unsafe { self.protect_head(hazards, 0) };
            let Next::Waiter { waiter: waiter_ptr, .. } = head.next() else { return None };
            hazards.protect_raw(1, waiter_ptr);
            let Next::Waiter { waiter: now, .. } = head.next() else {
                unreachable!("a node with a successor keeps one");
            };
            // Acquire pairs with the release in `wake_and_advance_head`.
            if now != waiter_ptr || self.head.load(Ordering::Acquire) != head_ptr {
                continue; // the node may have left before it was protected
            }
            // SAFETY: protected before it could leave the queue.
            let waiter = unsafe { &*waiter_ptr };
            let taken = waiter.taken_in_front(head);
            let oldest = Oldest { queue: self, hazards, waiter, waiter_ptr, head_ptr, taken };
            match waiter.status() {
                Status::Waiting => return Some(oldest),
                Status::Cancelled => waiter.claim(Claim::Skip),
                // SAFETY: protected before it could leave the queue.
                Status::Swept => unsafe { self.unlink(hazards, head, waiter_ptr) },
                Status::Completed(_) | Status::Skipped => oldest.wake_and_advance_head(),
            }
        }
    }

    /// The number of permits that were taken in front of the oldest waiter or, if the queue is
    /// empty, so far.
    pub(crate) fn taken(&self, hazards: &mut Hazards<'_>) -> usize {
        loop {
            if let Some(oldest) = self.oldest(hazards) {
                return oldest.taken;
            }
            // SAFETY: the slot is used again only in the next round.
            let (_, head) = unsafe { self.protect_head(hazards, 0) };
            if let Next::End { taken } = head.next() {
                return head.taken_through().wrapping_add(taken);
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

    /// Moves the tail from one node to the next, unless another thread has done so.
    fn help_tail(&self, from: *mut Waiter, to: *mut Waiter) {
        // Release pairs with the acquires of the tail, in `protect` and elsewhere. Acquire pairs
        // with the release of earlier moves.
        let _ = self.tail.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Protects the head in `slot`.
    ///
    /// # Safety
    /// The caller does not use the reference after `slot` is used again, or `hazards` is dropped.
    unsafe fn protect_head<'n>(
        &'n self,
        hazards: &Holder<'_, Waiter>,
        slot: usize,
    ) -> (*mut Waiter, &'n Waiter) {
        let head = hazards.protect(slot, &self.head);
        // SAFETY: protected while it was the head, which is in the queue.
        (head, unsafe { self.node(head) })
    }

    /// # Safety
    /// `node` is null, or protected by a hazard pointer since before it could leave the queue.
    unsafe fn node(&self, node: *mut Waiter) -> &Waiter {
        // SAFETY: as the caller promises.
        unsafe { node.as_ref() }.unwrap_or(&self.sentinel)
    }
}

fn dismiss_if_past(current: impl Fn() -> usize) -> impl Fn(&Oldest<'_>) -> Option<Outcome> {
    move |oldest| (oldest.key() != current()).then_some(Outcome::Dismissed)
}

impl Drop for WaitQueue {
    fn drop(&mut self) {
        let mut node = self.head.load(Ordering::Acquire);
        loop {
            // SAFETY: the node is in the queue: `&mut self` excludes other threads.
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
