//! Alternative implementations of work stealing: figures 2 and 3 of Hood's study ("The Performance of Work Stealing in
//! Multiprogrammed Environments", 1998, section 4). Why must deques be non-blocking, and why must thieves yield? The
//! same applications run on deques with a lock, and with thieves that never yield.
//!
//! [`plan`] says what is measured; `measure` goes through it, alternatives in turn, and can be stopped and resumed at any
//! point. Speedups are summarized as those of `cliff`; [`breakdown`] says where the time went.

pub mod breakdown;
mod measure;
pub mod plan;
pub mod record;
pub mod table;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::journal::Journal;
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::record::{Plan, Versions, files, time};
use crate::report;
use record::{Record, Sample};

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Header {
    plan: Plan,
    machine: Machine,
    versions: Versions,
}

impl Header {
    fn describes(&self, record: &Record) -> bool {
        self.plan == record.plan
            && self.machine == record.machine
            && self.versions == record.versions
    }
}

/// Measures what is not measured yet and writes the record and the page.
pub fn run(options: &Options) -> Outcome<Finished> {
    let Options { plan, json, out, fresh } = options;
    let page = report::prepare(out)?;
    if files::are_one(&page, json) {
        let path = json.display();
        return Err(Fault::input(format!("the record and the page would both be {path}")));
    }
    let earlier: Option<Record> = files::prepare(json)?;
    let header = Header {
        plan: plan.clone(),
        machine: Machine::here(),
        versions: Versions::of_this_build(),
    };
    let earlier = earlier.filter(|earlier| !fresh && header.describes(earlier));
    let is_old = earlier.is_some();
    let record = match earlier {
        Some(earlier) => earlier,
        None => {
            let started = time::now();
            let mut journal = Journal::beside(json, &header, *fresh)?;
            measure::all(&header, &mut journal)?;
            journal.into_record(|samples| {
                let record = record_of(header, started, samples);
                files::write(json, &record)?;
                Ok(record)
            })?
        }
    };
    report::alternatives::write(&page, &record)?;
    Ok(Finished { record, page, is_old })
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
