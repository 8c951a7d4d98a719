//! Medians, normalized.

use super::record::Record;
use crate::experiments::bound::{Bound, Computation, Metered};
use crate::experiments::cliff::summary::{DISTURBANCE, Times};

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The processors that a program can have on that machine.
    pub capacity: f64,
    /// The processors that others took while this was measured, if they are worth a word: PA is as if there were none.
    pub taken: Option<f64>,
    /// Each input, and the constants.
    pub bound: Bound,
}

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let of_input = |(app, size): &(String, String)| summarize(record, app, size);
        let capacity = record.machine.capacity();
        let taken = record.others.filter(|&taken| taken > DISTURBANCE * capacity);
        let bound = Bound::of(record.plan.inputs.iter().filter_map(of_input).collect());
        Summary { capacity, taken, bound }
    }
}

fn summarize(record: &Record, app: &str, size: &str) -> Option<Computation> {
    let samples =
        || record.samples.iter().filter(move |sample| sample.app == app && sample.size == size);
    let times = |workers: usize| {
        let timed = samples().filter(|s| s.metered.is_none() && s.workers == workers);
        timed.map(|sample| sample.seconds).collect::<Vec<f64>>()
    };
    let metered: Vec<Metered> = samples().filter_map(|sample| sample.metered).collect();
    let mut computation = Computation::of(app, size, times(1), &metered)?;
    let point = |&workers: &usize| {
        let seconds = Times::of(times(workers))?.median;
        Some(computation.point(workers, None, record.machine.granted(workers), seconds))
    };
    let points = record.plan.workers.iter().filter_map(point).collect();
    computation.points = points;
    Some(computation)
}
