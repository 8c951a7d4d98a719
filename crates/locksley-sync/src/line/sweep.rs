//! Taking out those who left in the middle of the line.
//!
//! The head passes by them when it comes to them. But where the oldest waits for long, and many
//! behind it come and leave (a time limit, say), they must not pile up.

use super::Waiters;
use super::waiter::{Next, Phase, Waiter};
use locksley_sys::primitive::Ordering;
use locksley_sys::primitive::hazard::Holder;

/// How many must at least have left before it is worth to sweep.
pub(super) const LEAST: usize = if cfg!(any(loom, test)) { 1 } else { 32 };

impl Waiters {
    /// One has left. Every so often this takes all out that have: after as many as then were found
    /// waiting, so that each one who leaves or comes pays for a bounded number of places.
    pub(super) fn note_left(&self) {
        // Relaxed: a matter of cost only.
        if self.left.fetch_add(1, Ordering::Relaxed) + 1 < self.sweep_at.load(Ordering::Relaxed) {
            return;
        }
        self.left.store(0, Ordering::Relaxed);
        let stay = self.sweep();
        self.sweep_at.store(stay.max(LEAST), Ordering::Relaxed);
    }

    /// Takes out those who have left, except for the newest place, and the first if something was
    /// taken at the one before without waiting. Returns how many it saw stay.
    fn sweep(&self) -> usize {
        let mut hazards = self.hold();
        'from_the_head: loop {
            // Who is held up while it passes by somebody must not hold us up.
            self.oldest(&mut hazards);
            let mut stay = 0;
            // The slot of `before`, and the one for the place after it.
            let (mut mine, mut other) = (0, 1);
            let head = hazards.protect(mine, &self.head);
            // SAFETY: protected while it was the head, which is in line.
            let mut before = unsafe { self.place(head) };
            loop {
                // Acquire pairs with the release in `link`.
                let word = before.next().load(Ordering::Acquire);
                let Next::Waiter { waiter: next, leaving } = Next::of(word) else { return stay };
                if leaving {
                    continue 'from_the_head; // it has left, and so may what comes after
                }
                hazards.announce(other, next);
                if before.next().load(Ordering::Acquire) != word {
                    continue;
                }
                // SAFETY: announced before it could leave: `before`, which comes first, was not
                // leaving then.
                let waiter = unsafe { &*next };
                // The oldest may have left since we looked at it. If it alone knows what was taken
                // at the head, it is left to those who pass by.
                if waiter.phase() == Phase::Left
                    && waiter.has_successor()
                    && waiter.passed_before() == 0
                {
                    waiter.claim(Phase::Swept);
                }
                if waiter.phase() == Phase::Swept {
                    // SAFETY: as above.
                    unsafe { self.bypass(&hazards, before, next) };
                    continue;
                }
                stay += 1;
                before = waiter;
                std::mem::swap(&mut mine, &mut other);
            }
        }
    }

    /// Takes a place out that is to be swept, unless somebody else does.
    ///
    /// # Safety
    /// The caller protects it, from before it could leave the line.
    pub(super) unsafe fn bypass(
        &self,
        hazards: &Holder<'_, Waiter>,
        before: &Waiter,
        place: *mut Waiter,
    ) {
        // SAFETY: as the caller promises.
        let next = unsafe { &*place }.fix_successor();
        // As in `pass`.
        if self.tail.load(Ordering::Acquire) == place {
            self.help_tail(place, next);
        }
        let onward = Next::Waiter { waiter: next, leaving: false }.word();
        // Release pairs with the acquires of `next`. Failure: somebody else did it, or `before` is
        // leaving, and then the place is found after another.
        let unlinked =
            before.next().compare_exchange(place, onward, Ordering::AcqRel, Ordering::Relaxed);
        if unlinked.is_ok() {
            self.must_not_be_tail(place);
            // SAFETY: the line's right to it. Neither head nor tail points to it, nor will: the
            // head does not go to a place that is to be swept. We unlinked it.
            unsafe { hazards.unlinked(place) };
        }
    }
}

impl Waiter {
    fn has_successor(&self) -> bool {
        matches!(Next::of(self.next().load(Ordering::Acquire)), Next::Waiter { .. })
    }

    /// What comes after a place that is to be swept, from now on unchangeably: who wanted to take
    /// that out here must do it behind another place.
    fn fix_successor(&self) -> *mut Waiter {
        let mut word = self.next().load(Ordering::Acquire);
        loop {
            let Next::Waiter { waiter, leaving } = Next::of(word) else {
                unreachable!("it is swept because it has a successor");
            };
            if leaving {
                return waiter;
            }
            let fixed = Next::Waiter { waiter, leaving: true }.word();
            // AcqRel: as the word was when it was linked, for us and for who reads it next.
            match self.next().compare_exchange(word, fixed, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return waiter,
                Err(now) => word = now,
            }
        }
    }
}
