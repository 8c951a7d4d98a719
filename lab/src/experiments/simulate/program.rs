//! The program `simulator`: it is found or built, asked which runtimes it has, and run for each
//! cell. It prints one line of JSON.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::subject::{BESIDE, FOR, ON, SCATTER, START, Subject, UNDER, WITHIN};
use crate::experiment::prelude::*;
use crate::files;
use crate::output::note;

/// The metrics: processor time of the whole run, and what else is counted in it.
pub(super) const RUN: &str = "run seconds";
pub(super) const TRANSFERS: &str = "transfers";
pub(super) const WAKE_UPS: &str = "wake-ups";
pub(super) const STEALS: &str = "steals";
pub(super) const FAILED: &str = "failed steals";
/// The processor time that all busy threads had in a second.
pub(super) const NEIGHBOURS: &str = "processors of neighbours";
/// The mean time of a computation of the other runtime.
pub(super) const OTHER: &str = "seconds of the other";
/// Begins the name of a metric: what follows is a place in the source.
pub(super) const AT: &str = "transfers at ";

/// Its package, seen from Locksley's root folder, and where it is built.
const MANIFEST: &str = "lab/simulator/Cargo.toml";
const TARGET: &str = "lab/simulator/target";

const BUILD_TIME: Duration = Duration::from_secs(1800);
/// For a computation of nothing on one processor.
const CHECK_TIME: Duration = Duration::from_secs(20);
/// How the reasons of the simulator begin that are defects of the runtime, and not of the request.
const DEFECTS: [&str; 3] = [": wrong: ", ": deadlock: ", "panicked"];

/// The program, and the model that it is asked for.
#[derive(Debug)]
pub(super) struct Simulator {
    program: PathBuf,
    model: [String; 4],
    /// A digest of the program, which tells two builds apart.
    pub(super) version: String,
}

impl Simulator {
    /// The program at `asked`; if none is, that of `lab/simulator`, which is built first.
    ///
    /// # Errors
    ///
    /// [`Fault::Input`] if it is not there and cannot be built here, [`Fault::Run`] if building it
    /// fails.
    pub(super) fn find(asked: Option<&Path>, machine: &str, kernel: &str) -> Outcome<Simulator> {
        let program = asked.map_or_else(build, |path| Ok(path.to_owned()))?;
        if !program.is_file() {
            return Err(Fault::input(format!(
                "{} is not there: cargo build --release --manifest-path {MANIFEST} makes it",
                program.display()
            )));
        }
        let version = format!("simulator {}", files::digest_of(&program));
        let model = ["--machine", machine, "--kernel", kernel].map(str::to_owned);
        Ok(Simulator { program, model, version })
    }

    /// Makes sure that it has a runtime, and the machine and the kernel.
    ///
    /// # Errors
    ///
    /// [`Fault::Input`] with what it says of them.
    pub(super) fn check(&self, runtime: &str) -> Outcome<()> {
        let found = child::finds::<Line>(&mut self.command(START, runtime, 1, 1), CHECK_TIME);
        let program = self.program.display();
        found.map(drop).map_err(|why| Fault::input(format!("{program}: {why}")))
    }

    /// Runs a cell once.
    ///
    /// # Errors
    ///
    /// [`Fault::Run`] if the answer is wrong or the runtime does not end, [`Fault::Missing`] if
    /// there is nothing.
    pub(super) fn measure(
        &self,
        plan: &Plan,
        cell: &Cell,
        seed: u64,
        with_places: bool,
    ) -> Outcome<Readings> {
        let subject = Subject::find(&cell.subject)?;
        let on = subject.condition(ON).and_then(|it| it.parse().ok()).unwrap_or(cell.workers);
        let mut command = self.command(&subject.computation, &cell.runtime, on, seed);
        command.args(["--workers", &cell.workers.to_string()]);
        for (condition, value) in &subject.conditions {
            match *condition {
                UNDER => command.args(["--adversary", value]),
                FOR => command.args(["--repeat", value]),
                WITHIN => command.args(["--limit-ms", value]),
                BESIDE => command.arg("--neighbour").arg(format!("{}{value}", cell.runtime)),
                _ => &mut command,
            };
        }
        if subject.busy > 0 {
            command.arg("--neighbour").arg(format!("loops:{}", subject.busy));
        }
        if with_places {
            command.arg("--sites");
        }
        child::finds::<Line>(&mut command, plan.limit()).map_err(graver)?.readings(&subject)
    }

    fn command(&self, computation: &str, runtime: &str, processors: usize, seed: u64) -> Command {
        let mut command = Command::new(&self.program);
        command.args([computation, "--runtime", runtime]).args(&self.model);
        command.args(["--processors", &processors.to_string(), "--seed", &seed.to_string()]);
        command
    }
}

/// Makes the program, or finds that it is made.
fn build() -> Outcome<PathBuf> {
    if !Path::new(MANIFEST).is_file() {
        return Err(Fault::input(format!(
            "{MANIFEST} is not there: start this in Locksley's root folder, or name the program \
             (--simulator)"
        )));
    }
    note("cargo builds the simulator; the first time takes a minute");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--quiet", "--manifest-path", MANIFEST]);
    let built = child::run(cargo.args(["--target-dir", TARGET]), BUILD_TIME);
    let failed = |why| Fault::run(format!("the simulator cannot be built: cargo: {why}"));
    built.map_err(failed).map(|_| Path::new(TARGET).join("release/simulator"))
}

/// The fault as one of the run, if a runtime has caused it.
pub(super) fn graver(fault: Fault) -> Fault {
    match fault {
        Fault::Missing(why) if DEFECTS.iter().any(|it| why.contains(it)) => Fault::Run(why),
        other => other,
    }
}

/// What the simulator prints, as far as it is recorded.
#[derive(Debug, Deserialize)]
pub(super) struct Line {
    seconds: f64,
    work_seconds: f64,
    run_seconds: f64,
    virtual_seconds: f64,
    transfers: f64,
    voluntary_switches: f64,
    counters: BTreeMap<String, f64>,
    neighbours: Vec<(String, f64)>,
    /// The places in the source whose accesses have moved most cache lines.
    sites: Vec<(String, f64)>,
}

impl Line {
    /// What is recorded of it.
    ///
    /// # Errors
    ///
    /// [`Fault::Missing`] if it computed something else, or took no time.
    pub(super) fn readings(self, subject: &Subject) -> Outcome<Readings> {
        let (seconds, found, work) = (self.seconds, self.work_seconds, subject.work());
        if (found - work).abs() > 1e-9 || seconds <= 0.0 {
            let why = format!("it has computed {found} s of {work} s of work in {seconds} s");
            return Err(Fault::Missing(why));
        }
        let mut readings = named([
            (SECONDS, seconds),
            (RUN, self.run_seconds),
            (TRANSFERS, self.transfers),
            (WAKE_UPS, self.voluntary_switches),
        ]);
        if subject.busy > 0 {
            // A busy thread counts milliseconds.
            let counted: f64 = self.neighbours.iter().map(|neighbour| neighbour.1).sum();
            readings.insert(NEIGHBOURS.to_owned(), counted / 1e3 / self.virtual_seconds);
        }
        if subject.condition(BESIDE).is_some() {
            let nanos = self.neighbours.first().map_or(0.0, |neighbour| neighbour.1);
            if nanos <= 0.0 {
                return Err(Fault::Missing("the other runtime has computed nothing".to_owned()));
            }
            readings.insert(OTHER.to_owned(), nanos / 1e9);
        }
        let is_kept = |name: &str| name == STEALS || name == FAILED && subject.kind == SCATTER;
        readings.extend(self.counters.into_iter().filter(|(name, _)| is_kept(name)));
        let places = self.sites.into_iter();
        readings.extend(places.map(|(place, transfers)| (format!("{AT}{place}"), transfers)));
        Ok(readings)
    }
}
