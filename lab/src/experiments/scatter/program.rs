//! The program that makes a measurement: this one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::once::Finding;
use crate::experiments::forkjoin::child::{self, Ended};
use crate::experiments::forkjoin::program::settings_removed;
use crate::record::Cell;

/// The hidden command of this program that measures one network once.
pub const ONCE: &str = "scatter-once";

/// A program, and how it is told to measure something once.
#[derive(Debug, Clone)]
pub struct Program {
    file: PathBuf,
    /// Arguments before those of the measurement.
    first: Vec<String>,
}

impl Program {
    /// This program: the executable `file`.
    pub fn this(file: &Path) -> Program {
        Program { file: file.to_owned(), first: vec![ONCE.to_owned()] }
    }

    /// A shell script. Its arguments 2 to 5 are the runtime, the network, the workers and the seed.
    #[cfg(all(test, unix))]
    pub(super) fn script(script: &str) -> Program {
        let first = ["-c", script, "sh"].map(str::to_owned).to_vec();
        Program { file: PathBuf::from("sh"), first }
    }

    /// Measures `cell` once; else why it did not.
    pub(super) fn measure(
        &self,
        cell: &Cell,
        seed: u64,
        limit: Duration,
    ) -> Result<Finding, String> {
        let mut command = Command::new(&self.file);
        command.args(&self.first).args(["--runtime", &cell.runtime, &cell.size]);
        command.args([cell.workers.to_string(), seed.to_string()]);
        settings_removed(&mut command);
        match child::run(&mut command, limit) {
            Ended::Well(out, _) => serde_json::from_str(&out)
                .map_err(|_| format!("it printed '{}'", out.trim().lines().next().unwrap_or(""))),
            Ended::Badly(why) => Err(why),
            Ended::Never => Err(format!("it did not end in {} s", limit.as_secs_f64())),
        }
    }
}
