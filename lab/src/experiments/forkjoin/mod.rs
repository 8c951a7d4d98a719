//! What a fork costs, and what becomes of the tasks of a worker that is stuck.
//!
//! [`plan`] says what is measured; `measure` goes through it and can be stopped and resumed at any point. Each measurement
//! is made by a child process: this program's hidden command `forkjoin-once` ([`once`]), or a program of `peers/`
//! ([`program`]). [`summary`] makes medians and ratios of it, [`table`] prints them.

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

use std::path::PathBuf;

use super::course::Destination;
use crate::fault::Outcome;
use crate::machine::Machine;
use crate::record::{Document, Versions, time};
use crate::report;
use program::Program;
use record::{Header, LeftOut, Measurement, Plan, Record};
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
    let destination = Destination { json, out, fresh: *fresh };
    let page = destination.page()?;
    let header = Header {
        plan: plan.clone(),
        machine: Machine::here(),
        versions: Versions::of_this_build(),
        runtimes: programs.iter().map(|program| program.runtime.clone()).collect(),
        left_out: left_out.clone(),
    };
    let (record, is_old) = destination.record(
        &header,
        |earlier: &Record| earlier.header == header,
        |journal| measure::all(&header, programs, journal),
        |started, measurements| record_of(header.clone(), started, measurements),
    )?;
    let summary = Summary::of(&record);
    report::forkjoin::write(&page, &record, &summary)?;
    Ok(Finished { record, summary, page, is_old })
}

fn record_of(header: Header, started: String, measurements: Vec<Measurement>) -> Record {
    let format = Record::FORMAT.to_owned();
    Record { format, header, started, finished: time::now(), measurements }
}
