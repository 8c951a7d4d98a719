//! What every version does to a row, and how finely the parallel ones divide.

use super::Plate;

/// Points of a leaf: about five microseconds of work, and enough leaves for any number of workers.
const LEAF_POINTS: usize = 8192;

/// The rows of a leaf.
pub(super) fn leaf_rows(plate: &Plate) -> usize {
    (LEAF_POINTS / plate.columns).max(1)
}

/// Computes the rows of `next`, the first of which is row `first` of the plate, from the whole
/// plate `now`.
pub(super) fn relax_rows(now: &[f64], next: &mut [f64], first: usize, plate: &Plate) {
    let columns = plate.columns;
    let (start, end) = (first * columns, first * columns + next.len());
    let above = start.checked_sub(columns).map(|above| &now[above..start]);
    let below = now.get(end..end + columns);
    relax_strip(&now[start..end], next, above, below, columns);
}

/// Computes `next` from `now` and from the rows above and below the strip; where there is none, the
/// strip ends at the plate's edge.
pub(super) fn relax_strip(
    now: &[f64],
    next: &mut [f64],
    above: Option<&[f64]>,
    below: Option<&[f64]>,
    columns: usize,
) {
    let rows = now.len() / columns;
    let row = |index: usize| &now[index * columns..][..columns];
    for (index, out) in next.chunks_exact_mut(columns).enumerate() {
        let up = if index > 0 { Some(row(index - 1)) } else { above };
        let down = if index + 1 < rows { Some(row(index + 1)) } else { below };
        match (up, down) {
            (Some(up), Some(down)) => relax_row(up, row(index), down, out),
            _ => out.copy_from_slice(row(index)),
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

#[cfg(test)]
mod tests {
    use super::super::{Grids, Plate, spread};
    use crate::fork::Serial;

    /// The stencil as it is defined, point by point, without the kernel that all versions share.
    fn by_definition(plate: &Plate, input: &[f64]) -> Vec<f64> {
        let mut now = input.to_vec();
        for _ in 0..plate.steps {
            let mut next = now.clone();
            for row in 1..plate.rows - 1 {
                for column in 1..plate.columns - 1 {
                    let at = |row: usize, column: usize| now[row * plate.columns + column];
                    let (vertical, horizontal) = (
                        at(row - 1, column) + at(row + 1, column),
                        at(row, column - 1) + at(row, column + 1),
                    );
                    next[row * plate.columns + column] = (vertical + horizontal) / 4.0;
                }
            }
            now = next;
        }
        now
    }

    #[test]
    fn the_kernel_computes_the_mean_of_four_neighbours_and_leaves_the_edge() {
        let plate = Plate { rows: 7, columns: 11, steps: 5 };
        let input: Vec<f64> = (0..77).map(|n| f64::from(n * n % 23) - 8.0).collect();
        let mut grids = Grids { now: input.clone(), next: input.clone() };
        spread(&Serial, &mut grids, &plate);
        // Division by 4 and multiplication by a quarter are both exact: the bits must be the same.
        assert_eq!(grids.now, by_definition(&plate, &input));
    }
}
