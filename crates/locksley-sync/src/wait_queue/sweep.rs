//! Unlinking cancelled nodes from the middle of the queue.
//!
//! The head skips cancelled nodes when it reaches them. Without sweeps, cancelled nodes (timeouts,
//! for example) would accumulate behind an oldest waiter that waits for long.

use super::WaitQueue;
use super::next::Next;
use super::waiter::{Claim, Status, Waiter};
use locksley_sys::primitive::Ordering;
use locksley_sys::primitive::hazard::Holder;

/// Minimum number of cancellations between two sweeps.
pub(super) const MIN_INTERVAL: usize = if cfg!(any(loom, test)) { 1 } else { 32 };

impl WaitQueue {
    /// Counts a cancellation. Sweeps if there were as many cancellations as the last sweep has left
    /// nodes. So the cost of a sweep is constant for each cancellation.
    pub(super) fn count_cancelled(&self) {
        // Relaxed: these numbers decide only about cost.
        let cancelled = self.cancelled_since_sweep.fetch_add(1, Ordering::Relaxed) + 1;
        if cancelled < self.sweep_threshold.load(Ordering::Relaxed) {
            return;
        }
        self.cancelled_since_sweep.store(0, Ordering::Relaxed);
        let remaining = self.sweep();
        self.sweep_threshold.store(remaining.max(MIN_INTERVAL), Ordering::Relaxed);
    }

    /// Unlinks cancelled nodes, except the newest node, and a first node whose `taken_at_previous`
    /// is not 0. Returns the number of nodes that stay.
    fn sweep(&self) -> usize {
        let mut hazards = self.hazards();
        'from_the_head: loop {
            // A thread that is suspended while it moves the head must not block the sweep.
            self.oldest(&mut hazards);
            let mut remaining = 0;
            let (mut previous_slot, mut next_slot) = (0, 1);
            // SAFETY: the slot is used again only when `previous` is another node.
            let (_, mut previous) = unsafe { self.protect_head(&hazards, previous_slot) };
            loop {
                let next = previous.next();
                let Next::Waiter { waiter: node, marked } = next else { return remaining };
                if marked {
                    continue 'from_the_head; // `previous` has left, and `node` may have
                }
                hazards.protect_raw(next_slot, node);
                if previous.next() != next {
                    continue;
                }
                // SAFETY: protected before it could leave: `previous` was unmarked afterwards.
                let waiter = unsafe { &*node };
                // The number in `taken_at_previous` is nowhere else. Relaxed: the acquire in `next`
                // made it visible.
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
        // As in `wake_and_advance_head`.
        if self.tail.load(Ordering::Acquire) == node {
            self.help_tail(node, next);
        }
        // Release pairs with the acquire in `next`. Acquire pairs with the release of an earlier
        // change of this link. On failure, another thread has unlinked the node, or `previous` is
        // marked. Then a later walk finds the node behind another one.
        let unlinked =
            previous.next.compare_exchange(node, next, Ordering::AcqRel, Ordering::Relaxed);
        if unlinked.is_ok() {
            self.assert_not_tail(node);
            // SAFETY: this thread unlinked the node, and so owns the queue's reference. Neither
            // head nor tail points to it or will: the head does not move onto a swept node.
            unsafe { hazards.retire(node) };
        }
    }
}

impl Waiter {
    /// Makes the link of a swept node constant, and returns the next node. A thread that tries to
    /// unlink the next node behind this one fails, and retries behind another node.
    fn mark_next(&self) -> *mut Waiter {
        loop {
            let Next::Waiter { waiter, marked } = self.next() else {
                unreachable!("the newest node is not swept");
            };
            let new = Next::Waiter { waiter, marked: true }.to_word();
            if marked {
                return waiter;
            }
            // Release pairs with the acquire in `next`, as the release that linked `waiter`.
            // Acquire pairs with that release.
            let exchanged =
                self.next.compare_exchange(waiter, new, Ordering::AcqRel, Ordering::Acquire);
            if exchanged.is_ok() {
                return waiter;
            }
        }
    }
}
