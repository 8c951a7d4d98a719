//! Programs side by side: figures 2 to 6 of "BWS: Balanced Work Stealing for Time-Sharing Multicores" (Ding, Wang,
//! Gibbons and Zhang, EuroSys 2012), what governors cost programs that are alone (its section 5.5), the pairs of rounds in
//! which runtimes flip between a fair share and less, and what the kernel's assists are worth there.
//!
//! [`plan`] says what is measured: [`pairs`] of programs, or three of them, each a [`mod@unit`] once a runtime has been
//! chosen, and each unit alone. Every program is a process of its own, this one's or a peer's ([`program`]); a start gate
//! lets them begin together. `measure` goes through the plan and can be stopped and resumed at any point; [`metrics`] defines the figures,
//! [`summary`] computes them from a record, [`table`] prints them.

mod measure;
pub mod metrics;
pub mod pairs;
pub mod plan;
pub(super) mod process;
pub mod program;
pub mod record;
pub mod summary;
pub mod table;
#[cfg(test)]
pub(crate) mod tests;
pub mod unit;

use std::path::PathBuf;

use super::course::{Destination, Header as HeaderOf};
use crate::fault::Outcome;
use crate::record::{Document, time};
use crate::report;
use plan::{Choice, Plan};
use program::Programs;
use record::{Header, Record, Sample};
use summary::Summary;

/// What the command line asks for.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is measured.
    pub plan: Plan,
    /// What of it was chosen.
    pub choice: Choice,
    /// The programs.
    pub programs: Programs,
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
    let Options { plan, choice, programs, json, out, fresh } = options;
    let mut plan = plan.clone();
    let left_out = plan.keep_what_is_there(programs, choice)?;
    let destination = Destination { json, out, fresh: *fresh };
    let page = destination.page()?;
    let header = Header { common: HeaderOf::here(plan), peers: programs.peers(), left_out };
    let (record, is_old) = destination.record(
        &header,
        |earlier: &Record| earlier.header == header,
        |journal| measure::all(&header, programs, journal),
        |started, samples| record_of(header.clone(), started, samples),
    )?;
    let summary = Summary::of(&record);
    report::corun::write(&page, &record, &summary)?;
    Ok(Finished { record, summary, page, is_old })
}

fn record_of(header: Header, started: String, samples: Vec<Sample>) -> Record {
    Record { format: Record::FORMAT.to_owned(), header, started, finished: time::now(), samples }
}
