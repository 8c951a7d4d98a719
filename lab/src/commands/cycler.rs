//! `locksley cycler`: the co-runner of the Hood papers, and its one line.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::cli::{self, workers_or_default};
use crate::clock;
use crate::corunner::{CyclerLine, Watch, stop_when_told, wait_for_start};
use crate::cycler::{self, Cycler, Done, End, LOOP, Stamp};
use crate::fault::{Fault, Outcome};
use crate::files;
use crate::output::say_line;

/// For how long it is calibrated where nothing is said.
const CALIBRATION: Duration = Duration::from_secs(1);

/// The line of a run. The names p, w and W are those of the papers.
#[derive(Serialize)]
#[expect(non_snake_case, reason = "the papers tell w from W")]
struct Line {
    p: usize,
    w: u64,
    W: Option<u64>,
    seed: u64,
    seconds: f64,
    iterations: u64,
    increments: u64,
    timestamps: usize,
    ended: End,
    /// Increments that one processor makes in a second, if it was given.
    rate: Option<f64>,
    /// The processors that the cycler had on average, if the rate was given.
    processors: Option<f64>,
}

/// The line of a calibration.
#[derive(Serialize)]
struct CalibrationLine {
    seconds: f64,
    increments: u64,
    /// Increments in a second: right where the machine was idle.
    rate: f64,
    /// Those in the best few milliseconds: much more means that the machine was not idle.
    best_rate: Option<f64>,
    unit_microseconds: f64,
    ended: End,
}

pub(super) fn execute(arguments: &cli::Cycler) -> Outcome<()> {
    if let Some(path) = &arguments.timestamps {
        files::try_out(path)?;
    }
    let stop = stopped_by_signals()?;
    if arguments.calibrate {
        return calibrate(arguments.secs.unwrap_or(CALIBRATION), &stop);
    }
    let cycler = Cycler {
        workers: workers_or_default(arguments.workers),
        most: arguments.increments,
        total: arguments.total,
        time: arguments.secs,
        seed: arguments.seed,
        spin: LOOP,
    };
    let watch = match arguments.gate {
        true => {
            wait_for_start()?;
            stop_when_told(&stop)?;
            Some(Watch::start(None))
        }
        false => None,
    };
    let done = cycler.run(&stop).map_err(not_started)?;
    let stretch = watch.map(Watch::stop);
    if let Some(path) = &arguments.timestamps {
        write(path, &done.stamps)?;
    }
    let processors = arguments.rate.map(|rate| done.rate() / rate);
    if let Some(stretch) = stretch {
        let (workers, most, increments) = (cycler.workers, cycler.most, done.count);
        let stamps = done.stamps;
        return say_line(&CyclerLine { workers, most, increments, processors, stamps, stretch });
    }
    say_line(&Line {
        p: cycler.workers,
        w: cycler.most,
        W: cycler.total,
        seed: cycler.seed,
        seconds: done.time.as_secs_f64(),
        iterations: done.iterations,
        increments: done.count,
        timestamps: done.stamps.len(),
        ended: done.end,
        rate: arguments.rate,
        processors,
    })
}

fn calibrate(time: Duration, stop: &AtomicBool) -> Outcome<()> {
    let done: Done = cycler::calibrated(time, stop).map_err(not_started)?;
    if done.count == 0 {
        return Err(Fault::run("not one increment was made in that time"));
    }
    say_line(&CalibrationLine {
        seconds: done.time.as_secs_f64(),
        increments: done.count,
        rate: done.rate(),
        best_rate: done.best_rate(),
        unit_microseconds: 1e6 / done.rate(),
        ended: done.end,
    })
}

/// A flag that is set when the process is asked to end, or interrupted from the keyboard.
fn stopped_by_signals() -> Outcome<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Fault::run(format!("cannot listen to signals: {error}")))?;
    }
    Ok(stop)
}

/// Writes the timestamps as lines of seconds since 1970 and increments.
fn write(path: &Path, stamps: &[Stamp]) -> Outcome<()> {
    let mut text = "seconds,increments\n".to_owned();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let start = now.as_secs_f64() - clock::seconds(0, clock::now());
    for stamp in stamps {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:.6},{}", start + clock::seconds(0, stamp.at), stamp.count);
    }
    std::fs::write(path, text)
        .map_err(|error| Fault::run(format!("cannot write {}: {error}", path.display())))
}

fn not_started(reason: String) -> Fault {
    Fault::run(format!("the cycler's workers cannot be started: {reason}"))
}
