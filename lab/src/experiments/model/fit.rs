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
    /// The constant of the work, and the half width of its 95% confidence interval.
    pub c1: (f64, f64),
    /// That of the critical path.
    pub c_inf: (f64, f64),
    /// The mean of the errors, each relative to the measured time.
    pub mean_error: f64,
    /// How many points there are.
    pub points: usize,
}

/// Of a normal distribution 95% lie within so many standard deviations.
const NINETY_FIVE: f64 = 1.96;

/// The constants for which the model comes closest to the points; `None` if there are too few, or they do not tell the two apart.
pub fn fit(points: &[At]) -> Option<Fit> {
    let sum = |term: fn(f64, f64) -> f64| -> f64 { points.iter().map(|&(x, u)| term(x, u)).sum() };
    let (uu, vv, uv) = (sum(|_, u| u * u), sum(|x, u| (x * u).powi(2)), sum(|x, u| x * u * u));
    let (u, v) = (sum(|_, u| u), sum(|x, u| x * u));
    let determinant = uu * vv - uv * uv;
    if points.len() < 3 || determinant <= 1e-12 * uu * vv {
        return None;
    }
    let c1 = (vv * u - uv * v) / determinant;
    let c_inf = (uu * v - uv * u) / determinant;
    let errors = || points.iter().map(|&(x, u)| 1.0 - (c1 + c_inf * x) * u);
    let degrees_of_freedom = (points.len() - 2) as f64;
    let variance = errors().map(|error| error * error).sum::<f64>() / degrees_of_freedom;
    let half = |diagonal: f64| NINETY_FIVE * (variance * diagonal / determinant).sqrt();
    Some(Fit {
        c1: (c1, half(vv)),
        c_inf: (c_inf, half(uu)),
        mean_error: errors().map(f64::abs).sum::<f64>() / points.len() as f64,
        points: points.len(),
    })
}

/// The utilization that the model has with these constants.
pub fn utilization(c1: f64, c_inf: f64, x: f64) -> f64 {
    (c1 + c_inf * x).recip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_model_gives_its_constants_back() {
        for (c1, c_inf) in [(1.0, 1.0), (1.1, 2.0), (1.05, 0.3)] {
            let points: Vec<At> = [0.001, 0.01, 0.1, 0.5, 1.0, 3.0, 20.0]
                .into_iter()
                .map(|x| (x, utilization(c1, c_inf, x)))
                .collect();
            let fit = fit(&points).unwrap();
            assert!((fit.c1.0 - c1).abs() < 1e-9 && (fit.c_inf.0 - c_inf).abs() < 1e-9, "{fit:?}");
            assert!(fit.c1.1 < 1e-6 && fit.c_inf.1 < 1e-6 && fit.mean_error < 1e-9, "{fit:?}");
        }
    }

    /// A disturbance of one in a hundred, this way and that, is found in the error.
    #[test]
    fn errors_are_found() {
        let points: Vec<At> = (0..200)
            .map(|n| {
                let x = f64::from(n % 20) / 5.0;
                let off = if n / 20 % 2 == 0 { 1.01 } else { 0.99 };
                (x, utilization(1.0, 2.0, x) * off)
            })
            .collect();
        let fit = fit(&points).unwrap();
        assert!((fit.mean_error - 0.01).abs() < 0.001, "{fit:?}");
        assert!((fit.c1.0 - 1.0).abs() < fit.c1.1 + 1e-3 && fit.c1.1 < 0.01, "{fit:?}");
        assert!((fit.c_inf.0 - 2.0).abs() < fit.c_inf.1 + 1e-3 && fit.c_inf.1 < 0.02, "{fit:?}");
    }

    #[test]
    fn too_little_is_no_fit() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[(0.1, 0.9), (1.0, 0.5)]), None);
        assert_eq!(fit(&[(0.5, 0.7), (0.5, 0.6), (0.5, 0.8)]), None, "all at one place");
    }
}
