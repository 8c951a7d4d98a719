//! The experiments, one file each.

pub mod bench;
pub mod channels;
pub mod cliff;
pub mod corun;
pub mod demo;
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
pub mod simulate;
pub mod turnkey;

use clap::Subcommand;

use crate::experiment::{Cell, Experiment, Readings, Record, Report, Run};
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

macro_rules! experiments {
    ($($(#[$attribute:meta])+ $module:ident::$name:ident,)*) => {
        /// The commands that measure.
        #[derive(Debug, Subcommand)]
        pub enum Measure {
            $($(#[$attribute])+ $name(Box<Run<$module::$name>>),)*
        }

        impl Measure {
            /// Measures, or goes on, and writes the record and the page.
            pub fn execute(self) -> Outcome<()> {
                match self {
                    $(Measure::$name(run) => run.execute(),)*
                }
            }
        }

        const ALL: &[Entry] = &[$(Entry::of::<$module::$name>()),*];
    };
}

experiments! {
    /// Compare Locksley with rayon in five scenes, in a minute (begin here)
    demo::Demo,
    /// Measure what frequent operations cost, each beside its fastest peer: losses first
    bench::Bench,
    /// Measure the performance cliff: speedup and utilization over the number of workers, and
    /// beside busy threads
    cliff::Cliff,
    /// Measure what programs side by side leave each other of the machine
    corun::Corun,
    /// Measure whether a pool that chooses its number of workers does as well as with the best
    /// number
    turnkey::Turnkey,
    /// Measure how late an interactive process wakes beside a program on each runtime
    neighbour::Neighbour,
    /// Measure programs written for rayon on its own core and on Locksley's
    rayon::Rayon,
    /// Measure what a fork costs
    forkjoin::Forkjoin,
    /// Measure what messages, processes and waiting tasks cost
    #[command(visible_alias = "wait")]
    channels::Channels,
    /// Measure what graphs of intervals make of the machine, beside fork and join, and what an
    /// interval costs
    intervals::Intervals,
    /// Measure what OpenMP's constructs cost on libgomp, libomp and locksley-openmp
    openmp_bench::OpenmpBench,
    /// Measure whether work and span say how long a program takes, alone and beside programs that
    /// take processors away: the figures of the Hood papers
    model::Model,
    /// Measure scatter and gather with both placements of processes: the experiments of Nornir's
    /// study
    scatter::Scatter,
    /// Measure what it is worth to keep work where its data is, as LASSI's study: tasks placed
    /// best, worst, by chance and not at all
    locality::Locality,
    /// Simulate up to 1,024 processors: efficiency, steals and cache traffic of Locksley and others
    /// in virtual time
    simulate::Simulate,
}

/// What is said of a record. If there is no such experiment any more, that is all metrics.
pub fn report(record: &Record) -> Report {
    match find(&record.experiment) {
        Some(entry) => (entry.report)(record),
        None => Report::of_all_metrics(record),
    }
}

/// The experiment of that name.
pub fn find(name: &str) -> Option<Entry> {
    ALL.iter().copied().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::{Args, FromArgMatches};

    use super::*;
    use crate::experiment::{Plan, html, record, text};

    #[test]
    fn rayon_has_its_own_version() {
        fn plan<E: Experiment>() -> Plan {
            let command = Run::<E>::augment_args(clap::Command::new(E::NAME));
            let options = command.get_matches_from([E::NAME, "--quick"]);
            let Run { experiment, course } = Run::<E>::from_arg_matches(&options).unwrap();
            experiment.plan(&course).unwrap()
        }
        let plans = [
            plan::<cliff::Cliff>(),
            plan::<corun::Corun>(),
            plan::<neighbour::Neighbour>(),
            plan::<intervals::Intervals>(),
        ];
        for plan in plans {
            let mut rayon = plan.runtimes.iter().filter(|it| it.name == "rayon");
            assert_eq!(rayon.next().unwrap().version, env!("LAB_RAYON"));
        }
    }

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
        for wrong in ["https:", "src=", "href=", "url(", "NaN", ">inf"] {
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
