//! The answer is that of the serial program, bit for bit: every version computes each pixel by the same expressions.

use super::Pixel;

/// Whether `found` has the bits of `expected`, as pictures of that width.
pub(in crate::apps) fn same_bits(
    expected: &[Pixel],
    found: &[Pixel],
    width: usize,
) -> Result<(), String> {
    if expected.len() != found.len() {
        return Err(format!("{} pixels instead of {}", found.len(), expected.len()));
    }
    let bits = |pixel: &Pixel| pixel.map(f64::to_bits);
    match expected.iter().zip(found).position(|(expected, found)| bits(expected) != bits(found)) {
        Some(at) => Err(format!(
            "the pixel in row {}, column {} is {:?} and serially {:?}",
            at / width,
            at % width,
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
        let expected: Vec<Pixel> = (0..60).map(|n| [f64::from(n); 3]).collect();
        assert!(same_bits(&expected, &expected, 6).is_ok());
        for (at, colour) in [(0, 0), (31, 1), (59, 2)] {
            let mut found = expected.clone();
            found[at][colour] = f64::from_bits(found[at][colour].to_bits() ^ 1);
            let error = same_bits(&expected, &found, 6).unwrap_err();
            assert!(error.contains(&format!("row {}, column {}", at / 6, at % 6)), "{error}");
        }
        assert!(same_bits(&expected, &expected[1..], 6).is_err());
    }
}
