//! The program that makes a measurement: this one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::once::Finding;
use super::plan::RUNTIMES;
use super::record::Plan;
use crate::experiments::child::{self, Ended, settings_removed};
use crate::record::Cell;

/// The hidden command of this program that measures one thing once.
pub const ONCE: &str = "locality-once";

/// The command that runs an application once.
const RUN: &str = "run";

/// A program, and how it is told to measure something once.
#[derive(Debug, Clone)]
pub struct Program {
    file: PathBuf,
    /// Arguments before the command.
    first: Vec<String>,
}

impl Program {
    /// This program: the executable `file`.
    pub fn this(file: &Path) -> Program {
        Program { file: file.to_owned(), first: Vec::new() }
    }

    /// A shell script. Its first argument is the command: [`ONCE`], followed by an option, the placement, the kind, the workers and the size; or
    /// [`RUN`], followed by the application.
    #[cfg(all(test, unix))]
    pub(super) fn script(script: &str) -> Program {
        let first = ["-c", script, "sh"].map(str::to_owned).to_vec();
        Program { file: PathBuf::from("sh"), first }
    }

    /// Measures `cell` once; else why it did not.
    pub(super) fn measure(&self, cell: &Cell, plan: &Plan) -> Result<Finding, String> {
        let Cell { app, size, runtime, workers } = cell;
        let is_app = RUNTIMES.contains(&runtime.as_str());
        let mut command = Command::new(&self.file);
        command.args(&self.first);
        if is_app {
            command.args([RUN, app, "--json", "--runtime", runtime, "--size", size]);
            command.args(["--workers", &workers.to_string()]);
        } else {
            command.args([ONCE, "--placement", runtime, app, &workers.to_string(), size]);
            command.args(plan.level.iter().flat_map(|level| ["--level", level]));
        }
        command.args(["--seed", &plan.seed.to_string()]);
        let limit = Duration::from_secs_f64(plan.limit_seconds);
        settings_removed(&mut command);
        match child::run(&mut command, limit) {
            Ended::Well(out, _) => {
                let found = if is_app { of_app(&out) } else { serde_json::from_str(&out).ok() };
                let line = || format!("it printed '{}'", out.trim().lines().next().unwrap_or(""));
                found.ok_or_else(line)
            }
            Ended::Badly(why) => Err(why),
            Ended::Never => Err(format!("it did not end in {} s", limit.as_secs_f64())),
        }
    }
}

/// What `run APP --json` has printed, which fails if the answer is wrong.
fn of_app(line: &str) -> Option<Finding> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    let seconds = line["seconds"].as_f64()?;
    Some(Finding { seconds, tasks: 0, out_of_place: 0, counts: None, unbound: 0 })
}
