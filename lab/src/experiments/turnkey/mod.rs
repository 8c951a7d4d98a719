//! Turnkey: whether a pool to which nobody says how many workers to have does as well as with the best number that somebody could
//! have chosen; alone, beside a program that takes processors away, under quotas, and moved between control groups.
//!
//! [`plan`] says what is measured; each measurement is made by a child process, this program's hidden command `turnkey-once` ([`once`]). Where it is an
//! application, all contestants have their turns in that process, in an order that is drawn: so within a rotation they have the same input in the same
//! places of memory, and what disturbs the machine for longer than some turns disturbs all of them. [`contest`] makes of the rotations what one
//! takes over another, with its interval, and compares with the best of several, which [`summary`] puts together and [`table`] prints.
//! Records of the [`earlier`] kind can be read.

pub mod contest;
pub mod contestant;
pub mod earlier;
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
pub use measure::Found;
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
    series::run(options, measure::all, Summary::of, report::turnkey::write)
}
