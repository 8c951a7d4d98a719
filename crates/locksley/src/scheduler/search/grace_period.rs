//! The grace period: a thief leaves the only task of a worker alone if that probably runs it next.

use std::time::Duration;

use crate::primitive::{Instant, spin_loop};
use crate::scheduler::Slot;

/// About the cost of a hand-over; longer than most polls that wake one task.
const GRACE_PERIOD: Duration = Duration::from_micros(2);

/// Returns true if the thief leaves the worker in `slot` alone. If the worker has one task only,
/// which its present task made ready, the thief waits for the grace period. If there is another
/// such task then, the worker makes progress by itself.
pub(super) fn leave_to_owner(slot: &Slot) -> bool {
    let Some(next) = slot.lone_next_task() else { return false };
    let since = Instant::now();
    while since.elapsed() < GRACE_PERIOD {
        spin_loop();
    }
    slot.lone_next_task().is_some_and(|now| now != next)
}
