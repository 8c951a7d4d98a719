//! The pseudorandom numbers of the NAS Parallel Benchmarks (Bailey et al., RNR-94-007, section
//! 2.3): x becomes a·x modulo 2^46 with a = 5^13, and the number is x / 2^46.

const MULTIPLIER: u64 = 1_220_703_125;
const MODULUS_BITS: u32 = 46;
const MASK: u64 = (1 << MODULUS_BITS) - 1;

/// A sequence of numbers in `0.0..1.0`.
#[derive(Debug, Clone)]
pub(super) struct Sequence {
    state: u64,
}

impl Sequence {
    /// The sequence that begins with this seed, which must be odd.
    pub(super) fn new(seed: u64) -> Sequence {
        Sequence { state: seed & MASK }
    }

    /// The same sequence after `numbers` more, in as many steps as that number has bits.
    pub(super) fn after(&self, numbers: u64) -> Sequence {
        let (mut power, mut square) = (1u64, MULTIPLIER);
        let mut left = numbers;
        while left > 0 {
            if left & 1 == 1 {
                power = power.wrapping_mul(square) & MASK;
            }
            square = square.wrapping_mul(square) & MASK;
            left >>= 1;
        }
        Sequence { state: self.state.wrapping_mul(power) & MASK }
    }

    /// The next number.
    #[inline]
    pub(super) fn next(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(MULTIPLIER) & MASK;
        // Both factors are exact, and so is the product.
        self.state as f64 * (1.0 / (1u64 << MODULUS_BITS) as f64)
    }
}

#[cfg(test)]
pub(super) mod tests;
