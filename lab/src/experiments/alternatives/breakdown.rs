//! Where the time went: figure 3 of the study.

use super::plan;
use super::record::{Record, Sample};
use crate::record::Input;

/// The breakdowns of an input.
#[derive(Debug, Clone)]
pub struct InputBreakdown {
    /// The input.
    pub input: Input,
    /// For each runtime, one for as many workers as processors and one for twice as many, where they were measured.
    pub bars: Vec<Bar>,
}

/// What a runtime did with a number of workers: means over all repetitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// The runtime.
    pub runtime: String,
    /// P.
    pub workers: usize,
    /// The time, relative to the same runtime's with as many workers as processors: the first bar is 1 high.
    pub height: f64,
    /// How the workers' time divides; `None` if the runtime does not meter it.
    pub shares: Option<Shares>,
    /// Context switches a second because a thread waited.
    pub voluntary: Option<f64>,
    /// Context switches a second because the kernel wanted it, or at a yield.
    pub involuntary: Option<f64>,
    /// Attempts to steal a second, whatever came of them.
    pub attempts: Option<f64>,
}

/// Shares of the time of all workers, together 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// Executing tasks, or asleep, or off the processor meanwhile.
    pub working: f64,
    /// Looking for work.
    pub hunting: f64,
    /// Waiting for the locks of deques.
    pub locks: f64,
}

/// The breakdowns of all inputs of a record.
pub fn of(record: &Record) -> Vec<InputBreakdown> {
    let crowds = plan::crowds(record.machine.processors);
    let of_input = |input: Input| {
        let bars = record.plan.runtimes.iter().flat_map(|runtime| {
            let samples = |workers: usize| samples(record, &input, runtime, workers);
            let first = mean(samples(crowds[0]).map(|sample| sample.time.seconds))?;
            let bars = crowds.map(|workers| bar(runtime, workers, samples(workers), first));
            Some(bars.into_iter().flatten().collect::<Vec<_>>())
        });
        InputBreakdown { bars: bars.flatten().collect(), input: input.clone() }
    };
    record.plan.all_inputs().into_iter().map(of_input).collect()
}

fn samples<'a>(
    record: &'a Record,
    input: &'a Input,
    runtime: &'a str,
    workers: usize,
) -> impl Iterator<Item = &'a Sample> + Clone {
    record.samples.iter().filter(move |sample| {
        let cell = &sample.time.cell;
        (&cell.app, &cell.size) == (&input.app, &input.size)
            && cell.runtime == runtime
            && cell.workers == workers
    })
}

fn bar<'a>(
    runtime: &str,
    workers: usize,
    samples: impl Iterator<Item = &'a Sample> + Clone,
    first: f64,
) -> Option<Bar> {
    let time = mean(samples.clone().map(|sample| sample.time.seconds))?;
    let rate = |count: fn(&Sample) -> Option<u64>| {
        mean(samples.clone().filter_map(|sample| Some(count(sample)? as f64 / sample.wall)))
    };
    Some(Bar {
        runtime: runtime.to_owned(),
        workers,
        height: time / first,
        shares: shares(workers, samples.clone()),
        voluntary: rate(|sample| Some(sample.switches?.voluntary)),
        involuntary: rate(|sample| Some(sample.switches?.involuntary)),
        attempts: rate(|sample| sample.effort.map(|effort| effort.steals + effort.failed_steals)),
    })
}

fn shares<'a>(workers: usize, samples: impl Iterator<Item = &'a Sample> + Clone) -> Option<Shares> {
    let share = |of: fn(&Sample) -> Option<f64>| {
        mean(
            samples.clone().filter_map(|sample| Some(of(sample)? / (sample.wall * workers as f64))),
        )
    };
    let locks = share(|sample| Some(sample.effort?.times?.locks))?.min(1.0);
    // Hunters wait for locks, too; that time is the locks'.
    let hunting = share(|sample| {
        let times = sample.effort?.times?;
        Some((times.hunting - times.locks).max(0.0))
    })?
    .min(1.0 - locks);
    Some(Shares { working: 1.0 - hunting - locks, hunting, locks })
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, number) = values.fold((0.0, 0), |(sum, number), value| (sum + value, number + 1));
    (number > 0).then(|| sum / f64::from(number))
}
