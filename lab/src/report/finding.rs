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

/// The headline: what rayon, Locksley and static partitioning make of the machine where static
/// partitioning falls lowest, and how much speed they keep beside two busy threads.
pub(super) fn headline(summary: &Summary) -> String {
    if summary.is_noisy() {
        return "This machine was too noisy for a verdict: measure again while nothing else runs"
            .to_owned();
    }
    let crowded = lowest(summary, "static").map(|place| {
        let of = |name: &str| {
            let found = place.input.runtimes.iter().find(|runtime| runtime.runtime == name)?;
            let point = found.points.iter().find(|point| point.workers == place.point.workers)?;
            Some(point.utilization)
        };
        let (workers, processors) = (place.point.workers, summary.capacity);
        let uses = each(" uses", of);
        format!("{workers} workers on {processors} processors: {uses} of the machine.")
    });
    let of = |name: &str| {
        let found = summary.beside.iter().find(|found| found.runtime == name);
        found.map(|found| found.share)
    };
    let beside = of("rayon")
        .or(of("locksley"))
        .map(|_| format!("Beside two busy threads: {} of the speed alone.", each(" keeps", of)));
    match [crowded, beside].into_iter().flatten().collect::<Vec<_>>() {
        none if none.is_empty() => "Speedup and utilization over the number of workers".to_owned(),
        sentences => sentences.join(" "),
    }
}

/// The runtimes' figures in words, rayon's first.
fn each(verb: &str, of: impl Fn(&str) -> Option<f64>) -> String {
    let names = [("rayon", "rayon"), ("locksley", "Locksley"), ("static", "static partitioning")];
    let found = names.iter().filter_map(|(name, called)| Some((called, of(name)?)));
    let words = found.enumerate().map(|(index, (called, share))| {
        let verb = if index == 0 { verb } else { "" };
        format!("{called}{verb} {}", percent(share))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The input on which static partitioning, or else the first runtime, falls lowest.
pub(super) fn lowest_input(summary: &Summary) -> Option<&InputSummary> {
    let others = summary.inputs.iter().flat_map(|input| &input.runtimes);
    let mut names = std::iter::once("static").chain(others.map(|found| found.runtime.as_str()));
    names.find_map(|name| lowest(summary, name)).map(|place| place.input)
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
        let points = of_runtime.flat_map(|found| &found.points);
        let points = points.filter(|point| point.is_crowded() && point.is_plausible());
        points.map(move |point| Place { input, point })
    })
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}
