//! The one source of random input: everything random follows from a `--seed`.

/// The seed where none is given.
pub const DEFAULT_SEED: u64 = 1998;

/// What each number adds to the state.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64: small, quick, and good enough to fill arrays.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A sequence that depends on `seed` only.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// The same sequence, so many numbers further on.
    pub fn ahead(self, numbers: u64) -> Self {
        let state = self.state.wrapping_add(STEP.wrapping_mul(numbers));
        Random { state }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// So many 32-bit integers.
    pub fn integers(&mut self, number: usize) -> Vec<u32> {
        (0..number).map(|_| self.next_u64() as u32).collect()
    }

    /// Puts items into a random order (Fisher and Yates; Durstenfeld, "Algorithm 235", 1964).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, (self.next_u64() % (last as u64 + 1)) as usize);
        }
    }

    /// A number in `-1.0..1.0`.
    pub fn next_signed(&mut self) -> f64 {
        let unit = (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        2.0 * unit - 1.0
    }
}

/// A bijection of the 64-bit words that leaves no pattern of its argument visible.
pub fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ahead_are_the_numbers_that_come_later() {
        let mut all = Random::new(5);
        for numbers in 0..100 {
            let next = all.next_u64();
            assert_eq!(Random::new(5).ahead(numbers).next_u64(), next);
        }
    }
}
