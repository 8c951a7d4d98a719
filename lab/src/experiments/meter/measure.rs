//! Going through the plan. Each measurement is made by a process of its own.

use std::time::Duration;

use super::Header;
use super::plan;
use super::record::{Measurement, Plan, Reading};
use crate::experiments::checked::{self, Checked};
use crate::experiments::course::Rotations;
use crate::experiments::journal::Journal;
use crate::experiments::missing::Missing;
use crate::experiments::program::Program;
use crate::experiments::series;
use crate::fault::Outcome;
use crate::record::Cell;

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over. Returns what failed.
pub(super) fn all(
    header: &Header,
    program: &Program,
    journal: &mut Journal<Measurement>,
) -> Outcome<Vec<Missing>> {
    let plan = &header.plan;
    let subset = plan.quick.then(|| plan::subset(plan));
    let rotations = Rotations::of("meter", subset, plan.budget_seconds);
    series::read_each(
        &rotations,
        plan.cells.clone(),
        |_| plan.repeats,
        journal,
        |cell, _| read(program, plan, cell),
    )
}

/// What the program read, or why it failed. A wrong answer is a fault.
fn read(program: &Program, plan: &Plan, cell: &Cell) -> Outcome<Result<Reading, String>> {
    let [workers, seed] = [cell.workers as u64, plan.seed].map(|number| number.to_string());
    let (pairs, seconds) = (plan.pairs.to_string(), plan.seconds.to_string());
    let arguments = [&cell.app, &cell.size, &workers].map(String::as_str);
    let options = ["--pairs", &pairs, "--secs", &seconds, "--seed", &seed];
    let limit = Duration::from_secs_f64(plan.limit_seconds);
    let found: Result<Checked<Reading>, String> =
        program.finds(&[&arguments[..], &options[..]].concat(), limit);
    checked::reading(found, Reading::is_sound)
}
