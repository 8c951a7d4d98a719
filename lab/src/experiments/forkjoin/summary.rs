//! Medians and ratios of what was measured.

use super::once::{Shape, Subject, Takeover};
use super::plan::{PLAIN, SERIAL, STUCK_WORKERS};
use super::record::{INSTRUCTIONS, Reading, Record};
use crate::experiments::times::Times;
use crate::record::Cell;

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Each computation.
    pub inputs: Vec<InputSummary>,
    /// Each stuck owner.
    pub stuck: Vec<StuckSummary>,
}

/// What was measured of a computation.
#[derive(Debug, Clone)]
pub struct InputSummary {
    /// What is computed.
    pub app: String,
    /// Its size.
    pub size: String,
    /// Its forks.
    pub forks: u64,
    /// Ts: the recursion as anybody would write it, of which the compiler may make what it likes.
    pub serial: Times,
    /// The code of the forking versions with two calls for a fork, which the compiler may not change.
    pub calls: Times,
    /// The runtimes that did not end with one worker, so that nothing can be said of them.
    pub given_up: Vec<String>,
    /// Each runtime that was measured with one worker.
    pub runtimes: Vec<RuntimeSummary>,
}

/// What was measured of a computation on a runtime.
#[derive(Debug, Clone)]
pub struct RuntimeSummary {
    /// The runtime.
    pub runtime: String,
    /// T1.
    pub work: Times,
    /// T1/Ts.
    pub overhead: f64,
    /// (T1 − Ts)/forks, in nanoseconds.
    pub task_nanos: f64,
    /// The same from the shortest times: on a machine that others use, these say more.
    pub best_task_nanos: f64,
    /// The same over two calls, in nanoseconds: what is left is the fork itself.
    pub over_calls_nanos: f64,
    /// Instructions a fork beyond those of the code with two calls, if they were counted (for fib only).
    pub task_instructions: Option<f64>,
    /// Each number of workers.
    pub points: Vec<Point>,
}

/// What was measured with a number of workers.
#[derive(Debug, Clone)]
pub struct Point {
    /// P.
    pub workers: usize,
    /// TP; `None` if it did not end within the limit.
    pub times: Option<Times>,
    /// TP/T1.
    pub of_work: Option<f64>,
    /// Ts/TP.
    pub speedup: Option<f64>,
}

/// What became of a stuck owner's tasks.
#[derive(Debug, Clone)]
pub struct StuckSummary {
    /// How it was stuck.
    pub shape: Shape,
    /// By runtime.
    pub runtimes: Vec<(String, Fate)>,
}

/// What became of a stuck owner's tasks on a runtime.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    /// They were done.
    Done {
        /// The median of both.
        median: Takeover,
        /// The worst of both.
        worst: Takeover,
        /// How often it was measured.
        number: usize,
    },
    /// They never were: it did not end in so many seconds.
    Never(f64),
}

/// Serial runs that differ by more than this were disturbed.
const UNREST: f64 = 1.2;

impl Summary {
    /// The longest serial time over the shortest, if that is worth a word: others used the machine.
    pub fn unrest(&self) -> Option<f64> {
        let ratios = self.inputs.iter().map(|input| input.serial.most / input.serial.least);
        ratios.reduce(f64::max).filter(|&ratio| ratio > UNREST)
    }

    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let plan = &record.header.plan;
        let inputs = plan
            .inputs
            .iter()
            .filter_map(|size| summarize(record, &size.app, &size.size, size.subject().ok()?))
            .collect();
        let stuck = plan
            .shapes
            .iter()
            .filter_map(|name| Shape::find(name))
            .map(|shape| StuckSummary { shape, runtimes: fates(record, shape) })
            .collect();
        Summary { inputs, stuck }
    }
}

/// What was read of a cell, in the order in which it was.
fn readings<'a>(record: &'a Record, cell: &'a Cell) -> impl Iterator<Item = Reading> + 'a {
    let of_cell = record.measurements.iter().filter(move |found| found.cell == *cell);
    of_cell.map(|found| found.reading)
}

fn cell(app: &str, size: &str, runtime: &str, workers: usize) -> Cell {
    let (app, size, runtime) = (app.to_owned(), size.to_owned(), runtime.to_owned());
    Cell { app, size, runtime, workers }
}

fn summarize(record: &Record, app: &str, size: &str, subject: Subject) -> Option<InputSummary> {
    let times = |runtime: &str, workers| {
        let cell = cell(app, size, runtime, workers);
        let seconds = readings(record, &cell).filter_map(|reading| match reading {
            Reading::Seconds(seconds) => Some(seconds),
            _ => None,
        });
        Times::of(seconds.collect())
    };
    let forks = subject.forks();
    let calls = times(SERIAL, 1)?;
    let serial = times(PLAIN, 1).unwrap_or(calls);
    let names = || record.header.runtimes.iter().map(|runtime| runtime.name.as_str());
    let is_given_up = |name: &&str| {
        readings(record, &cell(app, size, name, 1))
            .any(|reading| matches!(reading, Reading::Never(_)))
    };
    let given_up = names().filter(is_given_up).map(str::to_owned).collect();
    let runtimes = names()
        .filter(|name| ![SERIAL, PLAIN].contains(name))
        .filter_map(|name| {
            let work = times(name, 1)?;
            let point = |workers| {
                let times = times(name, workers);
                Point {
                    workers,
                    times,
                    of_work: times.map(|times| times.median / work.median),
                    speedup: times.map(|times| serial.median / times.median),
                }
            };
            let counted = matches!(subject, Subject::Fib(_));
            let task_nanos = |work: f64, serial: f64| (work - serial) / forks as f64 * 1e9;
            Some(RuntimeSummary {
                runtime: name.to_owned(),
                work,
                overhead: work.median / serial.median,
                task_nanos: task_nanos(work.median, serial.median),
                best_task_nanos: task_nanos(work.least, serial.least),
                over_calls_nanos: task_nanos(work.median, calls.median),
                task_instructions: counted.then(|| task_instructions(record, name)).flatten(),
                points: record.header.plan.workers.iter().map(|&workers| point(workers)).collect(),
            })
        })
        .collect();
    let (app, size) = (app.to_owned(), size.to_owned());
    Some(InputSummary { app, size, forks, serial, calls, given_up, runtimes })
}

/// Instructions a fork beyond the serial ones. What both sizes execute, starting up, cancels.
fn task_instructions(record: &Record, runtime: &str) -> Option<f64> {
    let [small, large] = record.header.plan.instructions?;
    let of = |runtime: &str, n: u32| {
        let cell = cell(INSTRUCTIONS, &n.to_string(), runtime, 1);
        readings(record, &cell).find_map(|reading| match reading {
            Reading::Instructions(number) => Some(number as f64),
            _ => None,
        })
    };
    let forks = (Subject::Fib(large).forks() - Subject::Fib(small).forks()) as f64;
    let each = |runtime| Some((of(runtime, large)? - of(runtime, small)?) / forks);
    Some(each(runtime)? - each(SERIAL)?)
}

fn fates(record: &Record, shape: Shape) -> Vec<(String, Fate)> {
    let fate = |name: &str| {
        let cell = cell(Subject::STUCK, shape.name(), name, STUCK_WORKERS);
        let (mut first, mut all) = (Vec::new(), Vec::new());
        for reading in readings(record, &cell) {
            match reading {
                Reading::Takeover(takeover) => {
                    first.push(takeover.first_ms);
                    all.push(takeover.all_ms);
                }
                Reading::Never(seconds) => return Some(Fate::Never(seconds)),
                Reading::Seconds(_) | Reading::Instructions(_) => {}
            }
        }
        let (first, all) = (Times::of(first)?, Times::of(all)?);
        Some(Fate::Done {
            median: Takeover { first_ms: first.median, all_ms: all.median },
            worst: Takeover { first_ms: first.most, all_ms: all.most },
            number: all.number,
        })
    };
    let names = record.header.runtimes.iter().map(|runtime| &runtime.name);
    names.filter_map(|name| Some((name.clone(), fate(name)?))).collect()
}
