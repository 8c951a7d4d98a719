//! What it is worth to keep work where its data is: LASSI's study (Weibel, "An Advanced Scheduler for Intervals", 2010), with
//! tasks placed well, badly, by chance and not at all.
//!
//! [`plan`] says what is measured; `measure` goes through it, placements in turn, and can be stopped and resumed at any
//! point. Each measurement is made by a child process, this program's hidden command `locality-once` ([`once`]), which is
//! started by a [`program`]. [`summary`] makes medians and ratios of it, [`table`] prints them.

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

use super::course::{self, Destination};
use crate::fault::Outcome;
use crate::record::{Document, time};
use crate::report;
use program::Program;
use record::{Measurement, Plan, Record};
use summary::Summary;

/// What the command line asks for.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is measured.
    pub plan: Plan,
    /// Where the record goes.
    pub json: PathBuf,
    /// Where the page goes.
    pub out: PathBuf,
    /// Whether to measure again what has been measured.
    pub fresh: bool,
    /// What makes a measurement.
    pub program: Program,
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

/// Measurements under one header belong together.
type Header = course::Header<Plan>;

/// Measures what is not measured yet and writes the record and the page.
pub fn run(options: &Options) -> Outcome<Finished> {
    let Options { plan, json, out, fresh, program } = options;
    let destination = Destination { json, out, fresh: *fresh };
    let page = destination.page()?;
    let header = Header::here(plan.clone());
    let (record, is_old) = destination.record(
        &header,
        |earlier: &Record| earlier.header == header,
        |journal| measure::all(program, &header, journal),
        |started, measurements| record_of(header.clone(), started, measurements),
    )?;
    let summary = Summary::of(&record);
    report::locality::write(&page, &record, &summary)?;
    Ok(Finished { record, summary, page, is_old })
}

fn record_of(header: Header, started: String, measurements: Vec<Measurement>) -> Record {
    let (format, finished) = (Record::FORMAT.to_owned(), time::now());
    Record { format, header, started, finished, measurements }
}
