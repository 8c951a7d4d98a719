//! The figures of programs side by side, as the paper defines them (BWS 2012, section 5.1), and the
//! useful share of the machine.

use crate::corunner::repetition::Repetition;
pub use crate::experiment::estimate::{mean, median};

/// How much slower: `Tc/Ts - 1`, from rates.
pub fn slowdown(alone: f64, beside: f64) -> f64 {
    alone / beside - 1.0
}

/// The difference of the largest slowdown and the smallest; 0 where there is only one.
pub fn unfairness(slowdowns: &[f64]) -> f64 {
    let most = slowdowns.iter().copied().reduce(f64::max);
    let least = slowdowns.iter().copied().reduce(f64::min);
    most.zip(least).map_or(0.0, |(most, least)| most - least)
}

/// The weighted speedup, the sum of `Tb/Tc`: from rates and those of the baseline. 1 is what the
/// programs reach one after the other.
pub fn throughput(rates: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    rates.into_iter().map(|(rate, baseline)| rate / baseline).sum()
}

/// The share of all processors' time that went into leaves. Each program completes so many leaves a
/// second, each of which takes so many seconds on a thread of its own.
pub fn useful(leaves: impl IntoIterator<Item = (f64, f64)>, processors: f64) -> f64 {
    leaves.into_iter().map(|(rate, seconds)| rate * seconds).sum::<f64>() / processors
}

/// The standard deviation of a sample; 0 of fewer than two.
pub fn deviation(values: &[f64]) -> f64 {
    let groups: Vec<_> = values.iter().map(|&value| (1.0, value, 0.0)).collect();
    variation(&groups).zip(mean(values)).map_or(0.0, |(variation, mean)| variation * mean)
}

/// The coefficient of variation, the standard deviation of a sample over its mean, of groups of
/// numbers: how many each has, their mean, and their deviation. `None` of fewer than two numbers.
pub fn variation(groups: &[(f64, f64, f64)]) -> Option<f64> {
    let number: f64 = groups.iter().map(|(number, ..)| number).sum();
    let mean = groups.iter().map(|(number, mean, _)| number * mean).sum::<f64>() / number;
    let squares = groups.iter().map(|(number, of_group, deviation)| {
        (number - 1.0) * deviation.powi(2) + number * (of_group - mean).powi(2)
    });
    (number > 1.0).then(|| (squares.sum::<f64>() / (number - 1.0)).sqrt() / mean)
}

/// The time that all share, as a part of the longest: 1 where all begin and end together.
/// Beginnings and ends in nanoseconds.
pub fn overlap(stretches: &[(u64, u64)]) -> f64 {
    let begun = stretches.iter().map(|stretch| stretch.0).max().unwrap_or(0);
    let ended = stretches.iter().map(|stretch| stretch.1).min().unwrap_or(0);
    let longest = stretches.iter().map(|(begun, ended)| ended.saturating_sub(*begun)).max();
    match longest {
        None | Some(0) => 0.0,
        Some(longest) => ended.saturating_sub(begun) as f64 / longest as f64,
    }
}

/// Of each program's computations, those during which all programs were computing: none that began
/// before the last program's first one, or ended after the first program's last one.
pub fn overlapped(programs: &[Vec<Repetition>]) -> Vec<Vec<Repetition>> {
    let begun = programs.iter().filter_map(|all| all.first()).map(|first| first.begun).max();
    let ended = programs.iter().filter_map(|all| all.last()).map(|last| last.ended).min();
    let (begun, ended) = (begun.unwrap_or(0), ended.unwrap_or(u64::MAX));
    let lies_between = |one: &&Repetition| begun <= one.begun && one.ended <= ended;
    programs.iter().map(|all| all.iter().filter(lies_between).copied().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn slowdowns_and_unfairness() {
        // The paper's example: CLIP is slowed down by 358 %, MM by 7 %.
        let (clip, mm) = (slowdown(4.58, 1.0), slowdown(1.07, 1.0));
        assert!(close(clip, 3.58) && close(mm, 0.07));
        assert!(close(unfairness(&[clip, mm]), 3.51) && close(unfairness(&[mm, clip]), 3.51));
        assert!(close(unfairness(&[0.5, 0.2, -0.1]), 0.6), "of three");
        assert_eq!([unfairness(&[0.4]), unfairness(&[])], [0.0, 0.0]);
    }

    #[test]
    fn throughput_is_one_for_programs_one_after_the_other() {
        // Both slowed down by 100 %: 1/2 + 1/2.
        assert!(close(throughput([(50.0, 100.0), (3.0, 6.0)]), 1.0));
        assert!(close(throughput([(75.0, 100.0), (3.0, 6.0)]), 1.25));
    }

    #[test]
    fn useful_counts_leaves_of_all_sizes() {
        // 100,000 leaves of 7 µs and 20,000 of 28 µs a second, on two processors: 0.7 and 0.56 of
        // a processor.
        assert!(close(useful([(100_000.0, 7e-6), (20_000.0, 28e-6)], 2.0), 0.63));
    }

    #[test]
    fn the_variation_of_groups_is_that_of_all_their_numbers() {
        let single =
            |values: &[f64]| values.iter().map(|&value| (1.0, value, 0.0)).collect::<Vec<_>>();
        assert_eq!([variation(&[]), variation(&single(&[3.0]))], [None; 2]);
        // Deviations -2, 0, 2: variance 8/2, deviation 2, mean 4.
        assert!(close(variation(&single(&[2.0, 4.0, 6.0])).unwrap(), 0.5));
        assert!(close(deviation(&[2.0, 4.0, 6.0]), 2.0) && deviation(&[5.0]) == 0.0);
        let (first, second) = ([1.0, 2.0, 6.0], [4.0, 9.0]);
        let group = |all: &[f64]| (all.len() as f64, mean(all).unwrap(), deviation(all));
        let all = variation(&single(&[1.0, 2.0, 6.0, 4.0, 9.0])).unwrap();
        assert!(close(variation(&[group(&first), group(&second)]).unwrap(), all));
    }

    #[test]
    fn overlap_is_what_all_share() {
        assert!(close(overlap(&[(0, 100), (0, 100)]), 1.0));
        assert!(close(overlap(&[(0, 100), (50, 150)]), 0.5));
        assert!(close(overlap(&[(0, 200), (50, 150), (60, 300)]), 90.0 / 240.0));
        assert_eq!([overlap(&[(0, 10), (20, 30)]), overlap(&[])], [0.0, 0.0]);
    }

    #[test]
    fn only_what_ran_beside_all_others_from_beginning_to_end_counts() {
        let of = |times: &[(u64, u64)]| -> Vec<Repetition> {
            times.iter().map(|&(begun, ended)| Repetition { begun, ended }).collect()
        };
        // The second program begins at 5 and ends at 100: what the first began before and ended
        // after is left out.
        let first = of(&[(0, 10), (10, 30), (30, 90), (90, 101)]);
        let second = of(&[(5, 50), (50, 100)]);
        let counted = overlapped(&[first.clone(), second.clone()]);
        assert_eq!(counted, [of(&[(10, 30), (30, 90)]), second]);
        assert_eq!(overlapped(std::slice::from_ref(&first)), [first], "alone, all count");
    }
}
