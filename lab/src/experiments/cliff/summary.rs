//! Medians and ratios of what was measured.

use crate::record::{COPIES, CRITICAL_PATH, Cell, Input, Plan, Record, Sample};

use super::measure::SERIAL;
use super::plan::{BESIDE, ROUNDS};
use super::subject::BUSY_THREADS;
use crate::experiments::times::Times;

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The processors that a program can have on that machine.
    pub capacity: f64,
    /// Each input, in the order of the plan.
    pub inputs: Vec<InputSummary>,
    /// Each runtime beside two busy threads, with as many workers as processors.
    pub beside: Vec<Beside>,
}

/// A runtime beside two busy threads.
#[derive(Debug, Clone)]
pub struct Beside {
    /// The runtime.
    pub runtime: String,
    /// Its speed there over its speed alone, by medians.
    pub share: f64,
}

/// What was measured of an input.
#[derive(Debug, Clone)]
pub struct InputSummary {
    /// The input.
    pub input: Input,
    /// Ts: the serial program.
    pub serial: Times,
    /// T∞, metered with one worker; `None` where that was not measured.
    pub critical_path: Option<Times>,
    /// T1/T∞, both metered with one worker: what metering costs is in both.
    pub parallelism: Option<f64>,
    /// For some numbers of processors, the share of its speed that a serial copy keeps beside as many others: nothing
    /// can use more of these processors.
    pub ceilings: Vec<(usize, f64)>,
    /// The processors that the system had for us while this was measured; `None` if that was not metered.
    pub granted: Option<f64>,
    /// Each runtime that has a version of the application.
    pub runtimes: Vec<RuntimeSummary>,
}

/// What was measured of an input on a runtime.
#[derive(Debug, Clone)]
pub struct RuntimeSummary {
    /// The runtime.
    pub runtime: String,
    /// T1, the work: the time with one worker.
    pub work: f64,
    /// T1/Ts.
    pub overhead: f64,
    /// Each number of workers that was measured.
    pub points: Vec<Point>,
}

/// What was measured with a number of workers.
#[derive(Debug, Clone)]
pub struct Point {
    /// P.
    pub workers: usize,
    /// PA = min(P, processors).
    pub processors: f64,
    /// TP.
    pub times: Times,
    /// T1/TP.
    pub speedup: f64,
    /// T1/(PA·TP).
    pub utilization: f64,
    /// The ceiling on the utilization with this PA, at most 1.
    pub ceiling: f64,
}

impl Point {
    /// The utilization relative to the ceiling.
    pub fn of_ceiling(&self) -> f64 {
        self.utilization / self.ceiling
    }

    /// True if the utilization is possible: no program uses more than the whole machine. Otherwise
    /// other programs took processors while T1 was measured.
    pub fn is_plausible(&self) -> bool {
        self.utilization <= MOST_UTILIZATION
    }

    /// Whether there were more workers than processors.
    pub fn is_crowded(&self) -> bool {
        self.workers as f64 > self.processors
    }
}

/// The numbers of processors that the plan's numbers of workers can have: for each there is a ceiling. With one processor
/// it is 1, and nothing is to be measured.
pub fn numbers_of_copies(plan: &Plan, processors: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> =
        plan.workers.iter().map(|&workers| workers.min(processors)).collect();
    numbers.retain(|&number| number > 1);
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// A utilization above this one is noise. Caches can make a parallel program a little faster than the
/// serial one.
const MOST_UTILIZATION: f64 = 1.2;

/// Others are worth a warning from this share of the machine on.
pub(crate) const DISTURBANCE: f64 = 0.03;

impl Summary {
    /// True if a point is not plausible: then nothing can be concluded from the record as a whole.
    pub fn is_noisy(&self) -> bool {
        let runtimes = self.inputs.iter().flat_map(|input| &input.runtimes);
        !runtimes.flat_map(|runtime| &runtime.points).all(Point::is_plausible)
    }

    /// The share of its speed that a program with as many workers as processors keeps, if the kernel
    /// gives each thread of the machine the same share.
    pub fn fair_share(&self) -> f64 {
        self.capacity / (self.capacity + BUSY_THREADS as f64)
    }

    /// The processors that others took while all this was measured, if they are worth a word.
    pub fn taken_by_others(&self) -> Option<f64> {
        let taken: Vec<f64> =
            self.inputs.iter().filter_map(|input| Some(self.capacity - input.granted?)).collect();
        let mean = taken.iter().sum::<f64>() / taken.len().max(1) as f64;
        (mean > DISTURBANCE * self.capacity).then_some(mean)
    }

    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let inputs = record
            .plan
            .all_inputs()
            .into_iter()
            .filter_map(|input| summarize(record, input))
            .collect();
        Summary { capacity: record.machine.capacity(), inputs, beside: beside(record) }
    }
}

fn beside(record: &Record) -> Vec<Beside> {
    let processors = record.machine.processors;
    let median = |app: &str, runtime: &str| {
        let is_it =
            |cell: &Cell| cell.app == app && cell.runtime == runtime && cell.workers == processors;
        let samples = record.samples.iter().filter(|sample| is_it(&sample.cell));
        Times::of(samples.map(|sample| sample.seconds).collect()).map(|times| times.median)
    };
    let share = |runtime: &String| {
        let share = median(ROUNDS, runtime)? / median(BESIDE, runtime)?;
        Some(Beside { runtime: runtime.clone(), share })
    };
    record.plan.runtimes.iter().filter_map(share).collect()
}

fn summarize(record: &Record, input: Input) -> Option<InputSummary> {
    let samples = |runtime: &str, workers: usize| -> Vec<&Sample> {
        let wanted = Cell {
            app: input.app.clone(),
            size: input.size.clone(),
            runtime: runtime.to_owned(),
            workers,
        };
        record.samples.iter().filter(|sample| sample.cell == wanted).collect()
    };
    let times = |runtime: &str, workers| {
        Times::of(samples(runtime, workers).iter().map(|sample| sample.seconds).collect())
    };

    let serial = times(SERIAL, 1)?;
    // A ceiling is what can be reached, so the best of each counts: a disturbance must not lower it.
    let ceiling = |copies| Some((serial.least / times(COPIES, copies)?.least).min(1.0));
    let ceilings: Vec<(usize, f64)> = numbers_of_copies(&record.plan, record.machine.processors)
        .into_iter()
        .filter_map(|copies| Some((copies, ceiling(copies)?)))
        .collect();
    let point = |runtime: &str, work: f64, workers: usize| {
        let times = times(runtime, workers)?;
        let processors = record.machine.granted(workers);
        let speedup = work / times.median;
        let ceiling = ceilings.iter().rfind(|(copies, _)| *copies as f64 <= processors.ceil());
        Some(Point {
            workers,
            processors,
            times,
            speedup,
            utilization: speedup / processors,
            ceiling: ceiling.map_or(1.0, |(_, ceiling)| *ceiling),
        })
    };
    let runtimes = record
        .plan
        .runtimes
        .iter()
        .filter_map(|runtime| {
            let work = times(runtime, 1)?.median;
            let points = record
                .plan
                .workers
                .iter()
                .filter_map(|&workers| point(runtime, work, workers))
                .collect();
            Some(RuntimeSummary {
                runtime: runtime.clone(),
                work,
                overhead: work / serial.median,
                points,
            })
        })
        .collect();
    let granted = granted(record, &input);
    let critical_path = times(CRITICAL_PATH, 1);
    let metered = samples(CRITICAL_PATH, 1).into_iter().filter_map(|sample| sample.metered);
    let parallelism =
        Times::of(metered.map(|metered| metered.work / metered.critical_path).collect());
    let parallelism = parallelism.map(|parallelism| parallelism.median);
    Some(InputSummary { input, serial, critical_path, parallelism, ceilings, granted, runtimes })
}

/// The mean of what was granted while `input` was measured, by the time that each figure stands for.
fn granted(record: &Record, input: &Input) -> Option<f64> {
    let of_input =
        || record.grants.iter().filter(|grant| grant.app == input.app && grant.size == input.size);
    let seconds: f64 = of_input().map(|grant| grant.metered_seconds).sum();
    let granted: f64 = of_input().map(|grant| grant.processors * grant.metered_seconds).sum();
    (seconds > 0.0).then(|| granted / seconds)
}
