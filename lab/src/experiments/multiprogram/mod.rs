//! The model beside other programs: figures 3 and 5 of the Hood papers ("The Performance of Work Stealing in Multiprogrammed
//! Environments", 1998, section 6). The processors that a program has grow and shrink while it runs, since `cycler(p, w, W)` takes a random number of them
//! again and again. Does T = c1·T1/PA + c∞·T∞·P/PA still describe how long it takes?
//!
//! [`plan`] says what is measured. Each measurement is made by a process of its own, this program's hidden command `multiprogram-once` ([`once`]), which
//! starts a cycler beside itself. PA is what the meter says; what the papers' method says, the machine less what the cycler has counted, is beside it as a
//! check ([`summary`]). [`bound`](super::bound) finds the constants, and says which points fall under the curve that should be a lower envelope.

mod measure;
pub mod once;
pub mod plan;
pub mod record;
pub mod summary;
pub mod table;
#[cfg(test)]
mod tests;

use super::program::Program;
use super::{course, series};
use crate::fault::Outcome;
use crate::report;
use plan::Plan;
use record::Record;
use summary::Summary;

/// What the command line asks for, and what measures it.
pub type Options = series::Options<Plan, Program>;

/// What a run has left behind.
pub type Finished = series::Finished<Record, Summary>;

/// Measurements under one header belong together.
type Header = course::Header<Plan>;

/// Measures what is not measured yet and writes the record and the page.
pub fn run(options: &Options) -> Outcome<Finished> {
    series::run(options, measure::all, Summary::of, report::multiprogram::write)
}
