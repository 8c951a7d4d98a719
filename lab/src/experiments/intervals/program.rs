//! The program that reads what an interval costs: this one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::record::Reading;
use crate::experiments::forkjoin::child::{self, Ended};
use crate::experiments::forkjoin::program::settings_removed;
use crate::record::Cell;

/// The hidden command of this program that reads one cost once.
pub const ONCE: &str = "intervals-once";

/// A program, and how it is told to read something once.
#[derive(Debug, Clone)]
pub struct Program {
    file: PathBuf,
    /// Arguments before those of what is read.
    first: Vec<String>,
}

impl Program {
    /// This program: the executable `file`.
    pub fn this(file: &Path) -> Program {
        Program { file: file.to_owned(), first: vec![ONCE.to_owned()] }
    }

    /// A shell script. Its arguments are the cost and the number of intervals.
    #[cfg(all(test, unix))]
    pub(super) fn script(script: &str) -> Program {
        let first = ["-c", script, "sh"].map(str::to_owned).to_vec();
        Program { file: PathBuf::from("sh"), first }
    }

    /// Reads the cost that `cell` names, once; else why it did not.
    pub(super) fn read(&self, cell: &Cell, limit: Duration) -> Result<Reading, String> {
        let mut command = Command::new(&self.file);
        command.args(&self.first).args([&cell.app, &cell.size]);
        settings_removed(&mut command);
        match child::run(&mut command, limit) {
            Ended::Well(out, _) => serde_json::from_str(&out)
                .map_err(|_| format!("it printed '{}'", out.trim().lines().next().unwrap_or(""))),
            Ended::Badly(why) => Err(why),
            Ended::Never => Err(format!("it did not end in {} s", limit.as_secs_f64())),
        }
    }
}
