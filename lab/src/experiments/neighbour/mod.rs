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

use serde::{Deserialize, Serialize};

use super::journal::Journal;
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::record::{Versions, files, time};
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
    let Options { plan, json, out, fresh, program } = options;
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
            measure::all(program, &header, &mut journal)?;
            journal.into_record(|samples| {
                let record = record_of(header, started, samples);
                files::write(json, &record)?;
                Ok(record)
            })?
        }
    };
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
