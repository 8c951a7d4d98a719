//! The finding, in words, computed from the record: it says what was measured, also where that is not what we hoped for.

use crate::experiments::cliff::summary::{InputSummary, Point, Summary};

/// A point that a runtime reached on an input, with more workers than processors.
#[derive(Clone, Copy)]
struct Place<'a> {
    input: &'a InputSummary,
    point: &'a Point,
}

impl Place<'_> {
    fn name(&self) -> String {
        format!("{} {} at P = {}", self.input.input.app, self.input.input.size, self.point.workers)
    }
}

/// The headline: where static partitioning falls lowest, and what Locksley makes of the same input there.
pub(super) fn headline(summary: &Summary) -> String {
    let place = lowest(summary, "static");
    let beside = place.and_then(|place| {
        let locksley = place.input.runtimes.iter().find(|runtime| runtime.runtime == "locksley")?;
        let point = locksley.points.iter().find(|point| point.workers == place.point.workers)?;
        Some((place, point))
    });
    match beside {
        Some((place, locksley)) => format!(
            "{} workers on {} processors: static partitioning makes use of {} of the machine, Locksley of {}",
            place.point.workers,
            summary.capacity,
            percent(place.point.utilization),
            percent(locksley.utilization)
        ),
        None => "Speedup and utilization over the number of workers".to_owned(),
    }
}

/// Which input the headline speaks of.
pub(super) fn subject(summary: &Summary) -> Option<String> {
    let place = lowest(summary, "static")?;
    Some(format!("Measured with {}, where static partitioning is at its worst", place.name()))
}

/// A runtime's shares over all measurements with more workers than processors.
pub(super) struct Share {
    pub(super) runtime: String,
    /// The one in the middle.
    pub(super) typical: String,
    pub(super) worst: String,
    /// Where the worst was measured.
    pub(super) place: String,
}

/// The shares of each runtime.
pub(super) fn shares(summary: &Summary) -> Vec<Share> {
    let mut names: Vec<&str> = Vec::new();
    for runtime in summary.inputs.iter().flat_map(|input| &input.runtimes) {
        if !names.contains(&runtime.runtime.as_str()) {
            names.push(&runtime.runtime);
        }
    }
    let share = |name: &str| {
        let worst = lowest(summary, name)?;
        let mut shares: Vec<f64> =
            crowded(summary, name).map(|place| place.point.utilization).collect();
        shares.sort_by(f64::total_cmp);
        Some(Share {
            runtime: name.to_owned(),
            typical: percent(shares[shares.len() / 2]),
            worst: percent(worst.point.utilization),
            place: worst.name(),
        })
    };
    names.into_iter().filter_map(share).collect()
}

fn lowest<'a>(summary: &'a Summary, runtime: &'a str) -> Option<Place<'a>> {
    crowded(summary, runtime).min_by(|a, b| a.point.utilization.total_cmp(&b.point.utilization))
}

fn crowded<'a>(summary: &'a Summary, runtime: &'a str) -> impl Iterator<Item = Place<'a>> {
    summary.inputs.iter().flat_map(move |input| {
        let of_runtime = input.runtimes.iter().filter(move |found| found.runtime == runtime);
        let points = of_runtime.flat_map(|found| &found.points).filter(|point| point.is_crowded());
        points.map(move |point| Place { input, point })
    })
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}
