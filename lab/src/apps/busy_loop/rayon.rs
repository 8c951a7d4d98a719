//! Fork-join with rayon: the tasks are halved down to one.

use super::serial;

/// Runs a task for each place.
pub(super) fn run(steps: u64, ends: &mut [u64]) {
    if ends.len() <= 1 {
        return serial::run(steps, ends);
    }
    let (left, right) = ends.split_at_mut(ends.len() / 2);
    rayon::join(|| run(steps, left), || run(steps, right));
}
