//! Fork-join of either library, or serial: the rows of each step are halved down to a leaf.

use super::kernel::{leaf_rows, relax_rows};
use super::{Grids, Plate};
use crate::fork::{Fork, Rows};

/// All steps, each in parallel.
pub(super) fn spread(fork: &impl Fork, grids: &mut Grids, plate: &Plate) {
    let rows = Rows { of: plate.columns, leaf: leaf_rows(plate) };
    for _ in 0..plate.steps {
        let Grids { now, next } = grids;
        rows.halve(fork, next, |first, next| relax_rows(now, next, first, plate));
        grids.swap();
    }
}
