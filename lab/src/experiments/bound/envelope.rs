//! The lower envelope: the curve under which no point should lie.

use super::computation::{Computation, Point};
use super::fit;

/// c1 and c∞ of the curve that should be a lower envelope.
pub const TARGET: (f64, f64) = (1.05, 2.0);

/// How points lie to the curve of [`TARGET`].
#[derive(Debug, Clone)]
pub struct Envelope<'a> {
    /// Those that lie under it.
    pub under: Vec<(&'a Computation, Point)>,
    /// How many there are.
    pub points: usize,
    /// The least c1 with which, beside the target's c∞, the curve is a lower envelope.
    pub c1: f64,
    /// The least c∞ beside the target's c1.
    pub c_inf: f64,
}

impl<'a> Envelope<'a> {
    pub(super) fn of(all: impl Iterator<Item = (&'a Computation, Point)>) -> Envelope<'a> {
        let mut envelope = Envelope { under: Vec::new(), points: 0, c1: 0.0, c_inf: 0.0 };
        let (c1, c_inf) = TARGET;
        for (computation, point) in all {
            let Point { normalized, utilization, .. } = point;
            envelope.points += 1;
            envelope.c1 = envelope.c1.max(utilization.recip() - c_inf * normalized);
            envelope.c_inf = envelope.c_inf.max((utilization.recip() - c1) / normalized);
            if utilization < fit::utilization(c1, c_inf, normalized) {
                envelope.under.push((computation, point));
            }
        }
        envelope
    }

    /// The point that lies farthest under the curve, in proportion.
    pub fn farthest(&self) -> Option<(&'a Computation, Point)> {
        let (c1, c_inf) = TARGET;
        let depth =
            |point: &Point| point.utilization / fit::utilization(c1, c_inf, point.normalized);
        self.under.iter().copied().min_by(|a, b| depth(&a.1).total_cmp(&depth(&b.1)))
    }
}
