//! The measurements of a run that is under way, one a line, so that it can be stopped at any point and resumed.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::record::{Cell, Grant, Plan, Record, Sample, Versions};

/// The first line: measurements under one header belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) plan: Plan,
    pub(super) machine: Machine,
    pub(super) versions: Versions,
}

impl Header {
    /// Whether `record` is what a run under this header would make.
    pub(super) fn describes(&self, record: &Record) -> bool {
        self.plan == record.plan
            && self.machine == record.machine
            && self.versions == record.versions
    }
}

/// Any other line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Entry {
    Sample(Sample),
    Grant(Grant),
}

/// The journal of a run.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    samples: Vec<Sample>,
    grants: Vec<Grant>,
    measured: HashSet<(Cell, usize)>,
}

impl Journal {
    /// Opens the journal at `path`. If it has this header, and unless a fresh start is wanted, what it holds counts as
    /// measured; otherwise it is begun anew.
    pub(super) fn open(path: &Path, header: &Header, fresh: bool) -> Outcome<Journal> {
        let earlier = if fresh { None } else { fs::read_to_string(path).ok() };
        let entries = earlier.and_then(|text| entries_under(header, &text)).unwrap_or_default();
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).open(path).map_err(
                |error| Fault::input(format!("cannot write {}: {error}", path.display())),
            )?;
        let mut journal = Journal {
            path: path.to_owned(),
            file,
            samples: Vec::new(),
            grants: Vec::new(),
            measured: HashSet::new(),
        };
        journal.line(header)?;
        for entry in entries {
            match entry {
                Entry::Sample(sample) => journal.add(sample)?,
                Entry::Grant(grant) => journal.add_grant(grant)?,
            }
        }
        Ok(journal)
    }

    /// How many measurements there are.
    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether this one is among them.
    pub(super) fn has(&self, cell: &Cell, repeat: usize) -> bool {
        self.measured.contains(&(cell.clone(), repeat))
    }

    /// Adds a measurement.
    pub(super) fn add(&mut self, sample: Sample) -> Outcome<()> {
        self.line(&sample)?;
        self.measured.insert((sample.cell.clone(), sample.repeat));
        self.samples.push(sample);
        Ok(())
    }

    /// Adds what was granted meanwhile.
    pub(super) fn add_grant(&mut self, grant: Grant) -> Outcome<()> {
        self.line(&grant)?;
        self.grants.push(grant);
        Ok(())
    }

    /// All measurements, and what was granted meanwhile.
    pub(super) fn into_parts(self) -> (Vec<Sample>, Vec<Grant>) {
        (self.samples, self.grants)
    }

    fn line(&mut self, entry: &impl Serialize) -> Outcome<()> {
        let mut line =
            serde_json::to_string(entry).map_err(|error| Fault::run(error.to_string()))?;
        line.push('\n');
        let written = self.file.write_all(line.as_bytes());
        written
            .map_err(|error| Fault::run(format!("cannot write {}: {error}", self.path.display())))
    }
}

/// Removes a journal whose measurements have become a record. One that stays behind does no harm.
pub(super) fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// What `text` holds if it begins with this header. A last line that was cut off in the middle is no entry.
fn entries_under(header: &Header, text: &str) -> Option<Vec<Entry>> {
    let mut lines = text.lines();
    let found: Header = serde_json::from_str(lines.next()?).ok()?;
    (found == *header).then(|| lines.map_while(|line| serde_json::from_str(line).ok()).collect())
}
