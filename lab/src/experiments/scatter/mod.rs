//! Scatter and gather on process networks, with both placements of unblocked processes: the four experiments of Nornir's
//! study (Vrba, Halvorsen and Griwodz, "A simple improvement of the work-stealing scheduling algorithm", 2010, section 4), with
//! its parameters, but fewer rounds; and which share of the processors' time is spent computing.
//!
//! [`plan`] says what is measured; `measure` goes through it, runtimes in turn, and can be stopped and resumed at any
//! point. Each measurement is made by a child process, this program's hidden command `scatter-once` ([`once`]).
//! [`summary`] makes speedups and rates of it, and compares with what is wanted; [`table`] prints them.

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
    series::run(options, measure::all, Summary::of, report::scatter::write)
}
