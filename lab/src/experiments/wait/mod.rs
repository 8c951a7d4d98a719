//! What tasks cost that wait: beside tokio and async-executor, the smallest things that each of them does.
//!
//! [`plan`] says what is measured; `measure` goes through it, runtimes in turn, and can be stopped and resumed at any
//! point. Each measurement is made by a child process, this program's hidden command `wait-once` ([`once`]), which is
//! started by a [`Program`]. [`summary`] makes medians and ratios of it, [`table`] prints them.

mod measure;
pub mod once;
pub mod plan;
pub mod record;
pub mod summary;
pub mod table;
#[cfg(test)]
pub(crate) mod tests;

use super::program::Program;
use super::{course, series};
use crate::fault::Outcome;
use crate::report;
use record::{Plan, Record};
use summary::Summary;

/// What the command line asks for, and what measures it.
pub type Options = series::Options<Plan, Program>;

/// What a run has left behind.
pub type Finished = series::Finished<Record, Summary>;

/// Measurements under one header belong together.
type Header = course::Header<Plan>;

/// Measures what is not measured yet and writes the record and the page.
pub fn run(options: &Options) -> Outcome<Finished> {
    series::run(options, measure::all, Summary::of, report::wait::write)
}
