//! Fork-join on an explicit Locksley worker: the tasks are halved down to one.

use locksley::Worker;

use super::serial;

/// Runs a task for each place.
pub(super) fn run(worker: &Worker, steps: u64, ends: &mut [u64]) {
    if ends.len() <= 1 {
        return serial::run(steps, ends);
    }
    let (left, right) = ends.split_at_mut(ends.len() / 2);
    worker.join(|worker| run(worker, steps, left), |worker| run(worker, steps, right));
}
