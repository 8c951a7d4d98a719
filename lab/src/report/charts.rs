//! The charts of the cliff: speedup and utilization for each input, small and all alike, so that they can be compared.

use super::chart::{Chart, WORKERS};
use crate::experiments::cliff::summary::{InputSummary, Point, Summary};

/// A ceiling below this is worth a line of its own.
const VISIBLE_CEILING: f64 = 0.985;

/// Speedup T1/TP over P: figure 1 of the papers.
pub(super) fn speedup(summary: &Summary, input: &InputSummary, workers: &[usize]) -> String {
    draw(summary, input, workers, "speedup", |point| point.speedup, |processors| processors)
}

/// Utilization T1/(PA·TP) over P.
pub(super) fn utilization(summary: &Summary, input: &InputSummary, workers: &[usize]) -> String {
    draw(summary, input, workers, "utilization", |point| point.utilization, |_| 1.0)
}

fn draw(
    summary: &Summary,
    input: &InputSummary,
    workers: &[usize],
    unit: &'static str,
    value: fn(&Point) -> f64,
    ideal: fn(f64) -> f64,
) -> String {
    let of_plausible = |points: std::slice::Iter<'_, Point>, value: fn(&Point) -> f64| {
        let plausible = points.filter(|point| point.is_plausible());
        plausible.map(|point| (point.workers, value(point))).collect()
    };
    let points = || input.runtimes.iter().flat_map(|runtime| &runtime.points);
    let mut machine: Vec<(usize, f64, f64)> =
        points().map(|point| (point.workers, point.processors, point.ceiling)).collect();
    machine.sort_by_key(|&(workers, ..)| workers);
    machine.dedup_by_key(|&mut (workers, ..)| workers);
    let is_low = machine.iter().any(|&(.., ceiling)| ceiling < VISIBLE_CEILING);
    let mut runtimes: Vec<_> = input.runtimes.iter().collect();
    // What is drawn last lies on top.
    runtimes.sort_by_key(|runtime| runtime.runtime == "locksley");
    Chart {
        title: format!(
            "{unit} of {} {} over the number of workers",
            input.input.app, input.input.size
        ),
        unit,
        across: WORKERS,
        workers: workers.to_vec(),
        processors: summary.capacity,
        ideal: machine
            .iter()
            .map(|&(workers, processors, _)| (workers, ideal(processors)))
            .collect(),
        ceiling: machine
            .iter()
            .filter(|_| is_low)
            .map(|&(workers, processors, ceiling)| (workers, ideal(processors) * ceiling))
            .collect(),
        lines: runtimes
            .iter()
            .map(|runtime| {
                let line = of_plausible(runtime.points.iter(), value);
                (runtime.runtime.clone(), line)
            })
            .collect(),
    }
    .svg()
}
