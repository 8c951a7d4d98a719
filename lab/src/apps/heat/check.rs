//! The answer must be the serial program's, bit for bit, and have the closed form: if λ is the
//! eigenvalue of a mode v, which is zero at the edge, then a step changes the sum of the
//! temperatures weighted with v from s to λ·s + b, where b is what the edge adds.

use std::f64::consts::PI;

use super::Plate;
use crate::apps::check::is_below;

/// Half waves down and across.
const MODES: [[usize; 2]; 2] = [[1, 1], [2, 3]];

/// What rounding may leave for each point and step: all temperatures are below one.
const TOLERANCE: f64 = 4.0 * f64::EPSILON;

/// Whether the temperatures `found` are those that the closed form gives for the `input`.
pub(super) fn closed_form(plate: &Plate, input: &[f64], found: &[f64]) -> Result<(), String> {
    let Plate { rows, columns, steps } = *plate;
    let limit = TOLERANCE * (rows * columns) as f64 * steps as f64;
    for mode in MODES {
        let angle = |half_waves: usize, points: usize| PI * half_waves as f64 / (points - 1) as f64;
        let [down, across] = [angle(mode[0], rows), angle(mode[1], columns)];
        let wave = |angle: f64, at: usize| (angle * at as f64).sin();
        let waves: Vec<f64> = (0..columns).map(|at| wave(across, at)).collect();
        let row_sum = |grid: &[f64], row: usize| -> f64 {
            let points = grid[row * columns..][..columns].iter().zip(&waves);
            points.take(columns - 1).skip(1).map(|(point, wave)| point * wave).sum()
        };
        let inner = || 1..rows - 1;
        let sum =
            |grid: &[f64]| -> f64 { inner().map(|row| wave(down, row) * row_sum(grid, row)).sum() };
        let sides = |row: usize| {
            let row_of = &input[row * columns..][..columns];
            wave(down, row) * (row_of[0] * waves[1] + row_of[columns - 1] * waves[columns - 2])
        };
        let ends =
            wave(down, 1) * row_sum(input, 0) + wave(down, rows - 2) * row_sum(input, rows - 1);
        let edge = (ends + inner().map(sides).sum::<f64>()) / 4.0;
        let eigenvalue = (down.cos() + across.cos()) / 2.0;
        let expected = (0..steps).fold(sum(input), |sum, _| eigenvalue * sum + edge);
        let error = (sum(found) - expected).abs();
        if !is_below(error, limit) {
            return Err(format!(
                "the sum of mode {mode:?} differs from {expected} by {error:e}, more than {limit:e}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Grids, spread};
    use super::*;
    use crate::fork::Serial;
    use crate::random::Random;

    #[test]
    fn the_serial_program_has_the_closed_form_and_wrong_answers_do_not() {
        for (rows, columns, steps) in [(4, 5, 1), (3, 40, 2), (61, 47, 7), (100, 90, 300)] {
            let plate = Plate { rows, columns, steps };
            let mut random = Random::new(steps as u64);
            let input: Vec<f64> = (0..rows * columns).map(|_| random.next_signed()).collect();
            let mut grids = Grids { now: input.clone(), next: input.clone() };
            spread(&Serial, &mut grids, &plate);
            closed_form(&plate, &input, &grids.now).unwrap();
            for wrong in [1e-6, -1.0, f64::NAN] {
                let mut found = grids.now.clone();
                found[columns + 1] += wrong;
                assert!(closed_form(&plate, &input, &found).is_err(), "{plate:?} {wrong}");
            }
            let one_more = Plate { steps: steps + 1, ..plate };
            assert!(closed_form(&one_more, &input, &grids.now).is_err(), "{plate:?}");
        }
    }
}
