//! The model T = c1·T1/PA + c∞·T∞·P/PA: its constants by least squares, and the curve under which
//! no point should lie.
//!
//! With x = P·T∞/T1, the normalized number of processes, and U = T1/(PA·T), the utilization, the
//! model says 1 = c1·U + c∞·x·U. This is what is fitted: its errors are relative to the measured
//! time, so that long and short runs count alike (as for Cilk: Blumofe et al., "Cilk: an efficient
//! multithreaded runtime system", 1995, section 5).

use itertools::Itertools;

use crate::experiment::text::percent;

/// c1 and c∞ of the curve that should be a lower envelope.
pub(super) const TARGET: (f64, f64) = (1.05, 2.0);

/// Of a normal distribution, 95 % lie within so many standard deviations.
const NINETY_FIVE: f64 = 1.96;

/// With fewer inputs, nothing can be said of others.
const INPUTS_FOR_MARGINS: usize = 4;

/// A measured point.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::experiments) struct Point {
    /// The application with its size.
    pub subject: String,
    /// What ran beside it; empty if it was alone.
    pub beside: String,
    /// P.
    pub workers: usize,
    /// PA.
    pub processors: f64,
    /// P·T∞/T1.
    pub normalized: f64,
    /// T1/(PA·TP).
    pub utilization: f64,
}

/// The constants, and how sure they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::experiments) struct Fit {
    /// The constant of the work.
    pub c1: f64,
    /// The constant of the span.
    pub c_inf: f64,
    /// The half widths of their 95 % confidence intervals; `None` for too few inputs.
    pub margins: Option<(f64, f64)>,
    /// The mean of the errors, each relative to the measured time.
    pub mean_error: f64,
    /// The number of points.
    pub points: usize,
}

/// How the points lie to the curve of [`TARGET`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Envelope<'a> {
    /// Those under it, the farthest first.
    pub under: Vec<&'a Point>,
    /// The least c1 with which, beside the target's c∞, the curve is a lower envelope.
    pub c1: f64,
    /// The least c∞ beside the target's c1.
    pub c_inf: f64,
}

impl Fit {
    /// The heads of [`Fit::cells`].
    pub(in crate::experiments) const HEADS: [&str; 6] =
        ["c1", "± c1", "c∞", "± c∞", "mean error", "points"];

    /// The constants for a table.
    pub(in crate::experiments) fn cells(&self) -> [String; 6] {
        let (of_c1, of_c_inf) = self.margins.unzip();
        let margin = |of: Option<f64>| of.map_or_else(String::new, |of| format!("{of:.3}"));
        [
            format!("{:.3}", self.c1),
            margin(of_c1),
            format!("{:.2}", self.c_inf),
            margin(of_c_inf),
            percent(self.mean_error),
            self.points.to_string(),
        ]
    }
}

impl Point {
    pub(super) fn at(&self) -> (f64, f64) {
        (self.normalized, self.utilization)
    }
}

/// The utilization of the model with these constants.
pub(in crate::experiments) fn utilization((c1, c_inf): (f64, f64), normalized: f64) -> f64 {
    (c1 + c_inf * normalized).recip()
}

/// The constants for which the model comes closest to the points; `None` if there are too few, or
/// they do not tell the two apart.
///
/// Points of one subject share T1 and T∞, so they do not err independently. Hence the margins are
/// found by leaving out one subject after the other (the jackknife: Tukey, "Bias and confidence in
/// not-quite large samples", 1958).
pub(in crate::experiments) fn fit<'a>(points: impl Iterator<Item = &'a Point>) -> Option<Fit> {
    let sorted = points.sorted_by(|a, b| a.subject.cmp(&b.subject));
    let by_subject = sorted.chunk_by(|point| &point.subject);
    let of_subject = by_subject.into_iter().map(|(_, all)| all.map(Point::at).collect());
    let inputs: Vec<Vec<(f64, f64)>> = of_subject.collect();
    let all = inputs.concat();
    let (c1, c_inf) = constants(&all)?;
    let errors = all.iter().map(|&(x, u)| (1.0 - (c1 + c_inf * x) * u).abs());
    let mean_error = errors.sum::<f64>() / all.len() as f64;
    Some(Fit { c1, c_inf, margins: margins(&inputs), mean_error, points: all.len() })
}

fn margins(inputs: &[Vec<(f64, f64)>]) -> Option<(f64, f64)> {
    let number = inputs.len();
    if number < INPUTS_FOR_MARGINS {
        return None;
    }
    let without = |left_out: usize| {
        let (before, after) = (&inputs[..left_out], &inputs[left_out + 1..]);
        constants(&[before.concat(), after.concat()].concat())
    };
    let (c1s, c_infs): (Vec<f64>, Vec<f64>) =
        (0..number).map(without).collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let margin = |values: Vec<f64>| {
        let mean = values.iter().sum::<f64>() / number as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        NINETY_FIVE * (squares * (number - 1) as f64 / number as f64).sqrt()
    };
    Some((margin(c1s), margin(c_infs)))
}

fn constants(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let sum = |term: fn(f64, f64) -> f64| -> f64 { points.iter().map(|&(x, u)| term(x, u)).sum() };
    let (uu, vv, uv) = (sum(|_, u| u * u), sum(|x, u| (x * u).powi(2)), sum(|x, u| x * u * u));
    let (u, v) = (sum(|_, u| u), sum(|x, u| x * u));
    let determinant = uu * vv - uv * uv;
    if points.len() < 3 || determinant <= 1e-12 * uu * vv {
        return None;
    }
    Some(((vv * u - uv * v) / determinant, (uu * v - uv * u) / determinant))
}

/// How the points lie to the curve of [`TARGET`].
pub(super) fn envelope(points: &[Point]) -> Envelope<'_> {
    let most = |value: &dyn Fn(&Point) -> f64| points.iter().map(value).fold(0.0, f64::max);
    let depth = |point: &Point| point.utilization / utilization(TARGET, point.normalized);
    let mut under: Vec<&Point> = points.iter().filter(|point| depth(point) < 1.0).collect();
    under.sort_by(|a, b| depth(a).total_cmp(&depth(b)));
    Envelope {
        under,
        c1: most(&|point| point.utilization.recip() - TARGET.1 * point.normalized),
        c_inf: most(&|point| (point.utilization.recip() - TARGET.0) / point.normalized),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(subject: &str, normalized: f64, utilization: f64) -> Point {
        let (subject, beside) = (subject.to_owned(), String::new());
        Point { subject, beside, workers: 2, processors: 2.0, normalized, utilization }
    }

    /// Points that follow the model, those of each subject with constants of its own.
    fn points(number: usize, constants: impl Fn(usize) -> (f64, f64)) -> Vec<Point> {
        let of = |n: usize| {
            let constants = constants(n);
            let at = move |workers: i32| {
                let x = f64::from(workers) / (1.0 + 7.0 * n as f64);
                point(&n.to_string(), x, utilization(constants, x))
            };
            [2, 4, 8, 64].map(at)
        };
        (0..number).flat_map(of).collect()
    }

    #[test]
    fn what_follows_the_model_gives_its_constants_back() {
        for (c1, c_inf) in [(1.0, 1.0), (1.1, 2.0), (1.05, 0.3)] {
            let fit = fit(points(6, |_| (c1, c_inf)).iter()).unwrap();
            assert!((fit.c1 - c1).abs() < 1e-9 && (fit.c_inf - c_inf).abs() < 1e-9, "{fit:?}");
            let (of_c1, of_c_inf) = fit.margins.unwrap();
            assert!(of_c1 < 1e-6 && of_c_inf < 1e-6 && fit.mean_error < 1e-9, "{fit:?}");
            assert_eq!(fit.points, 24);
        }
    }

    /// More points of the same subjects do not narrow the margins: those are of other subjects.
    #[test]
    fn margins_are_those_of_subjects() {
        let off = |n: usize| if n.is_multiple_of(2) { 1.02 } else { 0.98 };
        let points = points(20, |n| (off(n), 2.0 * off(n)));
        let fitted = fit(points.iter()).unwrap();
        assert!((fitted.mean_error - 0.02).abs() < 0.005, "{fitted:?}");
        let (of_c1, of_c_inf) = fitted.margins.unwrap();
        assert!((fitted.c1 - 1.0).abs() < of_c1 && of_c1 < 0.05, "{fitted:?}");
        assert!((fitted.c_inf - 2.0).abs() < of_c_inf && of_c_inf < 0.5, "{fitted:?}");
        let again = fit(points.iter().cycle().take(10 * points.len())).unwrap().margins.unwrap();
        assert!((again.0 - of_c1).abs() < 1e-9 && (again.1 - of_c_inf).abs() < 1e-9);
    }

    #[test]
    fn too_little_is_no_fit() {
        assert_eq!(fit([].iter()), None);
        assert_eq!(fit([point("a", 0.1, 0.9), point("a", 1.0, 0.5)].iter()), None);
        let at_one_place = [0.7, 0.6, 0.8].map(|utilization| point("a", 0.5, utilization));
        assert_eq!(fit(at_one_place.iter()), None);
        assert_eq!(fit(points(3, |_| (1.0, 1.0)).iter()).unwrap().margins, None);
    }

    #[test]
    fn the_envelope_is_the_curve_under_which_no_point_lies() {
        // 1/U is 2.4 at x = 1/2, and 7.5 at x = 2.
        let points =
            [point("a", 0.25, 1.0 / 1.5), point("a", 0.5, 1.0 / 2.4), point("b", 2.0, 1.0 / 7.5)];
        let envelope = envelope(&points);
        assert_eq!(envelope.under, [&points[2], &points[1]]);
        assert!((envelope.c1 - 3.5).abs() < 1e-9, "{envelope:?}");
        assert!((envelope.c_inf - 6.45 / 2.0).abs() < 1e-9, "{envelope:?}");
        for constants in [(envelope.c1, TARGET.1), (TARGET.0, envelope.c_inf)] {
            let is_above = |point: &Point| {
                point.utilization >= utilization(constants, point.normalized) - 1e-12
            };
            assert!(points.iter().all(is_above), "{constants:?}");
        }
    }
}
