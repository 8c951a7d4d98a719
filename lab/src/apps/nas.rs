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
pub(super) mod tests {
    use super::*;

    /// The next number after `state` as the report computes it, in doubles that hold 46 bits
    /// each: an oracle for [`Sequence`].
    pub(in crate::apps) fn next_in_doubles(state: &mut f64) -> f64 {
        const HALF: f64 = (1u64 << 23) as f64;
        let split = |number: f64| {
            let high = (number / HALF).floor();
            (high, number - HALF * high)
        };
        let (a_high, a_low) = split(MULTIPLIER as f64);
        let (x_high, x_low) = split(*state);
        let (_, middle) = split(a_high * x_low + a_low * x_high);
        let sum = HALF * middle + a_low * x_low;
        let modulus = HALF * HALF;
        *state = sum - modulus * (sum / modulus).floor();
        *state / modulus
    }

    #[test]
    fn integers_and_doubles_give_the_same_numbers() {
        for seed in [271_828_183, 314_159_265, 1, MASK] {
            let (mut sequence, mut state) = (Sequence::new(seed), seed as f64);
            for _ in 0..10_000 {
                assert_eq!(sequence.next().to_bits(), next_in_doubles(&mut state).to_bits());
            }
        }
    }

    #[test]
    fn a_jump_leads_where_steps_do() {
        let start = Sequence::new(271_828_183);
        let mut walked = start.clone();
        for steps in 0..5000 {
            assert_eq!(start.after(steps).state, walked.state);
            walked.next();
        }
        // The period is 2^44 (Knuth, section 3.2.1.2).
        assert_eq!(start.after(1 << 44).state, start.state);
        assert_ne!(start.after(1 << 43).state, start.state);
    }
}
