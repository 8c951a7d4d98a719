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

use std::path::{Path, PathBuf};

use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::record::{self, Record, Versions};
use crate::report;
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

/// Measures what is not measured yet and writes the record and the page.
pub fn run(options: &Options) -> Outcome<Finished> {
    let Options { plan, json, out, fresh } = options;
    let page = report::prepare(out)?;
    if record::files::are_one(&page, json) {
        return Err(Fault::input(format!(
            "the record and the page would both be {}",
            json.display()
        )));
    }
    let earlier = record::files::prepare(json)?;
    let header = journal::Header {
        plan: plan.clone(),
        machine: Machine::here(),
        versions: Versions::of_this_build(),
    };

    let earlier = earlier.filter(|earlier| !fresh && header.describes(earlier));
    let is_old = earlier.is_some();
    let record = match earlier {
        Some(earlier) => earlier,
        None => {
            let record = measured(header, &journal_of(json), *fresh)?;
            record::files::write(json, &record)?;
            journal::remove(&journal_of(json));
            record
        }
    };
    let summary = Summary::of(&record);
    report::write(&page, &record, &summary)?;
    Ok(Finished { record, summary, page, is_old })
}

fn measured(header: journal::Header, journal: &Path, fresh: bool) -> Outcome<Record> {
    let started = record::time::now();
    let mut journal = journal::Journal::open(journal, &header, fresh)?;
    measure::all(&header, &mut journal)?;
    let (samples, grants) = journal.into_parts();
    Ok(Record {
        format: record::FORMAT.to_owned(),
        plan: header.plan,
        machine: header.machine,
        versions: header.versions,
        started,
        finished: record::time::now(),
        samples,
        grants,
    })
}

/// The measurements of an unfinished run stand beside the record that they will become.
fn journal_of(json: &Path) -> PathBuf {
    let mut name = json.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    json.with_file_name(name)
}
