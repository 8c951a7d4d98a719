//! `ep(class)`: EP, "embarrassingly parallel", of the NAS Parallel Benchmarks (Bailey et al.,
//! RNR-94-007, section 2.2): pairs of pseudorandom numbers are made Gaussian deviates, summed, and
//! counted by how large they are. Blocks of 2^16 pairs are independent of one another and cost the
//! same: each computes where in the one sequence its numbers begin.

mod kernel;

use super::check::is_below;
use crate::apps::prelude::*;
use kernel::{BLOCK_PAIRS, Tally, count};

/// The application.
pub static APP: App = App {
    name: "ep",
    about: "EP of the NAS Parallel Benchmarks: Gaussian deviates; CLASS S, W, A or B, or BLOCKS of \
        65536 pairs",
    syntax: "CLASS or BLOCKS",
    paper_size: "B",
    quick_size: "64",
    problem: |parameters| {
        let new = |blocks, expected| Counting { blocks, tally: Tally::NONE, expected };
        let bytes = size_of::<Tally>() as u128;
        if let Some(class) = CLASSES.iter().find(|class| class.name == parameters) {
            return Ok(Problem::new(bytes, move |_| new(class.blocks, class.expected)));
        }
        let [blocks] = size::numbers(parameters, ',', 1)
            .map_err(|reason| format!("it is no class (S, W, A, B), and as blocks, {reason}"))?;
        let blocks = blocks as u64;
        if blocks > kernel::MOST_BLOCKS {
            return Err(format!("there can be at most {} blocks", kernel::MOST_BLOCKS));
        }
        Ok(Problem::new(bytes, move |_| new(blocks, serially(blocks))))
    },
    ..App::BLANK
};

#[derive(Clone)]
struct Counting {
    blocks: u64,
    tally: Tally,
    expected: Expected,
}

impl Instance for Counting {
    fn reset(&mut self) {
        self.tally = Tally::NONE;
    }

    fork_join!(self, fork => self.tally = count(fork, 0..self.blocks));

    fn check(&self) -> Result<(), String> {
        verify(&self.tally, &self.expected)
    }
}

/// How much a sum may differ, relative to what it should be: as in the benchmark.
const TOLERANCE: f64 = 1e-8;

/// What the answer should be.
#[derive(Debug, Clone, Copy)]
struct Expected {
    /// The sums of the deviates.
    sums: [f64; 2],
    /// How many pairs gave deviates.
    accepted: u64,
}

/// A class of the benchmark, with the sums that NAS publishes (version 3 of its sources; RNR-94-007
/// has class A's).
struct Class {
    name: &'static str,
    blocks: u64,
    expected: Expected,
}

/// Classes have 2^24, 2^25, 2^28 and 2^30 pairs.
const CLASSES: [Class; 4] = [
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
fn serially(blocks: u64) -> Expected {
    let Tally { sums, rings } = count(&Serial, 0..blocks);
    Expected { sums, accepted: rings.iter().sum() }
}

/// Whether the answer is the expected one, as the benchmark verifies it, and counts as many
/// deviates.
fn verify(tally: &Tally, expected: &Expected) -> Result<(), String> {
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
    use super::kernel::SEED;
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
