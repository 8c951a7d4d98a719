//! oneTBB's flow graph, which `peers/build` makes a program of: graphs of the same shape, in another language.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use crate::experiments::forkjoin::child::{self, Ended};
use crate::experiments::forkjoin::program::{settings_removed, version_of_peer};
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// Its name among the runtimes.
pub const FLOW: &str = "onetbb-flow";
/// The application that it has.
pub(super) const APP: &str = "heat";
/// Its file.
const FILE: &str = "flow-onetbb";

/// One measurement has failed after so long.
const LIMIT: Duration = Duration::from_secs(60);

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

    /// Measures `cell` once, in seconds.
    pub(super) fn time(&self, cell: &Cell, seed: u64) -> Outcome<f64> {
        let mut command = Command::new(&self.file);
        command.args([&cell.app, &cell.size, &cell.workers.to_string(), &seed.to_string()]);
        settings_removed(&mut command);
        match child::run(&mut command, LIMIT) {
            Ended::Well(out, _) => match serde_json::from_str::<Line>(&out) {
                Ok(line) => Ok(line.seconds),
                Err(_) => Err(Fault::run(format!("it printed '{}'", out.trim()))),
            },
            Ended::Badly(why) => Err(Fault::run(why)),
            Ended::Never => Err(Fault::run(format!("it did not end in {} s", LIMIT.as_secs()))),
        }
    }
}
