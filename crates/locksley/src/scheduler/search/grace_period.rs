//! What a thief leaves alone for a moment: the only task of a worker that probably runs it next.

use std::time::{Duration, Instant};

use crate::primitive::spin_loop;
use crate::scheduler::Slot;

/// What it costs to hand a task over, and more than most polls take that wake one.
const MOMENT: Duration = Duration::from_micros(2);

/// Whether the thief passes by. If the worker there has one task only, which became ready through the one that it runs, the
/// thief waits for a moment; if there is such a task again then, but another one, the worker gets on by itself.
pub(super) fn passes_by(slot: &Slot) -> bool {
    let Some(next) = slot.is_about_to_run() else { return false };
    let since = Instant::now();
    while since.elapsed() < MOMENT {
        spin_loop();
    }
    slot.is_about_to_run().is_some_and(|now| now != next)
}
