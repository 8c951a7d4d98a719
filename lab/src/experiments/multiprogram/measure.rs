//! Going through the plan. Each measurement is made by a process of its own.

use std::time::Duration;

use super::Header;
use super::once::Finding;
use super::plan::{self, Plan, What};
use super::record::{Measurement, Reading};
use crate::experiments::checked;
use crate::experiments::course::Rotations;
use crate::experiments::journal::Journal;
use crate::experiments::missing::Missing;
use crate::experiments::program::Program;
use crate::experiments::series;
use crate::fault::Outcome;
use crate::random::mix;
use crate::record::Cell;

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over. Returns what failed.
pub(super) fn all(
    header: &Header,
    program: &Program,
    journal: &mut Journal<Measurement>,
) -> Outcome<Vec<Missing>> {
    let plan = &header.plan;
    let subset = plan.quick.then(|| plan::subset(plan));
    let rotations = Rotations::of("multiprogram", subset, plan.budget_seconds);
    series::read_each(
        &rotations,
        plan.cells(),
        |_| plan.repeats,
        journal,
        |cell, repeat| read(program, plan, cell, repeat),
    )
}

/// What the program read, or why it failed. A wrong answer is a fault.
fn read(
    program: &Program,
    plan: &Plan,
    cell: &Cell,
    repeat: usize,
) -> Outcome<Result<Reading, String>> {
    let what = plan.what(cell).expect("a cell of the plan");
    let number = |number: u64| number.to_string();
    let (workers, seed) = (number(cell.workers as u64), number(plan.seed));
    let seconds = plan.seconds.to_string();
    let mut arguments =
        vec![&cell.app, &cell.size, &workers].into_iter().map(String::as_str).collect::<Vec<_>>();
    arguments.extend(["--secs", &seconds, "--seed", &seed]);
    // Another sequence of releases in each rotation, and the same for all that are compared.
    let choices = number(mix(plan.seed.wrapping_add(repeat as u64)));
    let (most, of_cycler);
    if let What::Beside(beside) = what {
        (of_cycler, most) = (number(beside.workers as u64), number(beside.most));
        arguments.extend(["--cycler", &of_cycler, "--increments", &most, "--choices", &choices]);
    }
    let limit = Duration::from_secs_f64(plan.limit_seconds);
    let found: Result<Finding, String> = program.finds(&arguments, limit);
    checked::reading(found, |reading| reading.is_sound(what))
}
