//! The machine, and when, with what, and from which seed an experiment was run.

use super::tables::facts;
use crate::experiments::series::Record;
use crate::machine::Machine;
use crate::record::Versions;

/// The circumstances of a run.
pub(super) struct Circumstances<'a> {
    pub(super) machine: &'a Machine,
    pub(super) versions: &'a Versions,
    pub(super) started: &'a str,
    pub(super) finished: &'a str,
    pub(super) seed: u64,
}

impl<'a> Circumstances<'a> {
    /// Those of a series of measurements.
    pub(super) fn of<P, M>(record: &'a Record<P, M>, seed: u64) -> Circumstances<'a> {
        let Record { header, started, finished, .. } = record;
        let (machine, versions) = (&header.machine, &header.versions);
        Circumstances { machine, versions, started, finished, seed }
    }

    /// As a table.
    pub(super) fn table(&self) -> String {
        let Versions { locksley, rayon, rustc, build } = self.versions;
        facts(
            self.machine,
            &[
                ("measured", format!("{} to {}", self.started, self.finished)),
                ("versions", format!("Locksley {locksley}, rayon {rayon}, {rustc}")),
                ("build", build.clone()),
                ("seed", self.seed.to_string()),
            ],
        )
    }
}
