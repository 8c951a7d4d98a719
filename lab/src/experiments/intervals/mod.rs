//! Intervals: what order alone makes of the machine, beside the same applications with fork and join, where a phase ends for
//! all of its tasks at once, and beside another runtime's graphs; and what an interval costs.
//!
//! [`plan`] says what is measured; `measure` goes through it, runtimes in turn, and can be stopped and resumed at any point;
//! [`cost`] has the graphs that do nothing: each is measured by a child process, this program's hidden command `intervals-once`, which
//! a [`Program`] is started for; [`peer`] is the other runtime. [`summary`] makes medians and ratios of it, [`table`] prints them.

pub mod cost;
mod measure;
pub mod peer;
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
use peer::Peer;
use record::{Plan, Record};
use summary::Summary;

/// What measures that is not measured in this process.
#[derive(Debug, Clone)]
pub struct Programs {
    /// This program, which reads what an interval costs.
    pub this: Program,
    /// Another runtime's graphs, if the plan has them.
    pub peer: Option<Peer>,
}

/// What the command line asks for, and what measures it.
pub type Options = series::Options<Plan, Programs>;

/// What a run has left behind.
pub type Finished = series::Finished<Record, Summary>;

/// Measurements under one header belong together.
type Header = course::Header<Plan>;

/// Measures what is not measured yet and writes the record and the page.
pub fn run(options: &Options) -> Outcome<Finished> {
    series::run(options, measure::all, Summary::of, report::intervals::write)
}
