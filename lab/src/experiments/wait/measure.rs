//! Going through the plan. Within a rotation the runtimes take turns. Each measurement is made by a process of its own.

use std::time::Duration;

use super::Header;
use super::once::{Kind, Subject};
use super::plan;
use super::record::{Measurement, Plan};
use crate::experiments::course::Rotations;
use crate::experiments::journal::Journal;
use crate::experiments::missing::Missing;
use crate::experiments::program::Program;
use crate::experiments::reading::{Finding, Reading};
use crate::experiments::series;
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over. Returns what failed.
pub(super) fn all(
    header: &Header,
    program: &Program,
    journal: &mut Journal<Measurement>,
) -> Outcome<Vec<Missing>> {
    let plan = &header.plan;
    let subset = plan.quick.then(|| plan::subset(plan));
    let rotations = Rotations::of("wait", subset, plan.budget_seconds);
    series::read_each(
        &rotations,
        plan.cells(),
        |_| plan.repeats,
        journal,
        |cell, _| read(program, plan, cell),
    )
}

/// What the program read, or why it failed. A wrong answer is a fault.
fn read(program: &Program, plan: &Plan, cell: &Cell) -> Outcome<Result<Reading, String>> {
    let subject = Subject::find(&cell.app, &cell.size)?;
    let limit = Duration::from_secs_f64(plan.limit_seconds);
    let (workers, seed) = (cell.workers.to_string(), plan.seed.to_string());
    let arguments = ["--runtime", &cell.runtime, &cell.app, &workers, &cell.size, "--seed", &seed];
    let finding: Finding = match program.finds(&arguments, limit) {
        Ok(finding) => finding,
        Err(why) => return Ok(Err(why)),
    };
    let (answer, right) = (finding.answer(), subject.answer(plan.seed));
    if answer != right {
        return Err(Fault::run(format!("the answer {answer} is wrong; it is {right}")));
    }
    Ok(finding.reading(subject.kind == Kind::Waiting))
}
