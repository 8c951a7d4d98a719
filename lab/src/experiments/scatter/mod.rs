//! Scatter and gather on process networks, with both placements of unblocked processes: the four experiments of Nornir's
//! study (Vrba, Halvorsen and Griwodz, "A simple improvement of the work-stealing scheduling algorithm", 2010, section 4), with
//! its parameters, but fewer rounds; and which share of the processors' time is spent computing.
//!
//! [`plan`] says what is measured; `measure` goes through it, runtimes in turn, and can be stopped and resumed at any
//! point. Each measurement is made by a child process, this program's hidden command `scatter-once` ([`once`]).
//! [`summary`] makes speedups and rates of it, and compares with what is wanted; [`table`] prints them.

mod measure;
pub mod once;
pub mod plan;
pub mod program;
pub mod record;
pub mod summary;
pub mod table;
#[cfg(test)]
pub(crate) mod tests;

use std::cell::Cell;
use std::path::PathBuf;

use super::course::{self, Destination};
use super::missing::Missing;
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
    let missing = Cell::default();
    let (record, is_old) = destination.record(
        &header,
        |earlier: &Record| earlier.header == header,
        |journal| measure::all(program, &header, journal).map(|found| missing.set(found)),
        |started, measurements| record_of(header.clone(), started, measurements, missing.take()),
    )?;
    let summary = Summary::of(&record);
    report::scatter::write(&page, &record, &summary)?;
    Ok(Finished { record, summary, page, is_old })
}

fn record_of(
    header: Header,
    started: String,
    measurements: Vec<Measurement>,
    missing: Vec<Missing>,
) -> Record {
    let (format, finished) = (Record::FORMAT.to_owned(), time::now());
    Record { format, header, started, finished, measurements, missing }
}
