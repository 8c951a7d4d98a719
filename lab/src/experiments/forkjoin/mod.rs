//! What a fork costs, and what becomes of the tasks of a worker that is stuck.
//!
//! [`plan`] says what is measured; `measure` goes through it and can be stopped and resumed at any point. Each measurement
//! is made by a child process: this program's hidden command `forkjoin-once` ([`once`]), or a program of `peers/`
//! ([`program`]). [`summary`] makes medians and ratios of it, [`table`] prints them.

pub(in crate::experiments) mod child;
pub mod instructions;
mod measure;
pub mod once;
pub mod plan;
pub mod program;
pub mod record;
pub mod summary;
pub mod table;
#[cfg(test)]
pub(crate) mod tests;

use std::path::{Path, PathBuf};

use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::record::{Document, Versions, files, time};
use crate::report;
use program::Program;
use record::{Header, LeftOut, Plan, Record};
use summary::Summary;

/// What the command line asks for.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is measured.
    pub plan: Plan,
    /// On what.
    pub programs: Vec<Program>,
    /// On what not, and why.
    pub left_out: Vec<LeftOut>,
    /// Where the record goes.
    pub json: PathBuf,
    /// Where the page goes.
    pub out: PathBuf,
    /// Whether to measure again what has been measured.
    pub fresh: bool,
}

/// What a run has left behind.
#[derive(Debug)]
pub struct Finished {
    /// The record.
    pub record: Record,
    /// Its summary.
    pub summary: Summary,
    /// Where the page is.
    pub page: PathBuf,
    /// Whether all had been measured before.
    pub is_old: bool,
}

/// Measures what is not measured yet and writes the record and the page.
pub fn run(options: &Options) -> Outcome<Finished> {
    let Options { plan, programs, left_out, json, out, fresh } = options;
    let page = report::prepare(out)?;
    if files::are_one(&page, json) {
        return Err(Fault::input(format!(
            "the record and the page would both be {}",
            json.display()
        )));
    }
    let earlier: Option<Record> = files::prepare(json)?;
    let header = Header {
        plan: plan.clone(),
        machine: Machine::here(),
        versions: Versions::of_this_build(),
        runtimes: programs.iter().map(|program| program.runtime.clone()).collect(),
        left_out: left_out.clone(),
    };

    let earlier = earlier.filter(|earlier| !fresh && earlier.header == header);
    let is_old = earlier.is_some();
    let record = match earlier {
        Some(earlier) => earlier,
        None => {
            let journal = journal_of(json);
            let record = measured(header, programs, &journal, *fresh)?;
            files::write(json, &record)?;
            // One that stays behind does no harm.
            let _ = std::fs::remove_file(journal);
            record
        }
    };
    let summary = Summary::of(&record);
    report::forkjoin::write(&page, &record, &summary)?;
    Ok(Finished { record, summary, page, is_old })
}

fn measured(header: Header, programs: &[Program], path: &Path, fresh: bool) -> Outcome<Record> {
    let started = time::now();
    let mut journal = measure::Journal::open(path, &header, fresh)?;
    measure::all(&header, programs, &mut journal)?;
    Ok(Record {
        format: Record::FORMAT.to_owned(),
        header,
        started,
        finished: time::now(),
        measurements: journal.into_measurements(),
    })
}

/// The measurements of an unfinished run stand beside the record that they will become.
fn journal_of(json: &Path) -> PathBuf {
    let mut name = json.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    json.with_file_name(name)
}
