//! Hood's bound, T <= c1·T1/PA + c∞·T∞·P/PA ("The Performance of Work Stealing in Multiprogrammed Environments", 1998, sections 5
//! and 6), as [`model`](super::model) and [`multiprogram`](super::multiprogram) measure it: computations whose work and critical path
//! are known, with a [`Point`] for each measurement; the constants that [`fit`] them, and the [`Envelope`] under which none should lie.

mod computation;
mod envelope;
pub mod fit;
mod metered;
pub mod plan;
#[cfg(test)]
pub(crate) mod tests;
pub mod words;

pub use computation::{Beside, Computation, Point};
pub use envelope::{Envelope, TARGET};
pub use metered::Metered;
pub(crate) use metered::is_time;

use fit::Fit;

/// The synthetic benchmark, whose parallelism is chosen by its parameters.
pub const KNARY: &str = "knary";

/// What was measured of the bound.
#[derive(Debug, Clone)]
pub struct Bound {
    /// Each input with its points.
    pub computations: Vec<Computation>,
    /// The constants of `knary`, of the other applications, and of all.
    pub fits: [(&'static str, Option<Fit>); 3],
}

impl Bound {
    /// What follows from the points of these.
    pub fn of(computations: Vec<Computation>) -> Bound {
        let fit_of = |is_wanted: fn(&str) -> bool| {
            let wanted = computations.iter().filter(|computation| is_wanted(&computation.app));
            let at = |point: Point| (point.normalized, point.utilization);
            let points = wanted.map(|computation| computation.telling().map(at).collect());
            fit::fit(&points.filter(|points: &Vec<fit::At>| !points.is_empty()).collect::<Vec<_>>())
        };
        let fits = [
            (KNARY, fit_of(|app| app == KNARY)),
            ("the other applications", fit_of(|app| app != KNARY)),
            ("all", fit_of(|_| true)),
        ];
        Bound { computations, fits }
    }

    /// The constants of all points.
    pub fn fit(&self) -> Option<Fit> {
        self.fits[2].1
    }

    /// The points that say anything of the model.
    pub fn telling(&self) -> impl Iterator<Item = (&Computation, Point)> {
        let of =
            |computation| Computation::telling(computation).map(move |point| (computation, point));
        self.computations.iter().flat_map(of)
    }

    /// How the points lie to the curve of [`TARGET`].
    pub fn envelope(&self) -> Envelope<'_> {
        Envelope::of(self.telling())
    }
}
