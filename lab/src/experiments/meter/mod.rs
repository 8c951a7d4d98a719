//! What a profiler costs: a fork, programs with small leaves, the applications, and a region; and
//! whether that is within what the project allows itself. The instructions of a profiled fork are
//! counted by [`forkjoin`](super::forkjoin), whose runtime `locksley-profiled` has a profiler.
//!
//! [`plan`] says what is measured; `measure` goes through it, and can be stopped and resumed at any
//! point. Each measurement is made by a child process, this program's hidden command `meter-once`
//! ([`once`]): the same computation by turns on a pool without a profiler and on one with a
//! profiler, since a host's speed changes within seconds by more than the profiler costs.
//! [`summary`] makes of the pairs medians and the intervals in which these lie (`bootstrap`), and
//! says of each target whether it is met; [`table`] prints them.
//!
//! The names in records are from the former meter, which a pool had inside.

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
    series::run(options, measure::all, Summary::of, report::meter::write)
}
