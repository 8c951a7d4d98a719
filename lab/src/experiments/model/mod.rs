//! The model: figures 2 and 4 of the Hood papers ("The Performance of Work Stealing in Multiprogrammed Environments", 1998,
//! section 5). Does T = c1·T1/PA + c∞·T∞·P/PA describe what programs of all kinds of parallelism take, on any number of workers?
//!
//! [`plan`] says what is measured: `knary` over its height, degree and series, and the other applications over sizes.
//! [`bound`](super::bound) finds the two constants, and says which points fall under the curve that should be a lower envelope.

mod measure;
pub mod plan;
pub mod record;
pub mod summary;
pub mod table;
#[cfg(test)]
mod tests;

use std::cell::Cell as Slot;
use std::path::PathBuf;

use super::course::{self, Destination};
use crate::fault::Outcome;
use crate::record::time;
use crate::report;
use plan::Plan;
use record::{Record, Sample};
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
}

/// What a run has left behind.
#[derive(Debug)]
pub struct Finished {
    /// The record.
    pub record: Record,
    /// Where the page is.
    pub page: PathBuf,
    /// Whether all had been measured before.
    pub is_old: bool,
}

/// Measurements under one header belong together.
type Header = course::Header<Plan>;

/// Measures what is not measured yet and writes the record and the page.
pub fn run(options: &Options) -> Outcome<Finished> {
    let Options { plan, json, out, fresh } = options;
    let destination = Destination { json, out, fresh: *fresh };
    let page = destination.page()?;
    let header = Header::here(plan.clone());
    let others = Slot::new(None);
    let (record, is_old) = destination.record(
        &header,
        |earlier: &Record| header.has(&earlier.plan, &earlier.machine, &earlier.versions),
        |journal| measure::all(&header, journal).map(|taken| others.set(taken)),
        |started, samples| record_of(header.clone(), started, samples, others.get()),
    )?;
    report::model::write(&page, &record, &Summary::of(&record))?;
    Ok(Finished { record, page, is_old })
}

fn record_of(header: Header, started: String, samples: Vec<Sample>, others: Option<f64>) -> Record {
    let Header { plan, machine, versions } = header;
    Record {
        format: record::FORMAT.to_owned(),
        plan,
        machine,
        versions,
        started,
        finished: time::now(),
        others,
        samples,
    }
}
