//! The programs: `crates/rayon-core/workloads`, built on either core, and this one for `loop`.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use locksley_profile::GrantMeter;
use serde::Deserialize;

use crate::corunner::repetition::{Line, Repetition};
use crate::corunner::{RoundsLine, Stretch};
use crate::experiment::Readings;
use crate::experiment::child::{self, Ended};
use crate::experiments::corun::metrics::{mean, overlapped};
use crate::experiments::corun::process::Company;
use crate::fault::{Fault, Outcome};
use crate::files;
use crate::machine::Machine;
use crate::output::note;

/// The script that makes the programs, seen from Locksley's root folder, and where it leaves them.
const BUILD: &str = "crates/rayon-core/workloads/build";
pub(super) const BUILT: &str = "crates/rayon-core/workloads/bin";

/// The metrics. The first one is the time of a computation in milliseconds.
pub(super) const MS: &str = "ms";
pub(super) const PROCESSORS: &str = "processors";
pub(super) const LOOP_RATE: &str = "leaves of loop per s";
pub(super) const LOOP_PROCESSORS: &str = "processors of loop";
pub(super) const OTHERS: &str = "processors of others";

const BUILD_TIME: Duration = Duration::from_secs(1800);
/// Until a program has printed what it is.
const INTRODUCTION: Duration = Duration::from_secs(20);
/// Until a program is ready, it prepares its input, computes once, and checks the answer.
const PREPARATION: Duration = Duration::from_secs(120);
/// How much longer than planned a measurement may take: a computation that was begun is completed.
const OVERTIME: Duration = Duration::from_secs(180);

/// What a program prints of itself.
#[derive(Debug, Deserialize)]
pub(super) struct Program {
    pub(super) version: String,
    pub(super) core: String,
    pub(super) workloads: Vec<Workload>,
}

#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) about: String,
}

/// Makes the programs, or finds that they are made.
pub(super) fn build() -> Outcome<()> {
    if !Path::new(BUILD).is_file() {
        return Err(Fault::input(format!(
            "{BUILD} is not there: start this in Locksley's root folder, or name a folder with \
             the programs (--programs)"
        )));
    }
    note(&format!("rayon: {BUILD} builds what is compared; the first time takes a minute"));
    match child::run(&mut Command::new(BUILD), BUILD_TIME) {
        Ended::Well { .. } => Ok(()),
        Ended::Badly(why) => Err(Fault::run(format!("{BUILD} failed: {why}"))),
        Ended::Never => Err(Fault::run(format!("{BUILD} did not end in time"))),
    }
}

/// The programs of `runtimes` in `folder`, each called like its runtime. They must be what they are
/// called, and have the same workloads.
pub(super) fn find(folder: &Path, runtimes: &[&str]) -> Outcome<Vec<Program>> {
    let mut programs: Vec<Program> = Vec::new();
    for &runtime in runtimes {
        let file = folder.join(runtime);
        let fault = |why: String| Fault::input(format!("{}: {why}", file.display()));
        if !file.is_file() {
            return Err(fault(format!("it is not there: {BUILD} makes it")));
        }
        let mut version = Command::new(&file);
        let mut found: Program =
            child::finds(version.arg("version"), INTRODUCTION).map_err(fault)?;
        if found.core != runtime {
            return Err(fault(format!("it runs on the core of {}, not {runtime}", found.core)));
        }
        if programs.iter().any(|other| other.workloads != found.workloads) {
            return Err(fault("its workloads are not those of the other program".to_owned()));
        }
        found.version += &format!(" ({})", files::digest_of(&file));
        programs.push(found);
    }
    Ok(programs)
}

type Named = Option<(String, Command)>;

/// Runs a workload, or `loop`, or both side by side. Alone, the workload computes for so long and
/// so often at least; beside `loop` as long as that runs.
pub(super) fn run(
    workload: Named,
    busy: Named,
    seconds: f64,
    computations: usize,
) -> Outcome<Readings> {
    let (has_workload, has_loop) = (workload.is_some(), busy.is_some());
    let mut company = Company::start(workload.into_iter().chain(busy).collect())?;
    company.wait_until_ready(PREPARATION)?;
    let meter = GrantMeter::start();
    company.signal()?;
    let (begun, time) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut computed: Vec<Repetition> = Vec::new();
    let (mut end, mut looped): (Option<Stretch>, Option<RoundsLine>) = (None, None);
    let mut is_told = false;
    while (has_workload && end.is_none()) || (has_loop && looped.is_none()) {
        let (number, line) = company.hear(begun + time + OVERTIME)?;
        // `loop` is the last one.
        let is_loop = has_loop && number + 1 == company.len();
        let has_ended = if is_loop { looped.is_some() } else { end.is_some() };
        match line {
            Some(line) if is_loop => looped = Some(parse(&line)?),
            Some(line) => match parse(&line)? {
                Line::Computation(repetition) => computed.push(repetition),
                Line::End(stretch) if is_told => end = Some(stretch),
                Line::End(_) => return Err(Fault::run("it stopped before it was told to")),
            },
            None if has_ended => {}
            None => return Err(company.complaint(number)),
        }
        let is_enough = match has_loop {
            true => looped.is_some(),
            false => begun.elapsed() >= time && computed.len() >= computations,
        };
        if has_workload && is_enough && !is_told {
            company.tell(0)?;
            is_told = true;
        }
    }
    let granted = meter.finish(Machine::here().capacity().floor().max(1.0) as usize);
    company.finish()?;
    let mut readings = readings(computed, end, looped.as_ref())?;
    let stretches = [end, looped.map(|line| line.stretch)].into_iter().flatten();
    let used: Option<f64> = stretches.map(|stretch| stretch.processor_seconds).sum();
    // To the meter of this process, its children are others.
    if let Some((others, used)) = granted.others.zip(used) {
        let others = (others.as_secs_f64() - used) / granted.wall.as_secs_f64();
        readings.insert(OTHERS.to_owned(), others.max(0.0));
    }
    Ok(readings)
}

/// Those computations count that lie within the time of `loop`, if it ran beside them.
fn readings(
    computed: Vec<Repetition>,
    end: Option<Stretch>,
    looped: Option<&RoundsLine>,
) -> Outcome<Readings> {
    let mut readings = Readings::new();
    let mut read = |name: &str, value| readings.insert(name.to_owned(), value);
    let processors = |stretch: &Stretch| Some(stretch.processor_seconds? / stretch.seconds());
    let mut programs = vec![computed];
    if let Some(RoundsLine { rounds_per_s, stretch, .. }) = looped {
        read(LOOP_RATE, *rounds_per_s);
        processors(stretch).map(|processors| read(LOOP_PROCESSORS, processors));
        programs.push(vec![Repetition { begun: stretch.begun, ended: stretch.ended }]);
    }
    if let Some(stretch) = end {
        let counted = overlapped(&programs).swap_remove(0);
        let seconds: Vec<f64> = counted.iter().map(Repetition::seconds).collect();
        let none =
            "no computation ran beside loop from beginning to end: give it more time (--secs)";
        let mean = mean(&seconds).filter(|&mean| mean > 0.0).ok_or_else(|| Fault::run(none))?;
        read(MS, mean * 1e3);
        processors(&stretch).map(|processors| read(PROCESSORS, processors));
    }
    Ok(readings)
}

fn parse<T: for<'a> Deserialize<'a>>(line: &str) -> Outcome<T> {
    serde_json::from_str(line)
        .map_err(|error| Fault::run(format!("a process printed '{line}': {error}")))
}
