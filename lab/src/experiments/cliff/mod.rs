//! The performance cliff: figure 1 of the Hood papers. How do speedup and utilization develop when the number of workers
//! P grows past the number of processors? Static partitioning falls; work stealing should not.
//!
//! [`plan`] says what is measured; `measure` goes through it, runtimes in turn, and can be stopped and
//! resumed at any point; [`summary`] makes medians and ratios of it, [`table`] prints them.

mod journal;
mod measure;
pub mod plan;
pub(super) mod subject;
pub mod summary;
pub mod table;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use super::course::{self, Destination};
use crate::fault::Outcome;
use crate::record::{self, Record};
use crate::report;
use journal::Entry;
use summary::Summary;

/// What the command line asks for.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is measured.
    pub plan: record::Plan,
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

/// Measurements under one header belong together.
type Header = course::Header<record::Plan>;

/// Measures what is not measured yet and writes the record and the page.
pub fn run(options: &Options) -> Outcome<Finished> {
    let Options { plan, json, out, fresh } = options;
    let destination = Destination { json, out, fresh: *fresh };
    let page = destination.page()?;
    let header = Header::here(plan.clone());
    let (record, is_old) = destination.record(
        &header,
        |earlier: &Record| header.has(&earlier.plan, &earlier.machine, &earlier.versions),
        |journal| measure::all(&header, journal),
        |started, entries| record_of(header.clone(), started, entries),
    )?;
    let summary = Summary::of(&record);
    report::write(&page, &record, &summary)?;
    Ok(Finished { record, summary, page, is_old })
}

fn record_of(header: Header, started: String, entries: Vec<Entry>) -> Record {
    let Header { plan, machine, versions } = header;
    let (samples, grants) = journal::parts(entries);
    Record {
        format: record::FORMAT.to_owned(),
        plan,
        machine,
        versions,
        started,
        finished: record::time::now(),
        samples,
        grants,
    }
}
