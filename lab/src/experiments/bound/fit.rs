//! The two constants, by least squares.
//!
//! With x = P·T∞/T1, the normalized number of processes, and U = T1/(PA·T), the utilization, the model says
//! 1/U = c1 + c∞·x, or 1 = c1·U + c∞·x·U. The latter is fitted: its errors are those of the predicted time relative to the
//! measured one, so that long and short runs count alike (as Cilk's constants were fitted: Blumofe et al., "Cilk: an efficient
//! multithreaded runtime system", 1995, section 5).

/// A measured point: the normalized number of processes, and the utilization.
pub type At = (f64, f64);

/// What was fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// The constant of the work.
    pub c1: f64,
    /// That of the critical path.
    pub c_inf: f64,
    /// The half widths of their 95% confidence intervals, as far as other inputs would have given others; `None` for too few of them.
    pub margins: Option<(f64, f64)>,
    /// The mean of the errors, each relative to the measured time.
    pub mean_error: f64,
    /// How many points there are.
    pub points: usize,
}

/// Of a normal distribution 95% lie within so many standard deviations.
const NINETY_FIVE: f64 = 1.96;

/// The constants for which the model comes closest to the points of all inputs; `None` if there are too few, or they do not tell the two apart.
///
/// Points of one input share its T1 and T∞, so they do not err independently. Hence the margins are found by leaving out one input after the
/// other (the jackknife: Tukey, "Bias and confidence in not-quite large samples", 1958).
pub fn fit(inputs: &[Vec<At>]) -> Option<Fit> {
    let all = inputs.concat();
    let (c1, c_inf) = constants(&all)?;
    let errors = all.iter().map(|&(x, u)| (1.0 - (c1 + c_inf * x) * u).abs());
    let mean_error = errors.sum::<f64>() / all.len() as f64;
    Some(Fit { c1, c_inf, margins: margins(inputs), mean_error, points: all.len() })
}

/// With fewer inputs nothing can be said of others.
const INPUTS_FOR_MARGINS: usize = 4;

fn margins(inputs: &[Vec<At>]) -> Option<(f64, f64)> {
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

fn constants(points: &[At]) -> Option<(f64, f64)> {
    let sum = |term: fn(f64, f64) -> f64| -> f64 { points.iter().map(|&(x, u)| term(x, u)).sum() };
    let (uu, vv, uv) = (sum(|_, u| u * u), sum(|x, u| (x * u).powi(2)), sum(|x, u| x * u * u));
    let (u, v) = (sum(|_, u| u), sum(|x, u| x * u));
    let determinant = uu * vv - uv * uv;
    if points.len() < 3 || determinant <= 1e-12 * uu * vv {
        return None;
    }
    Some(((vv * u - uv * v) / determinant, (uu * v - uv * u) / determinant))
}

/// The utilization that the model has with these constants.
pub fn utilization(c1: f64, c_inf: f64, x: f64) -> f64 {
    (c1 + c_inf * x).recip()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inputs whose points follow the model, each with constants of its own.
    fn inputs(number: usize, constants: impl Fn(usize) -> (f64, f64)) -> Vec<Vec<At>> {
        let point = |n: usize, workers: i32| {
            let (c1, c_inf) = constants(n);
            let x = f64::from(workers) / (1.0 + 7.0 * n as f64);
            (x, utilization(c1, c_inf, x))
        };
        (0..number).map(|n| [2, 4, 8, 64].map(|workers| point(n, workers)).to_vec()).collect()
    }

    #[test]
    fn what_follows_the_model_gives_its_constants_back() {
        for (c1, c_inf) in [(1.0, 1.0), (1.1, 2.0), (1.05, 0.3)] {
            let fit = fit(&inputs(6, |_| (c1, c_inf))).unwrap();
            assert!((fit.c1 - c1).abs() < 1e-9 && (fit.c_inf - c_inf).abs() < 1e-9, "{fit:?}");
            let (of_c1, of_c_inf) = fit.margins.unwrap();
            assert!(of_c1 < 1e-6 && of_c_inf < 1e-6 && fit.mean_error < 1e-9, "{fit:?}");
            assert_eq!(fit.points, 24);
        }
    }

    /// However many points an input has, it is one input: what differs from one to the next is in the margins, and points do not narrow them.
    #[test]
    fn margins_are_those_of_inputs() {
        let off = |n: usize| if n.is_multiple_of(2) { 1.02 } else { 0.98 };
        let inputs = inputs(20, |n| (off(n), 2.0 * off(n)));
        let fitted = fit(&inputs).unwrap();
        assert!((fitted.mean_error - 0.02).abs() < 0.005, "{fitted:?}");
        let (of_c1, of_c_inf) = fitted.margins.unwrap();
        assert!((fitted.c1 - 1.0).abs() < of_c1 && of_c1 < 0.05, "{fitted:?}");
        assert!((fitted.c_inf - 2.0).abs() < of_c_inf && of_c_inf < 0.5, "{fitted:?}");
        let again: Vec<_> = inputs.iter().map(|points| points.repeat(10)).collect();
        let (again_of_c1, again_of_c_inf) = fit(&again).unwrap().margins.unwrap();
        assert!((again_of_c1 - of_c1).abs() < 1e-9 && (again_of_c_inf - of_c_inf).abs() < 1e-9);
    }

    #[test]
    fn too_little_is_no_fit() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[vec![(0.1, 0.9), (1.0, 0.5)]]), None);
        assert_eq!(fit(&[vec![(0.5, 0.7), (0.5, 0.6), (0.5, 0.8)]]), None, "all at one place");
        assert_eq!(fit(&inputs(3, |_| (1.0, 1.0))).unwrap().margins, None);
    }
}
