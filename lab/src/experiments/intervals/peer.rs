//! oneTBB's flow graph, which `peers/build` makes a program of: graphs of the same shape, in another language.

use std::path::Path;

use serde::Deserialize;

use super::measure::LIMIT;
use super::record::Reading;
use crate::experiments::child::version_of_peer;
use crate::experiments::program::Program;
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
    program: Program,
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
        Ok(Peer { program: Program::new(&file, &[]), version })
    }

    /// Measures `cell` once; else why it did not.
    pub(super) fn time(&self, cell: &Cell, seed: u64) -> Result<Reading, String> {
        let (workers, seed) = (cell.workers.to_string(), seed.to_string());
        let Line { seconds } =
            self.program.finds(&[&cell.app, &cell.size, &workers, &seed], LIMIT)?;
        Ok(Reading::Time { seconds })
    }
}
