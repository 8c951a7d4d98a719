//! The experiments, one file each.

pub mod bench;
pub mod channels;
pub mod cliff;
pub mod corun;
pub mod forkjoin;
pub mod intervals;
pub mod locality;
pub(crate) mod memory;
pub mod model;
pub mod neighbour;
pub mod openmp_bench;
mod place;
pub mod rayon;
pub mod scatter;
pub mod turnkey;

use crate::experiment::{Cell, Experiment, Readings, Record, Report};
use crate::fault::Outcome;

/// What can be done with an experiment that is known by its name only.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The name of its command.
    pub name: &'static str,
    /// See [`Experiment::once`].
    pub once: fn(&Cell, u64) -> Outcome<Readings>,
    /// See [`Experiment::report`].
    pub report: fn(&Record) -> Report,
}

impl Entry {
    const fn of<E: Experiment>() -> Entry {
        Entry { name: E::NAME, once: E::once, report: E::report }
    }
}

/// All experiments.
pub const ALL: [Entry; 13] = [
    Entry::of::<bench::Bench>(),
    Entry::of::<intervals::Intervals>(),
    Entry::of::<model::Model>(),
    Entry::of::<scatter::Scatter>(),
    Entry::of::<locality::Locality>(),
    Entry::of::<neighbour::Neighbour>(),
    Entry::of::<corun::Corun>(),
    Entry::of::<rayon::Rayon>(),
    Entry::of::<forkjoin::Forkjoin>(),
    Entry::of::<turnkey::Turnkey>(),
    Entry::of::<cliff::Cliff>(),
    Entry::of::<channels::Channels>(),
    Entry::of::<openmp_bench::OpenmpBench>(),
];

/// What is said of a record. If there is no such experiment any more, that is all metrics.
pub fn report(record: &Record) -> Report {
    match find(&record.experiment) {
        Some(entry) => (entry.report)(record),
        None => Report::of_all_metrics(record),
    }
}

/// The experiment of that name.
pub fn find(name: &str) -> Option<Entry> {
    ALL.into_iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::experiment::{html, record, text};

    /// The records that are kept in the repository, and have the format of all experiments.
    fn records() -> Vec<Record> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("record");
        let machines = std::fs::read_dir(folder).unwrap().map(|machine| machine.unwrap().path());
        let files = machines.filter(|path| path.is_dir()).flat_map(|machine| {
            std::fs::read_dir(machine).unwrap().map(|file| file.unwrap().path())
        });
        files.filter_map(|file| record::read(&file).ok()).collect()
    }

    fn assert_rendered(record: &Record) {
        let report = report(record);
        let (page, text) = (html::page(record, &report), text::tables(record, &report));
        for wrong in ["https:", "src=", "href=", "url(", "#01FE", "NaN", ">inf"] {
            let name = &record.experiment;
            assert!(!page.contains(wrong), "the page of {name} has {wrong}");
        }
        assert!(!text.contains("NaN") && !report.headline.is_empty(), "{text}");
    }

    #[test]
    fn every_record_of_every_experiment_makes_a_page_complete_or_not() {
        for record in records() {
            assert_rendered(&record);
            // As a run leaves it that was stopped, or in which cells failed.
            let mut part = record.clone();
            let mut place = 0;
            part.samples.retain(|_| {
                place += 1;
                place % 3 == 0
            });
            assert_rendered(&part);
            part.samples.clear();
            assert_rendered(&part);
        }
    }
}
