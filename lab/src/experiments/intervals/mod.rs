//! Intervals: what order alone makes of the machine, beside the same applications with fork and join, where a phase ends for
//! all of its tasks at once, and beside another runtime's graphs; and what an interval costs.
//!
//! [`plan`] says what is measured; `measure` goes through it, runtimes in turn, and can be stopped and resumed at any point;
//! `cost` has the graphs that do nothing, [`peer`] the other runtime. [`summary`] makes medians and ratios of it, [`table`] prints them.

mod cost;
mod measure;
pub mod peer;
pub mod plan;
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
use peer::Peer;
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
    /// Another runtime's graphs, if the plan has them.
    pub peer: Option<Peer>,
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
    let Options { plan, json, out, fresh, peer } = options;
    let destination = Destination { json, out, fresh: *fresh };
    let page = destination.page()?;
    let header = Header::here(plan.clone());
    let (record, is_old) = destination.record(
        &header,
        |earlier: &Record| earlier.header == header,
        |journal| measure::all(&header, peer.as_ref(), journal),
        |started, measurements| record_of(header.clone(), started, measurements),
    )?;
    let summary = Summary::of(&record);
    report::intervals::write(&page, &record, &summary)?;
    Ok(Finished { record, summary, page, is_old })
}

fn record_of(header: Header, started: String, measurements: Vec<Measurement>) -> Record {
    let (format, finished) = (Record::FORMAT.to_owned(), time::now());
    Record { format, header, started, finished, measurements }
}
