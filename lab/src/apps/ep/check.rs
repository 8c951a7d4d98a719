//! The classes' sums are those that NAS publishes with the benchmark (version 3 of its sources;
//! RNR-94-007 has class A's). For other numbers of blocks, the answer is compared with the serial
//! program's, and in tests that one with the plainest program's: one sequence, generated in doubles
//! as the report describes it, without blocks and without jumps.

use super::kernel::{BLOCK_PAIRS, Tally, count};
use crate::apps::check::is_below;
use crate::fork::Serial;

/// How much a sum may differ, relative to what it should be: as in the benchmark.
const TOLERANCE: f64 = 1e-8;

/// What the answer should be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    /// The sums of the deviates.
    sums: [f64; 2],
    /// How many pairs gave deviates.
    accepted: u64,
}

/// A class of the benchmark.
pub(super) struct Class {
    pub(super) name: &'static str,
    pub(super) blocks: u64,
    pub(super) expected: Expected,
}

/// Classes have 2^24, 2^25, 2^28 and 2^30 pairs.
pub(super) const CLASSES: [Class; 4] = [
    class("S", 24, [-3.247_834_652_034_74e3, -6.958_407_078_382_297e3], 13_176_389),
    class("W", 25, [-2.863_319_731_645_753e3, -6.320_053_679_109_499e3], 26_354_769),
    class("A", 28, [-4.295_875_165_629_892e3, -1.580_732_573_678_431e4], 210_832_767),
    class("B", 30, [4.033_815_542_441_498e4, -2.660_669_192_809_235e4], 843_345_606),
];

const fn class(name: &'static str, log_pairs: u32, sums: [f64; 2], accepted: u64) -> Class {
    let blocks = (1 << log_pairs) / BLOCK_PAIRS;
    Class { name, blocks, expected: Expected { sums, accepted } }
}

/// What the serial program computes.
pub(super) fn serially(blocks: u64) -> Expected {
    let Tally { sums, rings } = count(&Serial, 0..blocks);
    Expected { sums, accepted: rings.iter().sum() }
}

/// Whether the answer is the expected one, as the benchmark verifies it, and counts as many
/// deviates.
pub(super) fn verify(tally: &Tally, expected: &Expected) -> Result<(), String> {
    for (axis, found, expected) in
        [("X", tally.sums[0], expected.sums[0]), ("Y", tally.sums[1], expected.sums[1])]
    {
        let error = ((found - expected) / expected).abs();
        if !is_below(error, TOLERANCE) {
            return Err(format!("the sum of {axis} is {found:e} and should be {expected:e}"));
        }
    }
    let counted: u64 = tally.rings.iter().sum();
    if counted != expected.accepted {
        return Err(format!("{counted} deviates were counted instead of {}", expected.accepted));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::kernel::SEED;
    use super::*;
    use crate::apps::nas::tests::next_in_doubles;

    /// What the plainest program computes.
    fn textbook(blocks: u64) -> Expected {
        let mut state = SEED as f64;
        let mut expected = Expected { sums: [0.0; 2], accepted: 0 };
        for _ in 0..blocks * BLOCK_PAIRS {
            let x = 2.0 * next_in_doubles(&mut state) - 1.0;
            let y = 2.0 * next_in_doubles(&mut state) - 1.0;
            let t = x * x + y * y;
            if t <= 1.0 {
                expected.sums[0] += x * (-2.0 * t.ln() / t).sqrt();
                expected.sums[1] += y * (-2.0 * t.ln() / t).sqrt();
                expected.accepted += 1;
            }
        }
        expected
    }

    #[test]
    fn the_serial_program_is_right() {
        let (serial, expected) = (count(&Serial, 0..3), textbook(3));
        verify(&serial, &expected).unwrap();
    }

    #[test]
    fn class_s_is_verified() {
        let class = &CLASSES[0];
        verify(&count(&Serial, 0..class.blocks), &class.expected).unwrap();
    }

    /// The deviates in each ring are as many as the normal distribution says, within what chance
    /// explains.
    #[test]
    fn deviates_are_gaussian() {
        let Tally { rings, .. } = count(&Serial, 0..8);
        let total = rings.iter().sum::<u64>() as f64;
        // The probability that a normal deviate lies within n of zero, from a table.
        let within: [f64; 4] = [0.0, 0.682_689_492, 0.954_499_736, 0.997_300_204];
        for ring in 0..3 {
            let p = within[ring + 1].powi(2) - within[ring].powi(2);
            let limit = 5.0 * (p * (1.0 - p) / total).sqrt();
            assert!((rings[ring] as f64 / total - p).abs() < limit, "{ring}");
        }
    }

    #[test]
    fn a_wrong_answer_is_rejected() {
        let expected = textbook(2);
        let tally = count(&Serial, 0..2);
        verify(&tally, &expected).unwrap();
        for axis in 0..2 {
            for wrong in [1e-4, -1.0, f64::NAN] {
                let mut tally = tally;
                tally.sums[axis] += wrong;
                assert!(verify(&tally, &expected).is_err(), "{axis} {wrong}");
            }
        }
        let mut fewer = tally;
        fewer.rings[1] -= 1;
        assert!(verify(&fewer, &expected).unwrap_err().contains("counted"));
        assert!(verify(&count(&Serial, 0..1), &expected).is_err());
        assert!(verify(&Tally::NONE, &expected).is_err());
    }
}
