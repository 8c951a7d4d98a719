//! Medians of ratios, normalized.

use super::record::{Record, Sample};
use crate::experiments::bound::{Bound, Computation, Metered};
use crate::experiments::cliff::summary::DISTURBANCE;
use crate::experiments::times::Times;

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
    let timed =
        |workers: usize| samples().filter(move |s| s.metered.is_none() && s.workers == workers);
    let metered: Vec<Metered> = samples().filter_map(|sample| sample.metered).collect();
    let works = timed(1).map(|sample| sample.seconds).collect();
    let mut computation = Computation::of(app, size, works, &metered)?;
    let point = |&workers: &usize| {
        // A shared machine is now faster and now slower, so each time is compared with that of one worker in the same rotation.
        let of_one = |sample: &Sample| {
            let one = timed(1).find(|one| one.repeat == sample.repeat)?;
            Some(sample.seconds / one.seconds)
        };
        let ratio = Times::of(timed(workers).filter_map(of_one).collect())?.median;
        let seconds = ratio * computation.work;
        Some(computation.point(workers, None, record.machine.granted(workers), seconds))
    };
    let points = record.plan.workers.iter().filter_map(point).collect();
    computation.points = points;
    Some(computation)
}
