//! The answer is checked by order and by content, which a sort must not change.

use crate::random::mix;

/// A sum over all integers that does not depend on their order and that a lost, a doubled or a
/// changed one alters.
pub(crate) fn content(data: &[u32]) -> u64 {
    data.iter().fold(0, |sum: u64, &value| sum.wrapping_add(mix(u64::from(value) + 1)))
}

/// Whether `data` is in order and has the content that the input had.
pub(crate) fn sorted(data: &[u32], expected: u64) -> Result<(), String> {
    if let Some(at) = data.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(format!("{} stands before {} at {at}", data[at], data[at + 1]));
    }
    if content(data) != expected {
        return Err("the integers are in order but not those of the input".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disorder_and_changed_content_are_rejected() {
        let data = [0, 0, 3, 3, 8, 90, u32::MAX];
        let expected = content(&[3, 90, 0, u32::MAX, 8, 0, 3]);
        assert!(sorted(&data, expected).is_ok());
        assert!(sorted(&[0, 0, 3, 8, 3, 90, u32::MAX], expected).is_err());
        assert!(sorted(&[0, 0, 3, 3, 8, 91, u32::MAX], expected).is_err());
        assert!(sorted(&[0, 0, 0, 3, 8, 90, u32::MAX], expected).is_err());
        assert!(sorted(&[0, 3, 3, 8, 90, u32::MAX], expected).is_err());
        assert!(sorted(&[], expected).is_err());
    }
}
