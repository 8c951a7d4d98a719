//! Medians, and the intervals in which they lie, where each of several rotations has measured many times.
//!
//! The bootstrap (Efron, "Bootstrap methods: another look at the jackknife", 1979), by percentiles, in two stages: what one process has measured is
//! more alike than what several have, so rotations are drawn first, and pairs of each rotation then.

use super::estimate::{Estimate, median};
use crate::random::Random;

/// How often all is drawn again.
const RESAMPLES: usize = 1000;

/// What is left out on either side of an interval.
const TAIL: f64 = 0.025;

/// A figure, and what it is in each resample.
#[derive(Debug, Clone)]
pub(super) struct Resampled {
    figure: f64,
    resamples: Vec<f64>,
}

impl Resampled {
    /// The median of all that the rotations have measured; `None` if that is nothing.
    pub(super) fn median(rotations: &[Vec<f64>], random: &mut Random) -> Option<Resampled> {
        let rotations: Vec<&[f64]> =
            rotations.iter().map(Vec::as_slice).filter(|rotation| !rotation.is_empty()).collect();
        let figure = median(&mut rotations.concat())?;
        let mut drawn = Vec::new();
        let mut resample = || {
            drawn.clear();
            for _ in &rotations {
                let rotation = one_of(&rotations, random);
                drawn.extend(rotation.iter().map(|_| one_of(rotation, random)));
            }
            median(&mut drawn)
        };
        let resamples = (0..RESAMPLES).filter_map(|_| resample()).collect();
        Some(Resampled { figure, resamples })
    }

    /// The geometric mean of some that were measured independently of each other; `None` of nothing.
    pub(super) fn geometric_mean(all: &[Resampled]) -> Option<Resampled> {
        let mean = |of: &dyn Fn(&Resampled) -> f64| {
            let logarithms: f64 = all.iter().map(|one| of(one).ln()).sum();
            (logarithms / all.len() as f64).exp()
        };
        let resamples = (0..RESAMPLES).map(|place| mean(&|one| one.resamples[place])).collect();
        (!all.is_empty()).then(|| Resampled { figure: mean(&|one| one.figure), resamples })
    }

    /// The figure with its interval.
    pub(super) fn estimate(mut self) -> Estimate {
        self.resamples.sort_by(f64::total_cmp);
        let last = self.resamples.len() - 1;
        let at = |share: f64| self.resamples[(share * last as f64).round() as usize];
        // A figure that lies outside of what it is likely to be again would be one of very few measurements.
        let (low, high) = (at(TAIL).min(self.figure), at(1.0 - TAIL).max(self.figure));
        Estimate { figure: self.figure, low, high }
    }
}

/// One of them, any as likely as any other.
fn one_of<T: Copy>(all: &[T], random: &mut Random) -> T {
    let place = (u128::from(random.next_u64()) * all.len() as u128) >> 64;
    all[place as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(rotations: &[Vec<f64>]) -> Estimate {
        Resampled::median(rotations, &mut Random::new(7)).unwrap().estimate()
    }

    #[test]
    fn nothing_has_no_median_and_no_mean() {
        let mut random = Random::new(3);
        assert!(Resampled::median(&[], &mut random).is_none());
        assert!(Resampled::median(&[Vec::new()], &mut random).is_none());
        assert!(Resampled::geometric_mean(&[]).is_none());
    }

    #[test]
    fn what_does_not_vary_has_no_room() {
        let found = estimate(&[vec![2.0; 5], Vec::new(), vec![2.0; 9]]);
        assert_eq!(found, Estimate { figure: 2.0, low: 2.0, high: 2.0 });
        assert_eq!(estimate(&[vec![3.0]]), Estimate { figure: 3.0, low: 3.0, high: 3.0 });
    }

    #[test]
    fn the_same_seed_finds_the_same() {
        let mut random = Random::new(1);
        let mut rotation = || (0..20).map(|_| random.next_signed()).collect::<Vec<f64>>();
        let rotations = [rotation(), rotation(), rotation()];
        assert_eq!(estimate(&rotations), estimate(&rotations));
    }

    /// Of many samples of a distribution whose median is known, as many intervals have it as should; with some allowance for percentiles of
    /// small samples.
    #[test]
    fn an_interval_of_95_percent_has_the_median_nearly_as_often() {
        const SAMPLES: usize = 100;
        let mut random = Random::new(11);
        let mut has_it = 0;
        for _ in 0..SAMPLES {
            // Between -1 and 1, evenly: the median is 0.
            let mut rotation = || (0..25).map(|_| random.next_signed()).collect::<Vec<f64>>();
            let rotations: Vec<Vec<f64>> = (0..6).map(|_| rotation()).collect();
            let found = estimate(&rotations);
            assert!(found.low <= found.figure && found.figure <= found.high);
            has_it += usize::from(found.low <= 0.0 && 0.0 <= found.high);
        }
        assert!((88..=100).contains(&has_it), "{has_it} of {SAMPLES}");
    }

    /// What differs between processes, and not within them, is not averaged away by many pairs.
    #[test]
    fn an_interval_is_as_wide_as_rotations_differ() {
        let rotations: Vec<Vec<f64>> =
            (0..6).map(|rotation| vec![f64::from(rotation); 100]).collect();
        let found = estimate(&rotations);
        assert_eq!(found.figure, 2.5);
        assert!(found.high - found.low >= 2.0, "{found:?}");
        // All of it taken for one rotation is said to be surer than it is.
        let naive = estimate(&[rotations.concat()]);
        assert!(naive.high - naive.low < found.high - found.low, "{naive:?} {found:?}");
    }

    #[test]
    fn means_are_geometric_and_have_less_room_than_what_they_are_of() {
        let mut random = Random::new(5);
        let mut resampled = |centre: f64| {
            let numbers = (0..40).map(|_| centre * (1.0 + random.next_signed() / 10.0)).collect();
            Resampled::median(&[numbers], &mut random).unwrap()
        };
        let both = [resampled(1.0), resampled(4.0), resampled(1.0), resampled(4.0)];
        let mean = Resampled::geometric_mean(&both).unwrap().estimate();
        assert!((mean.figure - 2.0).abs() < 0.1, "{mean:?}");
        let one = both[0].clone().estimate();
        assert!(mean.high / mean.low < one.high / one.low, "{mean:?} {one:?}");
    }
}
