//! Figures with the intervals in which they lie, and what these say of a target.
//!
//! Where each rotation has measured once, the interval of a median is that of the order statistics
//! (David and Nagaraja, "Order Statistics", 2003, section 7.1): exact, whatever the distribution,
//! for numbers that are independent; and none at all of fewer than [`FEWEST`]: of five, all lie on
//! one side of the median once in sixteen times.

use std::borrow::Borrow;

use itertools::Itertools;

/// Of fewer there is no interval of 95 %.
pub const FEWEST: usize = 6;
/// How often an interval may lie on one side of its figure.
const TAIL: f64 = 0.025;

/// A figure, and the interval of 95 % in which it lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub figure: f64,
    /// Where the interval begins; minus infinity, if there is none.
    pub low: f64,
    /// Where it ends; infinity, if there is none.
    pub high: f64,
}

impl Estimate {
    /// The median of what was measured independently of each other, and its interval; `None` of
    /// nothing.
    pub fn of_median(values: impl IntoIterator<Item: Borrow<f64>>) -> Option<Estimate> {
        let numbers = sorted(values);
        let figure = median(&numbers)?;
        let (low, high) = match left_out(numbers.len()) {
            Some(left_out) => (numbers[left_out], numbers[numbers.len() - 1 - left_out]),
            None => (f64::NEG_INFINITY, f64::INFINITY),
        };
        Some(Estimate { figure, low, high })
    }

    /// Whether there is an interval.
    pub fn is_bounded(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
}

/// How many of so many numbers may be left out on either side of their median's interval; `None` if
/// even all of them are too few. That is the largest k for which fewer than k + 1 of them lie below
/// the median in no more than [`TAIL`] of all cases.
fn left_out(numbers: usize) -> Option<usize> {
    // The logarithm of how likely it is that as many lie below it.
    let mut logarithm = -(numbers as f64) * std::f64::consts::LN_2;
    let (mut likely, mut fits) = (0.0, None);
    for below in 0..=numbers / 2 {
        likely += logarithm.exp();
        if likely > TAIL {
            break;
        }
        fits = Some(below);
        logarithm += ((numbers - below) as f64).ln() - ((below + 1) as f64).ln();
    }
    fits
}

/// Whether a target is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All of the interval is within it.
    Met,
    /// All of the interval is beyond it.
    Missed,
    /// It lies in the interval.
    Undecided,
}

impl Verdict {
    /// What is wanted to be at most `target`.
    pub fn of(cost: Estimate, target: f64) -> Verdict {
        if cost.high <= target {
            Verdict::Met
        } else if cost.low > target {
            Verdict::Missed
        } else {
            Verdict::Undecided
        }
    }

    /// In a word, or two.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Missed => "missed",
            Verdict::Undecided => "not decided",
        }
    }
}

/// The mean; `None` of nothing.
pub fn mean(values: impl IntoIterator<Item: Borrow<f64>>) -> Option<f64> {
    let add = |(number, sum), value: f64| (number + 1.0, sum + value);
    let values = values.into_iter().map(|value| *value.borrow());
    let (number, sum) = values.fold((0.0, 0.0), add);
    (number > 0.0).then(|| sum / number)
}

fn sorted(values: impl IntoIterator<Item: Borrow<f64>>) -> Vec<f64> {
    values.into_iter().map(|value| *value.borrow()).sorted_by(f64::total_cmp).collect()
}

/// The one in the middle, or between the two in the middle; `None` of nothing. They need not be
/// sorted for that.
pub fn median(values: impl IntoIterator<Item: Borrow<f64>>) -> Option<f64> {
    let numbers = sorted(values);
    let upper = *numbers.get(numbers.len() / 2)?;
    Some((numbers[(numbers.len() - 1) / 2] + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn medians_are_those_of_what_is_sorted() {
        let mut random = Random::new(3);
        for count in 1..40 {
            let numbers: Vec<f64> = (0..count).map(|_| random.next_signed()).collect();
            let mut sorted = numbers.clone();
            sorted.sort_by(f64::total_cmp);
            let number = numbers.len();
            let middle = (sorted[(number - 1) / 2] + sorted[number / 2]) / 2.0;
            assert_eq!(median(&numbers), Some(middle));
        }
        assert_eq!(median(Vec::<f64>::new()), None);
        assert_eq!(Estimate::of_median(Vec::<f64>::new()), None);
    }

    /// As tables of the sign test have it.
    #[test]
    fn as_many_are_left_out_as_tables_say() {
        let table = [(5, None), (6, Some(0)), (8, Some(0)), (9, Some(1)), (10, Some(1))];
        let more = [(12, Some(2)), (15, Some(3)), (20, Some(5)), (50, Some(17)), (100, Some(39))];
        for (numbers, expected) in table.into_iter().chain(more) {
            assert_eq!(left_out(numbers), expected, "{numbers}");
        }
        assert!((0..FEWEST).all(|few| left_out(few).is_none()));
        // No power of a half is too small for that: 1.96 times half the root of the number, on
        // either side.
        let of_many = left_out(10_000).unwrap();
        assert!((4900..4904).contains(&of_many), "{of_many}");
    }

    #[test]
    fn intervals_are_order_statistics_or_none() {
        let numbers = |number: u32| (1..=number).rev().map(f64::from).collect::<Vec<f64>>();
        let found = Estimate::of_median(numbers(9)).unwrap();
        assert_eq!(found, Estimate { figure: 5.0, low: 2.0, high: 8.0 });
        assert!(found.is_bounded());
        let found = Estimate::of_median(numbers(5)).unwrap();
        assert_eq!(found.figure, 3.0);
        assert!(!found.is_bounded());
        assert_eq!(Verdict::of(found, 1e9), Verdict::Undecided);
    }

    /// Of a distribution that is not symmetric, with a median that is known.
    #[test]
    fn an_interval_has_the_median_as_often_as_it_should() {
        const SAMPLES: usize = 400;
        let mut random = Random::new(19);
        for number in [6, 11, 20] {
            let has_it = |_: &usize| {
                // The median of e^x is 1.
                let sample = (0..number).map(|_| (3.0 * random.next_signed()).exp());
                let found = Estimate::of_median(sample).unwrap();
                found.low <= 1.0 && 1.0 <= found.high
            };
            let has_it = (0..SAMPLES).filter(has_it).count();
            assert!(has_it * 100 >= SAMPLES * 93, "{has_it} of {SAMPLES} with {number}");
        }
    }

    #[test]
    fn a_target_is_met_or_missed_by_the_whole_interval() {
        let of = |low, high| Verdict::of(Estimate { figure: 1.0, low, high }, 1.03);
        assert_eq!(of(0.9, 1.03), Verdict::Met);
        assert_eq!(of(1.0301, 1.2), Verdict::Missed);
        assert_eq!(of(1.03, 1.031), Verdict::Undecided);
        let words = [Verdict::Met, Verdict::Missed, Verdict::Undecided].map(Verdict::word);
        assert_eq!(words, ["met", "missed", "not decided"]);
    }
}
