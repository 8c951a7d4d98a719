//! What several checks have in common.

use std::fmt::Debug;

use crate::random::Random;

/// A random vector to multiply a matrix with, in which no number is near zero, so that no column of
/// the matrix is lost from sight.
pub(super) fn vector(length: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(!seed);
    (0..length).map(|_| 0.75 + 0.25 * random.next_signed()).collect()
}

/// Whether each number found is nearer than `limit` to the expected one. `what` says of which
/// vector the numbers are the rows, and from what they differ.
pub(super) fn near(
    found: &[f64],
    expected: &[f64],
    limit: f64,
    what: [&str; 2],
) -> Result<(), String> {
    for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
        let residual = (found - expected).abs();
        if !is_below(residual, limit) {
            let [one, other] = what;
            return Err(format!(
                "row {row} of {one} differs from {other} by {residual:e}, more than {limit:e}"
            ));
        }
    }
    Ok(())
}

/// Whether a number is below a limit, which NaN is not.
pub(super) fn is_below(number: f64, limit: f64) -> bool {
    number < limit
}

/// Whether the grid `found`, with so many columns, has the `bits` of the serial program's: every
/// version computes each element by the same expressions.
pub(super) fn same_bits<T: Debug, B: PartialEq>(
    expected: &[T],
    found: &[T],
    columns: usize,
    bits: impl Fn(&T) -> B,
) -> Result<(), String> {
    if expected.len() != found.len() {
        return Err(format!("{} elements instead of {}", found.len(), expected.len()));
    }
    match expected.iter().zip(found).position(|(expected, found)| bits(expected) != bits(found)) {
        Some(at) => Err(format!(
            "row {}, column {} is {:?} and serially {:?}",
            at / columns,
            at % columns,
            found[at],
            expected[at]
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_bit_is_rejected() {
        let expected: Vec<[f64; 3]> = (0..60).map(|n| [f64::from(n); 3]).collect();
        let same = |found: &[[f64; 3]]| {
            same_bits(&expected, found, 6, |element| element.map(f64::to_bits))
        };
        assert!(same(&expected).is_ok());
        for (at, colour) in [(0, 0), (31, 1), (59, 2)] {
            let mut found = expected.clone();
            found[at][colour] = f64::from_bits(found[at][colour].to_bits() ^ 1);
            let error = same(&found).unwrap_err();
            assert!(error.contains(&format!("row {}, column {}", at / 6, at % 6)), "{error}");
        }
        assert!(same(&expected[1..]).is_err());
    }
}
