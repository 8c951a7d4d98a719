//! Fork-join with rayon: the rows of each step are halved down to a leaf.

use super::kernel::{leaf_rows, relax_rows};
use super::{Grids, Plate};

/// All steps, each in parallel.
pub(super) fn spread(grids: &mut Grids, plate: &Plate) {
    for _ in 0..plate.steps {
        relax(&grids.now, &mut grids.next, 0, plate);
        grids.swap();
    }
}

fn relax(now: &[f64], next: &mut [f64], first: usize, plate: &Plate) {
    let rows = next.len() / plate.columns;
    if rows <= leaf_rows(plate) {
        return relax_rows(now, next, first, plate);
    }
    let half = rows / 2;
    let (upper, lower) = next.split_at_mut(half * plate.columns);
    rayon::join(|| relax(now, upper, first, plate), || relax(now, lower, first + half, plate));
}
