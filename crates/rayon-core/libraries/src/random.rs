//! Inputs that are the same each time.

/// Marsaglia's xorshift64 ("Xorshift RNGs", 2003).
pub fn numbers() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(1998), |&x: &u64| {
        let x = x ^ x << 13;
        let x = x ^ x >> 7;
        Some(x ^ x << 17)
    })
}

/// From 0 to 1.
#[allow(dead_code)] // not all programs
pub fn unit(number: u64) -> f64 {
    (number >> 11) as f64 / (1_u64 << 53) as f64
}
