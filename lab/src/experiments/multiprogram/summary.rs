//! Points of the model with PA as it was measured, and the two ways of measuring it beside each other.

use super::plan::{Plan, What};
use super::record::{Reading, Record, Shared};
use crate::experiments::bound::plan::Input;
use crate::experiments::bound::{Beside, Bound, Computation};
use crate::experiments::cliff::summary::DISTURBANCE;
use crate::experiments::times::Times;
use crate::machine::Machine;
use crate::record::Cell;

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The processors that a program can have on that machine.
    pub capacity: f64,
    /// The processors that others than the cyclers took, if they are worth a word: the cycler's count knows nothing of them.
    pub taken: Option<f64>,
    /// Each input, and the constants.
    pub bound: Bound,
    /// The increments that one processor makes in a second; `None` where no calibration succeeded.
    pub rate: Option<f64>,
    /// PA beside each cycler, measured in both ways.
    pub checks: Vec<Check>,
}

/// PA beside a cycler.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The cycler.
    pub beside: Beside,
    /// Each measurement, in order.
    pub runs: Vec<Granted>,
    /// The processor time that the system has on the cycler's account, relative to what its counter comes to: more than 1 where an increment took longer than when
    /// it was calibrated. `None` where the system does not tell.
    pub account: Option<f64>,
}

/// PA of one measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Granted {
    /// PA(cycler): increments by time by rate.
    pub cycler: f64,
    /// By the papers' method: min(P, processors − PA(cycler)).
    pub by_cycler: f64,
    /// By the meter.
    pub by_meter: f64,
}

/// How far the two are from each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The mean of what the papers' method has more than the meter.
    pub mean: f64,
    /// The mean of the differences, whatever their signs.
    pub distance: f64,
    /// The largest difference.
    pub most: f64,
    /// Of so many measurements.
    pub number: usize,
}

impl Granted {
    fn of(shared: &Shared, machine: &Machine, workers: usize, rate: f64) -> Option<Granted> {
        shared.others?;
        let cycler = shared.increments / shared.wall / rate;
        let by_cycler = left(machine, workers, cycler);
        Some(Granted { cycler, by_cycler, by_meter: shared.granted })
    }

    fn difference(&self) -> f64 {
        self.by_cycler - self.by_meter
    }
}

/// What a cycler leaves of a machine to so many workers.
fn left(machine: &Machine, workers: usize, cycler: f64) -> f64 {
    // As the meter has it: the kernel runs everybody a little.
    let left = (machine.processors as f64 - cycler).max(0.01);
    left.min(machine.capacity()).min(workers as f64)
}

impl Difference {
    /// Of these; `None` if there are none.
    pub fn of<'a>(runs: impl Iterator<Item = &'a Granted>) -> Option<Difference> {
        let all: Vec<f64> = runs.map(Granted::difference).collect();
        let number = all.len();
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / number as f64;
        let most = all.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
        let distance = mean(&mut all.iter().map(|difference| difference.abs()));
        Some(Difference { mean: mean(&mut all.iter().copied()), distance, most, number })
    }
}

impl Check {
    /// How far the two ways of measuring PA are from each other here.
    pub fn difference(&self) -> Option<Difference> {
        Difference::of(self.runs.iter())
    }

    /// The mean of PA(cycler).
    pub fn cycler(&self) -> Option<f64> {
        let number = self.runs.len();
        (number > 0).then(|| self.runs.iter().map(|run| run.cycler).sum::<f64>() / number as f64)
    }

    /// The least and the most PA by the meter.
    pub fn range(&self) -> Option<(f64, f64)> {
        let all = || self.runs.iter().map(|run| run.by_meter);
        Some((all().reduce(f64::min)?, all().reduce(f64::max)?))
    }
}

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let (plan, machine) = (&record.header.plan, &record.header.machine);
        let rates = readings(record, Plan::calibration()).filter_map(|reading| match reading {
            Reading::Rate { per_second, .. } => Some(*per_second),
            _ => None,
        });
        let rate = Times::of(rates.collect()).map(|rates| rates.median);
        let computations =
            plan.inputs.iter().filter_map(|input| computation(record, input, rate)).collect();
        let check = |beside: &Beside| check(record, *beside, rate?);
        Summary {
            capacity: machine.capacity(),
            taken: taken(record).filter(|&taken| taken > DISTURBANCE * machine.capacity()),
            bound: Bound::of(computations),
            rate,
            checks: plan.cyclers.iter().filter_map(check).collect(),
        }
    }

    /// How far the two ways of measuring PA are from each other in all.
    pub fn difference(&self) -> Option<Difference> {
        Difference::of(self.checks.iter().flat_map(|check| &check.runs))
    }
}

fn readings(record: &Record, cell: Cell) -> impl Iterator<Item = &Reading> {
    let of_cell = record.measurements.iter().filter(move |found| found.cell == cell);
    of_cell.map(|found| &found.reading)
}

/// What was measured of an input beside a cycler.
fn shared<'a>(
    record: &'a Record,
    input: &Input,
    workers: usize,
    beside: Beside,
) -> impl Iterator<Item = &'a Shared> {
    let cell = What::Beside(beside).of(input, workers);
    readings(record, cell).filter_map(|reading| match reading {
        Reading::Beside(shared) => Some(shared),
        _ => None,
    })
}

fn computation(record: &Record, input: &Input, rate: Option<f64>) -> Option<Computation> {
    let (mut seconds, mut metered) = (Vec::new(), Vec::new());
    for reading in readings(record, What::Alone.of(input, 1)) {
        if let Reading::Alone(alone) = reading {
            seconds.push(alone.seconds);
            metered.push(alone.metered);
        }
    }
    let mut computation = Computation::of(&input.0, &input.1, seconds, &metered)?;
    let plan = &record.header.plan;
    let machine = &record.header.machine;
    for &beside in &plan.cyclers {
        for &workers in &plan.workers {
            let all: Vec<&Shared> = shared(record, input, workers, beside).collect();
            if let Some((processors, seconds)) = together(&all, machine, workers, rate) {
                let point = computation.point(workers, Some(beside), processors, seconds);
                computation.points.push(point);
            }
        }
    }
    Some(computation)
}

/// PA and the time of a computation, over all repetitions: PA is an average over time, so those count by their time. Where the system does not tell what others took,
/// PA is what the cycler left; `None` if that is not known either.
fn together(
    all: &[&Shared],
    machine: &Machine,
    workers: usize,
    rate: Option<f64>,
) -> Option<(f64, f64)> {
    let (mut processor_seconds, mut wall, mut seconds, mut computations) = (0.0, 0.0, 0.0, 0);
    for shared in all {
        let granted = match shared.others {
            Some(_) => shared.granted,
            None => left(machine, workers, shared.increments / shared.wall / rate?),
        };
        processor_seconds += granted * shared.wall;
        wall += shared.wall;
        seconds += shared.seconds;
        computations += shared.computations;
    }
    (computations > 0).then(|| (processor_seconds / wall, seconds / computations as f64))
}

/// The processors that others than the cyclers had, on average over all measurements; `None` if the system does not tell.
fn taken(record: &Record) -> Option<f64> {
    let (mut seconds, mut wall) = (0.0, 0.0);
    for found in &record.measurements {
        let Reading::Beside(shared) = found.reading else { continue };
        let cycler = shared.life.processor_seconds? / shared.life.seconds;
        seconds += shared.others? - cycler * shared.wall;
        wall += shared.wall;
    }
    (wall > 0.0).then(|| seconds / wall)
}

/// Both ways of measuring PA beside this cycler; `None` if nothing was measured there.
fn check(record: &Record, beside: Beside, rate: f64) -> Option<Check> {
    let (plan, machine) = (&record.header.plan, &record.header.machine);
    let (mut runs, mut counted, mut accounted) = (Vec::new(), 0.0, Some(0.0));
    for input in &plan.inputs {
        for &workers in &plan.workers {
            for shared in shared(record, input, workers, beside) {
                runs.extend(Granted::of(shared, machine, workers, rate));
                counted += shared.life.increments / rate;
                accounted = accounted.zip(shared.life.processor_seconds).map(|(a, b)| a + b);
            }
        }
    }
    let account = accounted.filter(|_| counted > 0.0).map(|accounted| accounted / counted);
    (counted > 0.0 || !runs.is_empty()).then_some(Check { beside, runs, account })
}
