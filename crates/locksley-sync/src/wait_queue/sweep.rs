//! Unlinking cancelled nodes from the middle of the queue.
//!
//! The head moves over cancelled nodes when it comes to them. If the oldest waiter waits for long,
//! cancelled nodes behind it (timeouts, for example) would otherwise accumulate.

use super::WaitQueue;
use super::next::Next;
use super::waiter::{Claim, Status, Waiter};
use locksley_sys::primitive::Ordering;
use locksley_sys::primitive::hazard::Holder;

/// Minimum number of cancellations between two sweeps.
pub(super) const MIN_INTERVAL: usize = if cfg!(any(loom, test)) { 1 } else { 32 };

impl WaitQueue {
    /// Counts a cancellation, and sweeps after as many of them as there were waiters at the last
    /// sweep. So each cancellation pays for a bounded number of nodes.
    pub(super) fn note_cancelled(&self) {
        // Relaxed: the numbers decide about cost only.
        let cancelled = self.cancelled.fetch_add(1, Ordering::Relaxed) + 1;
        if cancelled < self.sweep_at.load(Ordering::Relaxed) {
            return;
        }
        self.cancelled.store(0, Ordering::Relaxed);
        let remaining = self.sweep();
        self.sweep_at.store(remaining.max(MIN_INTERVAL), Ordering::Relaxed);
    }

    /// Unlinks cancelled nodes. Two of them stay: the newest node, and the first if something was
    /// taken without waiting at the node in front. Returns the number of nodes that stay.
    fn sweep(&self) -> usize {
        let mut hazards = self.hazards();
        'from_the_head: loop {
            // A thread that is suspended while it moves the head must not block the sweep.
            self.oldest(&mut hazards);
            let mut remaining = 0;
            let (mut previous_slot, mut next_slot) = (0, 1);
            let head = hazards.protect(previous_slot, &self.head);
            // SAFETY: protected while it was the head, which is in the queue.
            let mut previous = unsafe { self.node(head) };
            loop {
                let next = previous.next();
                let Next::Waiter { waiter: node, marked } = next else { return remaining };
                if marked {
                    continue 'from_the_head; // `previous` has left, and `node` may have
                }
                hazards.announce(next_slot, node);
                if previous.next() != next {
                    continue;
                }
                // SAFETY: announced before it could leave: `previous` was unmarked afterwards.
                let waiter = unsafe { &*node };
                // A first node that alone knows what was taken at the head is left to `oldest`.
                if waiter.status() == Status::Cancelled
                    && matches!(waiter.next(), Next::Waiter { .. })
                    && waiter.taken_at_previous.load(Ordering::Relaxed) == 0
                {
                    waiter.claim(Claim::Sweep);
                }
                if waiter.status() == Status::Swept {
                    // SAFETY: as above.
                    unsafe { self.unlink(&hazards, previous, node) };
                    continue;
                }
                remaining += 1;
                previous = waiter;
                std::mem::swap(&mut previous_slot, &mut next_slot);
            }
        }
    }

    /// Unlinks a node that is claimed for sweeping, unless another thread does.
    ///
    /// # Safety
    /// A hazard pointer of the caller protects `node` since before it could leave the queue.
    pub(super) unsafe fn unlink(
        &self,
        hazards: &Holder<'_, Waiter>,
        previous: &Waiter,
        node: *mut Waiter,
    ) {
        // SAFETY: as the caller promises.
        let next = unsafe { &*node }.mark_next();
        // As in `advance_head`.
        if self.tail.load(Ordering::Acquire) == node {
            self.help_tail(node, next);
        }
        // Release pairs with the acquires of `next`. If it fails, another thread has unlinked the
        // node, or `previous` is marked, and then a later walk finds the node behind another.
        let unlinked =
            previous.next.compare_exchange(node, next, Ordering::AcqRel, Ordering::Relaxed);
        if unlinked.is_ok() {
            self.assert_not_tail(node);
            // SAFETY: this thread unlinked the node, and so owns the queue's reference. Neither
            // head nor tail points to it or will: the head does not move onto a swept node.
            unsafe { hazards.unlinked(node) };
        }
    }
}

impl Waiter {
    /// Makes the link of a swept node constant, and returns the next node. A thread that would
    /// unlink that one here fails, and retries behind another node.
    fn mark_next(&self) -> *mut Waiter {
        loop {
            let Next::Waiter { waiter, marked } = self.next() else {
                unreachable!("the newest node is not swept");
            };
            let new = Next::Waiter { waiter, marked: true }.to_word();
            // AcqRel: as when the next node was linked.
            let change =
                || self.next.compare_exchange(waiter, new, Ordering::AcqRel, Ordering::Acquire);
            if marked || change().is_ok() {
                return waiter;
            }
        }
    }
}
