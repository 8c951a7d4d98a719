//! Fork-join on an explicit Locksley worker: the rows of each step are halved down to a leaf.

use locksley::Worker;

use super::kernel::{leaf_rows, relax_rows};
use super::{Grids, Plate};

/// All steps, each in parallel.
pub(super) fn spread(worker: &Worker, grids: &mut Grids, plate: &Plate) {
    for _ in 0..plate.steps {
        relax(worker, &grids.now, &mut grids.next, 0, plate);
        grids.swap();
    }
}

fn relax(worker: &Worker, now: &[f64], next: &mut [f64], first: usize, plate: &Plate) {
    let rows = next.len() / plate.columns;
    if rows <= leaf_rows(plate) {
        return relax_rows(now, next, first, plate);
    }
    let half = rows / 2;
    let (upper, lower) = next.split_at_mut(half * plate.columns);
    worker.join(
        |worker| relax(worker, now, upper, first, plate),
        |worker| relax(worker, now, lower, first + half, plate),
    );
}
