//! oneTBB's flow graph, which `peers/build` makes a program of: graphs of the same shape, in another language.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::measure::LIMIT;
use super::record::Reading;
use crate::experiments::forkjoin::child::{self, Ended};
use crate::experiments::forkjoin::program::{settings_removed, version_of_peer};
use crate::record::Cell;

/// Its name among the runtimes.
pub const FLOW: &str = "onetbb-flow";
/// The application that it has.
pub(super) const APP: &str = "heat";
/// Its file.
const FILE: &str = "flow-onetbb";

/// The program.
#[derive(Debug, Clone)]
pub struct Peer {
    file: PathBuf,
    /// What it says that it is.
    pub version: String,
}

/// The line that it prints. It has checked its answer.
#[derive(Deserialize)]
struct Line {
    seconds: f64,
}

impl Peer {
    /// The program in that folder; else why it cannot be measured.
    pub fn find(folder: &Path) -> Result<Peer, String> {
        let file = folder.join(FILE);
        let version = version_of_peer(&file)?;
        Ok(Peer { file, version })
    }

    /// Measures `cell` once; else why it did not.
    pub(super) fn time(&self, cell: &Cell, seed: u64) -> Result<Reading, String> {
        let mut command = Command::new(&self.file);
        command.args([&cell.app, &cell.size, &cell.workers.to_string(), &seed.to_string()]);
        settings_removed(&mut command);
        match child::run(&mut command, LIMIT) {
            Ended::Well(out, _) => match serde_json::from_str(&out) {
                Ok(Line { seconds }) if seconds.is_finite() && seconds > 0.0 => {
                    Ok(Reading::Time { seconds })
                }
                _ => Err(format!("it printed '{}'", out.trim().lines().next().unwrap_or(""))),
            },
            Ended::Badly(why) => Err(why),
            Ended::Never => Err(format!("it did not end in {} s", LIMIT.as_secs())),
        }
    }
}
