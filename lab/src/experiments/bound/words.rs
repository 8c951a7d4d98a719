//! The bound in words.

use super::{Bound, Computation, Point, TARGET};

/// The constants, and which points fall under the target, a sentence each.
pub fn sentences(bound: &Bound) -> Vec<String> {
    let mut sentences = fits(bound);
    sentences.extend(envelope(bound));
    for computation in bound.computations.iter().filter(|computation| !computation.is_whole) {
        sentences.push(format!(
            "left out, since the meter does not follow all of its waits: {}",
            computation.name()
        ));
    }
    sentences
}

fn fits(bound: &Bound) -> Vec<String> {
    let sentence = |(name, fit): &(&str, Option<super::fit::Fit>)| match fit {
        Some(fit) => {
            let (of_c1, of_c_inf) = match fit.margins {
                Some((c1, c_inf)) => (format!(" ± {c1:.3}"), format!(" ± {c_inf:.2} (95%)")),
                None => (String::new(), String::new()),
            };
            format!(
                "{name}: c1 = {:.3}{of_c1}, c∞ = {:.2}{of_c_inf}, mean error {:.0}%, {} points",
                fit.c1,
                fit.c_inf,
                100.0 * fit.mean_error,
                fit.points
            )
        }
        None => format!("{name}: too few points for constants"),
    };
    bound.fits.iter().map(sentence).collect()
}

fn envelope(bound: &Bound) -> Vec<String> {
    let envelope = bound.envelope();
    let (c1, c_inf) = TARGET;
    let (under, all) = (envelope.under.len(), envelope.points);
    if all == 0 {
        return Vec::new();
    }
    if under == 0 {
        return vec![format!(
            "({c1}, {c_inf}) is a lower envelope: none of {all} points lies under its curve"
        )];
    }
    let mut sentences = vec![format!(
        "({c1}, {c_inf}) is no lower envelope: {under} of {all} points lie under its curve; one would be ({:.2}, {c_inf}), or ({c1}, {:.2})",
        envelope.c1, envelope.c_inf
    )];
    for computation in &bound.computations {
        let its = envelope.under.iter().filter(|(other, _)| std::ptr::eq(*other, computation));
        let places = places(its.map(|(_, point)| *point));
        if !places.is_empty() {
            sentences.push(format!("under it: {} with {places}", computation.name()));
        }
    }
    if let Some((computation, point)) = envelope.farthest() {
        sentences.push(format!(
            "the farthest is {}: utilization {:.2} at {:.3}",
            place(computation, &point),
            point.utilization,
            point.normalized
        ));
    }
    sentences
}

/// The numbers of workers of these points, beside each neighbour.
fn places(points: impl Iterator<Item = Point>) -> String {
    let mut places: Vec<(_, Vec<String>)> = Vec::new();
    for point in points {
        let workers = point.workers.to_string();
        match places.iter_mut().find(|(beside, _)| *beside == point.beside) {
            Some((_, all)) => all.push(workers),
            None => places.push((point.beside, vec![workers])),
        }
    }
    let place = |(beside, workers): &(Option<super::Beside>, Vec<String>)| {
        let beside = beside.map_or(String::new(), |beside| format!(" beside {beside}"));
        format!("P = {}{beside}", workers.join(", "))
    };
    places.iter().map(place).collect::<Vec<_>>().join("; ")
}

/// Where a point was measured.
pub fn place(computation: &Computation, point: &Point) -> String {
    format!("{} with {}", computation.name(), places(std::iter::once(*point)))
}
