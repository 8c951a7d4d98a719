//! `heat(n,m,steps)`: heat that spreads on a plate of n by m points. Jacobi's iteration with the
//! five-point stencil on two grids; the edge keeps its temperature. Each step reads and writes all
//! of its memory and is followed by a join of everything, so a step is one phase: short phases
//! punish bad balance, large grids test the memory.

mod check;
mod intervals;
mod static_partition;

use locksley_intervals::Root;

use super::check::same_bits;
use crate::apps::prelude::*;

/// The application.
pub static APP: App = App {
    name: "heat",
    about: "Jacobi iteration with a five-point stencil on a grid of ROWS by COLUMNS, STEPS times",
    syntax: "ROWSxCOLUMNSxSTEPS",
    paper_size: "4096x512x100",
    bws_size: None,
    quick_size: "1024x512x40",
    has_static: true,
    has_intervals: true,
    problem: |parameters| {
        let [rows, columns, steps] = size::numbers(parameters, 'x', 1)?;
        if rows < 3 || columns < 3 {
            return Err("a grid inside its edge needs at least 3 rows and 3 columns".to_owned());
        }
        // The input, the two grids, and the serial answer to compare with.
        let bytes = size::product(&[4, rows, columns, size_of::<f64>()]);
        Ok(Problem::new(bytes, move |seed| Heating::new(Plate { rows, columns, steps }, seed)))
    },
};

/// The size of the grid and the number of steps.
#[derive(Debug, Clone, Copy)]
struct Plate {
    rows: usize,
    columns: usize,
    steps: usize,
}

/// The temperatures now, and room for the next ones.
#[derive(Clone)]
struct Grids {
    now: Vec<f64>,
    next: Vec<f64>,
}

impl Grids {
    fn swap(&mut self) {
        std::mem::swap(&mut self.now, &mut self.next);
    }
}

#[derive(Clone)]
struct Heating {
    plate: Plate,
    input: Vec<f64>,
    grids: Grids,
    expected: Vec<f64>,
}

impl Heating {
    fn new(plate: Plate, seed: u64) -> Heating {
        let mut random = Random::new(seed);
        let input: Vec<f64> =
            (0..plate.rows * plate.columns).map(|_| random.next_signed()).collect();
        let mut grids = Grids { now: input.clone(), next: input.clone() };
        spread(&Serial, &mut grids, &plate);
        let expected = std::mem::replace(&mut grids.now, input.clone());
        Heating { plate, input, grids, expected }
    }
}

impl Instance for Heating {
    fn reset(&mut self) {
        self.grids.now.copy_from_slice(&self.input);
    }

    fn intervals(&mut self, pool: &::locksley::Pool) -> Option<()> {
        intervals::spread(
            intervals::MOST,
            || Root::new("heat").on(pool),
            &mut self.grids,
            &self.plate,
        );
        Some(())
    }

    fork_join!(self, fork => spread(fork, &mut self.grids, &self.plate));

    fn static_partition(&mut self, team: &Team) -> Option<Duration> {
        Some(static_partition::spread(team, &mut self.grids, &self.plate))
    }

    fn check(&self) -> Result<(), String> {
        let found = &self.grids.now;
        same_bits(&self.expected, found, self.plate.columns, |point| point.to_bits())?;
        check::closed_form(&self.plate, &self.input, found)
    }
}

/// All steps: the rows of each are halved down to a leaf.
fn spread(fork: &impl Fork, grids: &mut Grids, plate: &Plate) {
    let rows = Rows { of: plate.columns, leaf: leaf_rows(plate) };
    for _ in 0..plate.steps {
        let Grids { now, next } = grids;
        rows.halve(fork, next, |first, next| relax_rows(now, next, first, plate));
        grids.swap();
    }
}

/// Points of a leaf: about five microseconds of work, and enough leaves for any number of workers.
const LEAF_POINTS: usize = 8192;

/// The rows of a leaf.
fn leaf_rows(plate: &Plate) -> usize {
    (LEAF_POINTS / plate.columns).max(1)
}

/// Computes the rows of `next`, the first of which is row `first` of the plate, from the whole
/// plate `now`.
fn relax_rows(now: &[f64], next: &mut [f64], first: usize, plate: &Plate) {
    let columns = plate.columns;
    let (start, end) = (first * columns, first * columns + next.len());
    let above = start.checked_sub(columns).map(|above| &now[above..start]);
    let below = now.get(end..end + columns);
    relax_strip(&now[start..end], next, above, below, columns);
}

/// Computes `next` from `now` and from the rows above and below the strip; where there is none, the
/// strip ends at the plate's edge.
fn relax_strip(
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
fn relax_row(above: &[f64], row: &[f64], below: &[f64], out: &mut [f64]) {
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
    use super::{Grids, Plate, spread};
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
