//! Random victims.

/// Chooses victims uniformly at random, as the analysis of work stealing assumes (Blumofe and
/// Leiserson, JACM 1999).
///
/// The generator is xorshift64* (Marsaglia, "Xorshift RNGs", 2003; Vigna 2016). It takes a few
/// cycles and shares nothing.
#[derive(Debug)]
pub(crate) struct Victims {
    state: u64,
    thief: usize,
}

impl Victims {
    pub(crate) fn new(thief: usize) -> Self {
        // Any odd constant spreads small indices over the word; the state must not be 0.
        let state = (thief as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self { state, thief }
    }

    /// One of `workers` workers other than the thief; `None` if there is no other.
    pub(crate) fn choose(&mut self, workers: usize) -> Option<usize> {
        let others = workers - 1;
        if others == 0 {
            return None;
        }
        let chosen = self.below(others);
        Some(if chosen < self.thief { chosen } else { chosen + 1 })
    }

    /// A number below `bound`, which is not 0: 0 in half of all cases, 1 in a quarter, and so on;
    /// the last number as often as the one before it.
    pub(super) fn random_geometric(&mut self, bound: usize) -> usize {
        const MANY: usize = 1 << 30;
        (self.below(MANY) | MANY).trailing_zeros().min(bound as u32 - 1) as usize
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let random = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        // Multiply and shift (Lemire 2019) instead of a division.
        ((random * bound as u64) >> 32) as usize
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Victims;

    #[test]
    fn all_workers_but_the_thief_are_chosen_equally_often() {
        for (thief, workers) in [(0, 2), (1, 2), (0, 7), (3, 7), (6, 7)] {
            let mut victims = Victims::new(thief);
            let mut times = vec![0_u32; workers];
            for _ in 0..10_000 * (workers - 1) {
                times[victims.choose(workers).unwrap()] += 1;
            }
            assert_eq!(times.remove(thief), 0);
            assert!(times.iter().all(|t| (9_000..11_000).contains(t)), "{times:?}");
        }
    }

    #[test]
    fn each_number_is_chosen_half_as_often_as_the_one_before() {
        let mut victims = Victims::new(0);
        let mut times = [0_u32; 4];
        for _ in 0..80_000 {
            times[victims.random_geometric(4)] += 1;
        }
        for (times, expected) in times.into_iter().zip([40_000, 20_000, 10_000, 10_000]) {
            assert!((expected * 9 / 10..expected * 11 / 10).contains(&times), "{times}");
        }
        assert!((0..100).all(|_| victims.random_geometric(1) == 0));
    }

    /// The numbers are from another implementation of xorshift64*.
    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        let numbers = |thief| {
            let mut victims = Victims::new(thief);
            [(); 3].map(|()| victims.below(1 << 31))
        };
        assert_eq!(numbers(0), [0x06c1_d9f1, 0x2a62_263c, 0x5422_f9a1]);
        assert_eq!(numbers(1), [0x090e_ae2b, 0x2774_c04b, 0x6c35_d00d]);
    }

    #[test]
    fn a_pool_of_one_has_no_victims() {
        assert_eq!(Victims::new(0).choose(1), None);
    }
}
