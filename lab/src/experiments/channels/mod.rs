//! What messages and processes cost: the smallest networks, beside tokio's tasks and channels, and Go's.
//!
//! [`plan`] says what is measured; `measure` goes through it, runtimes in turn, and can be stopped and resumed at any
//! point. Each measurement is made by a child process: this program's hidden command `channels-once` ([`once`]), or one of
//! `peers/`; a [`program`] is started for each. [`summary`] makes medians and ratios of it, and compares with what is
//! wanted; [`table`] prints them.

mod measure;
pub mod once;
pub mod plan;
pub mod program;
pub mod record;
pub mod summary;
pub mod table;
#[cfg(test)]
pub(crate) mod tests;

use super::{course, series};
use crate::fault::Outcome;
use crate::report;
use program::Program;
use record::{Plan, Record};
use summary::Summary;

/// What the command line asks for, and each runtime's program.
pub type Options = series::Options<Plan, Vec<Program>>;

/// What a run has left behind.
pub type Finished = series::Finished<Record, Summary>;

/// Measurements under one header belong together.
type Header = course::Header<Plan>;

/// Measures what is not measured yet and writes the record and the page.
pub fn run(options: &Options) -> Outcome<Finished> {
    let measure =
        |header: &_, programs: &Vec<_>, journal: &mut _| measure::all(header, programs, journal);
    series::run(options, measure, Summary::of, report::channels::write)
}
