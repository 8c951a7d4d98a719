//! Programs written for rayon, on its own core and on Locksley's: alone, with four times as many workers as processors, and
//! beside busy threads.
//!
//! The programs are those of `crates/rayon-core/workloads`, which is built twice ([`program`]): one graph of packages has room for
//! only one rayon-core, and this program's is rayon's own. Each measurement is a process, the two cores' processes in turn;
//! [`plan`] says which there are. Beside another program they are programs of `corun`, whose definitions hold here as well;
//! what each measurement is, and how it is written down, is taken from there. [`summary`] makes ratios of the times,
//! [`table`] prints them.

mod measure;
pub mod plan;
pub mod program;
pub mod record;
pub mod summary;
pub mod table;
#[cfg(test)]
pub(crate) mod tests;

use std::path::PathBuf;

use super::corun::record::Sample;
use super::course::{Destination, Header as HeaderOf};
use crate::fault::Outcome;
use crate::record::{Document, time};
use crate::report;
use plan::Plan;
use program::Programs;
use record::{Header, Record};
use summary::Summary;

/// What the command line asks for.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is measured.
    pub plan: Plan,
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
    let Options { plan, programs, json, out, fresh } = options;
    let destination = Destination { json, out, fresh: *fresh };
    let page = destination.page()?;
    let header = Header { common: HeaderOf::here(plan.clone()), programs: programs.peers() };
    let (record, is_old) = destination.record(
        &header,
        |earlier: &Record| earlier.header == header,
        |journal| measure::all(&header, programs, journal),
        |started, samples| record_of(header.clone(), started, samples),
    )?;
    let summary = Summary::of(&record);
    report::rayon::write(&page, &record, &summary)?;
    Ok(Finished { record, summary, page, is_old })
}

fn record_of(header: Header, started: String, samples: Vec<Sample>) -> Record {
    Record { format: Record::FORMAT.to_owned(), header, started, finished: time::now(), samples }
}
