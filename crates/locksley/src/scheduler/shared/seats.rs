//! Who sits where, and what lies there.

use super::Shared;
use crate::deque::Closed;
use crate::os;
use crate::primitive::{CachePadded, Ordering};
use crate::scheduler::Seat;
use crate::scheduler::latch::Flag;

impl Shared {
    pub(crate) fn seat(&self, seat: usize) -> &Seat {
        &self.seats[seat]
    }

    /// Behind so many seats nobody has ever sat. Exact for those who pushed before the caller's last fence.
    pub(crate) fn seats_taken(&self) -> usize {
        self.seats_taken.load(Ordering::Relaxed)
    }

    /// Somebody is going to sit there, who does not push before this.
    pub(crate) fn takes_seat(&self, seat: usize) {
        let mut taken = self.seats_taken();
        while taken <= seat {
            // Relaxed: whoever looks for what that one pushed has a fence between, as it has (`../../sleep/README.md`).
            match self.seats_taken.compare_exchange(
                taken,
                seat + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => taken = now,
            }
        }
    }

    pub(crate) fn taken(&self) -> &[CachePadded<Seat>] {
        &self.seats[..self.seats_taken()]
    }

    /// Whether `done` is what who sits there works until, and not the end of some task.
    pub(crate) fn is_end_of_service(&self, seat: usize, done: &Flag) -> bool {
        let end = match seat.checked_sub(self.workers) {
            None => &self.closed,
            Some(stand_in) => self.stand_ins.is_released(stand_in),
        };
        std::ptr::eq(done, end)
    }

    /// Whether any worker could take something now. Exact for what was pushed or sent before the caller's last fence.
    pub(crate) fn is_work_left(&self) -> bool {
        let is_left =
            |seat: &CachePadded<Seat>| !seat.deque().is_empty() || !seat.inbox().is_empty();
        self.taken().iter().any(is_left)
            || !self.inbox.is_empty()
            || self.quarters().iter().any(|quarter| !quarter.inbox().is_empty())
    }

    /// Has the deques opened that their owners have closed, so that what was pushed to them is seen and what will be
    /// pushed is pushed openly. `scratch` is empty before and after.
    pub(crate) fn open_deques(&self, scratch: &mut Vec<(usize, Closed)>) {
        let closed =
            |(worker, seat): (usize, &CachePadded<Seat>)| Some((worker, seat.deque().ask()?));
        scratch.extend(self.taken().iter().enumerate().filter_map(closed));
        // Where the barrier fails, the owners are asked all the same, and open with their next push or pop.
        let may_open = !scratch.is_empty() && os::heavy_barrier();
        for (worker, closed) in scratch.drain(..) {
            if may_open {
                self.seats[worker].deque().open(closed);
            }
        }
    }
}
