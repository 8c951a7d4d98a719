//! What papers' studies have in common.

use crate::experiment::prelude::*;

/// The parameter of the plan with the name of the study.
pub(super) const STUDY: &str = "study";

/// A paper's experiments on its own number of processors: its schedulers, what they compute, and
/// what is said of a record.
pub(super) struct Study {
    pub(super) name: &'static str,
    pub(super) runtimes: &'static [(&'static str, &'static str)],
    pub(super) add_cells: fn(&mut Plan, repeats: usize),
    pub(super) report: fn(&Record) -> Report,
}

/// A study's report.
pub(super) fn report_of(title: &str, headline: String, sections: Vec<Section>) -> Report {
    let note = "Simulated: no time was measured; the costs are a preset's.";
    let report = Report::new(title, headline, sections, include_str!("method.txt"));
    Report { notes: vec![note.to_owned()], ..report }
}
