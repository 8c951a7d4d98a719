//! What every version does to a row, and how finely the parallel ones divide.

use super::Plate;

/// Points of a leaf: about five microseconds of work, and enough leaves for any number of workers.
const LEAF_POINTS: usize = 8192;

/// The rows of a leaf.
pub(super) fn leaf_rows(plate: &Plate) -> usize {
    (LEAF_POINTS / plate.columns).max(1)
}

/// Computes the rows of `next`, the first of which is row `first` of the plate, from the whole plate `now`.
pub(super) fn relax_rows(now: &[f64], next: &mut [f64], first: usize, plate: &Plate) {
    let columns = plate.columns;
    for (row, out) in (first..).zip(next.chunks_exact_mut(columns)) {
        let middle = row * columns;
        if row == 0 || row + 1 == plate.rows {
            out.copy_from_slice(&now[middle..][..columns]);
        } else {
            relax_row(
                &now[middle - columns..][..columns],
                &now[middle..][..columns],
                &now[middle + columns..],
                out,
            );
        }
    }
}

/// Computes the row `out` from the rows above, at and below it; its two ends are edge.
///
/// Never inlined, so that all versions execute the same code.
#[inline(never)]
pub(super) fn relax_row(above: &[f64], row: &[f64], below: &[f64], out: &mut [f64]) {
    let last = out.len() - 1;
    out[0] = row[0];
    out[last] = row[last];
    // Slices of one length, so that the loop needs no checks and becomes vector code.
    let inner = &mut out[1..last];
    let points = inner.len();
    let (above, below) = (&above[1..][..points], &below[1..][..points]);
    let (left, right) = (&row[..points], &row[2..][..points]);
    for point in 0..points {
        inner[point] = 0.25 * ((above[point] + below[point]) + (left[point] + right[point]));
    }
}
