//! What a parallel program does to its interactive neighbours: the question that Hood's study leaves open ("The
//! Performance of Work Stealing in Multiprogrammed Environments", 1998, section 7).
//!
//! A mostly sleeping process notes how late it wakes, alone and beside `rounds` on each runtime, each in a process of
//! its own. [`plan`] says beside what; `measure` goes through it, runtimes in turn, and can be stopped and resumed at any
//! point; [`summary`] makes percentiles of it, [`table`] prints them.

mod clock;
pub mod histogram;
mod measure;
pub mod plan;
mod process;
pub mod record;
pub mod sleeper;
pub mod summary;
pub mod table;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use super::course::{self, Destination};
use crate::fault::Outcome;
use crate::record::time;
use crate::report;
use record::{Plan, Record, Sample};
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
    /// This program, whose commands `sleeper` and `rounds` are the processes that are measured.
    pub program: PathBuf,
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
        |earlier: &Record| header.has(&earlier.plan, &earlier.machine, &earlier.versions),
        |journal| measure::all(program, &header, journal),
        |started, samples| record_of(header.clone(), started, samples),
    )?;
    let summary = Summary::of(&record);
    report::neighbour::write(&page, &record, &summary)?;
    Ok(Finished { record, summary, page, is_old })
}

fn record_of(header: Header, started: String, samples: Vec<Sample>) -> Record {
    let Header { plan, machine, versions } = header;
    Record {
        format: record::FORMAT.to_owned(),
        plan,
        machine,
        versions,
        started,
        finished: time::now(),
        samples,
    }
}
