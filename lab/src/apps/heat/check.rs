//! The answer is that of the serial program, bit for bit: every version computes each point by the same expression.

/// Whether `found` has the bits of `expected`, as grids of rows of `columns`.
pub(super) fn same_bits(expected: &[f64], found: &[f64], columns: usize) -> Result<(), String> {
    let differ = expected
        .iter()
        .zip(found)
        .position(|(expected, found)| expected.to_bits() != found.to_bits());
    match differ {
        _ if expected.len() != found.len() => {
            Err(format!("{} points instead of {}", found.len(), expected.len()))
        }
        Some(at) => Err(format!(
            "row {}, column {} is {} and serially {}",
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
        let expected: Vec<f64> = (0..60).map(f64::from).collect();
        assert!(same_bits(&expected, &expected, 6).is_ok());
        for at in [0, 31, 59] {
            let mut found = expected.clone();
            found[at] = f64::from_bits(found[at].to_bits() ^ 1);
            let error = same_bits(&expected, &found, 6).unwrap_err();
            assert!(error.contains(&format!("row {}, column {}", at / 6, at % 6)), "{error}");
        }
        assert!(same_bits(&expected, &expected[1..], 6).is_err());
    }
}
