//! A program that measures one thing once: this one, by a hidden command, or another runtime's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::child::{self, Ended, settings_removed};

/// A program, and how it is told what to do.
#[derive(Debug, Clone)]
pub struct Program {
    file: PathBuf,
    /// Arguments before those of the measurement.
    first: Vec<String>,
}

impl Program {
    /// The executable `file` with these arguments before those of a measurement.
    pub fn new(file: &Path, first: &[&str]) -> Program {
        let first = first.iter().map(|&word| word.to_owned()).collect();
        Program { file: file.to_owned(), first }
    }

    /// A shell script. Its arguments are those of a measurement.
    #[cfg(all(test, unix))]
    pub(super) fn script(script: &str) -> Program {
        Program::new(Path::new("sh"), &["-c", script, "sh"])
    }

    /// What it prints when it measures something once, within the limit; else why it did not.
    pub(super) fn finds<F: DeserializeOwned>(
        &self,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<F, String> {
        let mut command = Command::new(&self.file);
        command.args(&self.first).args(arguments);
        settings_removed(&mut command);
        match child::run(&mut command, limit) {
            Ended::Well(out, _) => serde_json::from_str(&out)
                .map_err(|_| format!("it printed '{}'", out.trim().lines().next().unwrap_or(""))),
            Ended::Badly(why) => Err(why),
            Ended::Never => Err(format!("it did not end in {} s", limit.as_secs_f64())),
        }
    }
}
