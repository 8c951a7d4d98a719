//! Going through the plan. Within a rotation the runtimes take turns. Each measurement is made by a process of its own.

use std::time::Duration;

use super::Header;
use super::once::{Kind, Subject};
use super::plan;
use super::program::Program;
use super::record::{Measurement, Plan};
use crate::experiments::course::Rotations;
use crate::experiments::journal::Journal;
use crate::experiments::missing::Missing;
use crate::experiments::reading::Reading;
use crate::experiments::series;
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over. Returns what failed.
pub(super) fn all(
    header: &Header,
    programs: &[Program],
    journal: &mut Journal<Measurement>,
) -> Outcome<Vec<Missing>> {
    let plan = &header.plan;
    let mut news: Vec<String> = plan.quick.then(|| plan::subset(plan)).into_iter().collect();
    for missing in &plan.left_out {
        news.push(format!("without {}: {}", missing.runtime, missing.reason));
    }
    let rotations = Rotations { name: "channels", news, budget_seconds: plan.budget_seconds };
    series::read_each(
        &rotations,
        plan.cells(),
        |_| plan.repeats,
        journal,
        |cell, _| {
            let is_its = |program: &&Program| program.runtime.name == cell.runtime;
            let program = programs.iter().find(is_its).ok_or_else(|| {
                Fault::run(format!("nobody says how {} is measured", cell.runtime))
            })?;
            read(program, plan, cell)
        },
    )
}

/// What a program read, or why it failed. A wrong answer is a fault.
fn read(program: &Program, plan: &Plan, cell: &Cell) -> Outcome<Result<Reading, String>> {
    let subject = Subject::find(&cell.app, &cell.size)?;
    let limit = Duration::from_secs_f64(plan.limit_seconds);
    let finding = match program.measure(cell, plan.seed, limit) {
        Ok(finding) => finding,
        Err(why) => return Ok(Err(why)),
    };
    let (answer, right) = (finding.answer(), subject.answer(plan.seed));
    if answer != right {
        return Err(Fault::run(format!("the answer {answer} is wrong; it is {right}")));
    }
    Ok(finding.reading(subject.kind == Kind::Idle))
}
