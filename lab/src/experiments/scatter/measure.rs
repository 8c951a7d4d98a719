//! Going through the plan. Within a rotation the placements take turns. Each measurement is made by a process of its own.

use std::time::Duration;

use super::Header;
use super::once::{Finding, Subject};
use super::plan;
use super::record::{Measurement, Plan};
use crate::experiments::cells;
use crate::experiments::course::Rotations;
use crate::experiments::journal::Journal;
use crate::experiments::missing::Missing;
use crate::experiments::program::Program;
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over. Returns what failed.
pub(super) fn all(
    header: &Header,
    program: &Program,
    journal: &mut Journal<Measurement>,
) -> Outcome<Vec<Missing>> {
    let plan = &header.plan;
    let rotations = Rotations {
        name: "scatter",
        news: vec![plan::extent(plan)],
        budget_seconds: plan.budget_seconds,
    };
    cells::measure(
        &rotations,
        plan.cells()?,
        |_| plan.repeats,
        journal,
        |cell, repeat| {
            let finding = find(program, plan, cell)?;
            Ok(finding.map(|finding| Measurement { cell: cell.clone(), repeat, finding }))
        },
    )
}

/// What the program found, or why it failed. A wrong answer is a fault.
fn find(program: &Program, plan: &Plan, cell: &Cell) -> Outcome<Result<Finding, String>> {
    let subject = Subject::find(&cell.size)?;
    let limit = Duration::from_secs_f64(plan.limit_seconds);
    let (workers, seed) = (cell.workers.to_string(), plan.seed.to_string());
    let arguments = ["--runtime", &cell.runtime, &cell.size, &workers, &seed];
    let finding: Finding = match program.finds(&arguments, limit) {
        Ok(finding) => finding,
        Err(why) => return Ok(Err(why)),
    };
    let (answer, right) = (finding.answer, subject.answer(finding.divisions, plan.seed));
    if answer != right {
        return Err(Fault::run(format!("the answer {answer} is wrong; it is {right}")));
    }
    let is_sound = finding.is_sound();
    let nonsense = || "it answered something that nobody can measure".to_owned();
    Ok(is_sound.then_some(finding).ok_or_else(nonsense))
}
