//! What all experiments have in common: an [`Experiment`] says what is measured and how one
//! measurement is taken; everything else is done here.
//!
//! - [`plan`]: the cells that are measured, and how often;
//! - [`record`]: the numbers, in one long format for all experiments;
//! - `rotations`: taking all measurements in turn, so that a run can be stopped and resumed;
//! - [`child`]: one measurement in a process of its own;
//! - [`estimate`]: medians and their intervals;
//! - [`report`]: what is said of a record, rendered by [`text`], [`html`] and [`chart`].

pub mod chart;
pub mod child;
pub mod estimate;
pub mod html;
pub mod plan;
pub mod prepared;
pub mod record;
pub mod report;
mod rotations;
pub mod scaling;
pub mod text;
mod theme;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use itertools::Itertools;

use crate::apps;
use crate::fault::{Fault, Outcome};
use crate::files;
use crate::machine::MOST_WORKERS;
use crate::output::{note, say};
use crate::random::DEFAULT_SEED;
pub use plan::{Cell, Plan, Runtime};
pub use record::Record;
pub use report::{Chart, Report, Section, Table};

/// What experiments are written with.
pub mod prelude {
    pub use clap::Args;
    pub use itertools::Itertools;

    pub use super::estimate::{Estimate, Verdict, mean, median};
    pub use super::plan::chosen;
    pub use super::report::{Metric, interval};
    pub use super::scaling::{SECONDS, SERIAL};
    pub use super::text::{known, number, percent};
    pub use super::{Cell, Chart, Course, Experiment, Plan, Readings, Record, Report, Section};
    pub use super::{Table, child, folder_of_peers, named, numbers_of_workers, prepared};
    pub use super::{scaling, seconds, workers};
    pub use crate::fault::{Fault, Outcome, right};
    pub use crate::machine::{MOST_WORKERS, Machine};
}

/// The numbers that one measurement gives, by the name of the metric.
pub type Readings = BTreeMap<String, f64>;

/// Readings of these metrics.
pub fn named<'m>(metrics: impl IntoIterator<Item = (&'m str, f64)>) -> Readings {
    metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// An experiment: its options on the command line, what it measures, and what it says of a record.
pub trait Experiment: Args {
    /// The name of its command.
    const NAME: &'static str;

    /// The cells to measure, in the order of their turns.
    ///
    /// # Errors
    ///
    /// [`Fault::Input`] if the options ask for something that does not exist.
    fn plan(&self, course: &Course) -> Outcome<Plan>;

    /// Measures a cell of the plan once.
    ///
    /// By default [`once`](Self::once) does it in a process of its own.
    ///
    /// # Errors
    ///
    /// [`Fault::Missing`] if there is nothing: the cell is left out, with the reason in the record.
    /// Any other fault ends the run: [`Fault::Run`] if an answer was wrong.
    fn measure(&mut self, plan: &Plan, cell: &Cell, _repeat: usize) -> Outcome<Readings> {
        child::once(Self::NAME, plan, cell)
    }

    /// Measures a cell once in this process, which was started for that.
    ///
    /// # Errors
    ///
    /// [`Fault::Input`] if there is no such cell, [`Fault::Run`] if the answer is wrong.
    fn once(cell: &Cell, _seed: u64) -> Outcome<Readings> {
        Err(Fault::input(format!("{} does not measure {cell} by itself", Self::NAME)))
    }

    /// What is said of a record. Cells without samples are left out.
    fn report(record: &Record) -> Report;
}

/// The options that every experiment has.
#[derive(Debug, Default, Args)]
pub struct Course {
    /// At most a minute: a part of it, which it names
    #[arg(long)]
    pub quick: bool,
    /// Where the record goes [default: EXPERIMENT.json in the output folder]
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The folder for the page [default: out/EXPERIMENT, or out/EXPERIMENT-quick]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What all random input follows from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// How often each is measured, if the time suffices [default: by experiment]
    #[arg(long, value_name = "K")]
    pub repeats: Option<usize>,
    /// Replace the record of an earlier run
    #[arg(long)]
    pub fresh: bool,
}

impl Course {
    /// The number of repetitions: as asked, or else the default.
    ///
    /// # Errors
    ///
    /// [`Fault::Input`] if none was asked for.
    pub fn repeats(&self, default: usize) -> Outcome<usize> {
        match self.repeats {
            Some(0) => Err(Fault::input("there must be a repetition")),
            asked => Ok(asked.unwrap_or(default)),
        }
    }
}

/// An experiment's own options, and those of all.
#[derive(Debug, Args)]
pub struct Run<E: Args> {
    /// Its own.
    #[command(flatten)]
    pub experiment: E,
    /// Those of all.
    #[command(flatten)]
    pub course: Course,
}

impl<E: Experiment> Run<E> {
    /// Measures what the record does not hold yet, writes the page, and prints the tables.
    ///
    /// # Errors
    ///
    /// [`Fault::Input`] if the record or the page cannot be written, the record's file holds
    /// another run, or there is nothing to measure; else what the experiment reports.
    pub fn execute(mut self) -> Outcome<()> {
        let folder = format!("{}{}", E::NAME, if self.course.quick { "-quick" } else { "" });
        let out = self.course.out.clone().unwrap_or_else(|| Path::new("out").join(folder));
        let json = match &self.course.json {
            Some(json) => json.clone(),
            None => out.join(format!("{}.json", E::NAME)),
        };
        let prepare = || {
            let page = prepare_page(&out)?;
            let both = || format!("the record and the page would both be {}", json.display());
            if files::are_one(&page, &json) { Err(Fault::input(both())) } else { Ok(page) }
        };
        // What is there and cannot be written is refused before the plan, for which programs may be
        // built. A folder is made only where the record can be written, too.
        if out.exists() {
            prepare()?;
        }
        if json.exists() {
            files::check_writable(&json)?;
        }
        record::earlier(&json)?;
        let plan = self.experiment.plan(&self.course)?;
        if plan.cells.is_empty() {
            let without = plan.left_out.iter().map(|(name, why)| format!("; {name}: {why}"));
            let without: String = without.collect();
            return Err(Fault::input(format!("nothing is left to be measured{without}")));
        }
        let mut file = record::open(&json, E::NAME, plan, &self.course)?;
        let page = prepare()?;
        match &file.record.finished {
            Some(date) => {
                note(&format!("measured already, on {date}; --fresh measures again"));
            }
            None => rotations::measure(&mut self.experiment, &mut file)?,
        }
        publish(&file.record, &E::report(&file.record), &page)?;
        say(&format!("record  {}", json.display()))
    }
}

/// Makes sure, before anything is measured, that a page can be written into `out`.
pub fn prepare_page(out: &Path) -> Outcome<PathBuf> {
    files::make_folder(out)?;
    let page = out.join("index.html");
    files::check_writable(&page)?;
    Ok(page)
}

/// Writes the page of a record and prints its tables.
pub fn publish(record: &Record, report: &Report, page: &Path) -> Outcome<()> {
    files::replace(page, html::page(record, report))?;
    say(&text::tables(record, report))?;
    say(&format!("page    {}", page.display()))
}

/// Makes the page of the record at `json` again, in the folder `out`, and a file with the charts at
/// its top.
///
/// # Errors
///
/// [`Fault::Input`] if there is no such record, or the files cannot be written.
pub fn report_again(
    json: &Path,
    out: &Path,
    picture: Option<&Path>,
    report: impl FnOnce(&Record) -> Report,
) -> Outcome<()> {
    let record = record::read(json)?;
    let report = report(&record);
    if picture.is_some() && report.pictures.is_empty() {
        let json = json.display();
        return Err(Fault::input(format!("the page of {json} begins with no charts")));
    }
    let page = prepare_page(out)?;
    files::check_outputs(json, [&*page].into_iter().chain(picture))?;
    publish(&record, &report, &page)?;
    picture.map_or(Ok(()), |path| files::replace(path, chart::picture(&report.pictures)))
}

/// Reads a number of seconds, for options.
///
/// # Errors
///
/// What is wrong with the text.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    if !seconds.is_finite() || seconds <= 0.0 {
        return Err("it must be finite and more than 0".to_owned());
    }
    // A year, which does not overflow a clock.
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if time.as_secs() <= 365 * 86_400 => Ok(time),
        _ => Err("it must be at most a year".to_owned()),
    }
}

/// Reads a folder with programs of other runtimes, for options; the usual one need not be there.
///
/// # Errors
///
/// What is wrong with the text.
pub fn folder_of_peers(text: &str) -> Result<PathBuf, String> {
    match text == "peers/bin" || Path::new(text).is_dir() {
        true => Ok(PathBuf::from(text)),
        false => Err("there is no such folder; peers/build makes peers/bin".to_owned()),
    }
}

/// Numbers of workers in ascending order, each once, without those that are too many.
pub fn numbers_of_workers(all: impl IntoIterator<Item = usize>) -> Vec<usize> {
    all.into_iter().filter(|&it| it <= MOST_WORKERS).sorted_unstable().dedup().collect()
}

/// Reads a number of workers, for options.
///
/// # Errors
///
/// What is wrong with the text.
pub fn workers(text: &str) -> Result<usize, String> {
    match apps::size::whole(text)? {
        workers if (1..=MOST_WORKERS).contains(&workers) => Ok(workers),
        _ => Err(format!("there can be 1 to {} workers", MOST_WORKERS)),
    }
}
