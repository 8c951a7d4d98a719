//! The serial program.

use super::kernel::relax_rows;
use super::{Grids, Plate};

/// All steps, one after the other.
pub(super) fn spread(grids: &mut Grids, plate: &Plate) {
    for _ in 0..plate.steps {
        relax_rows(&grids.now, &mut grids.next, 0, plate);
        grids.swap();
    }
}
