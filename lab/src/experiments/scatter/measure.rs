//! Going through the plan. Within a rotation the placements take turns. Each measurement is made by a process of its own.

use std::time::Duration;

use super::Header;
use super::once::{Finding, Subject};
use super::plan;
use super::program::Program;
use super::record::{Measurement, Plan};
use crate::experiments::course::{Rotations, Turn};
use crate::experiments::journal::Journal;
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over.
pub(super) fn all(
    program: &Program,
    header: &Header,
    journal: &mut Journal<Measurement>,
) -> Outcome<()> {
    let plan = &header.plan;
    let turn = |cell| OfCell { cell, repeats: plan.repeats };
    let turns: Vec<OfCell> = plan.cells()?.into_iter().map(turn).collect();
    let rotations = Rotations {
        name: "scatter",
        news: vec![plan::extent(plan)],
        budget_seconds: plan.budget_seconds,
    };
    rotations.go(&turns, journal, |turn, repeat| {
        let finding = find(program, plan, &turn.cell)?;
        Ok(Measurement { cell: turn.cell.clone(), repeat, finding })
    })
}

/// What is measured in each rotation, and how often.
struct OfCell {
    cell: Cell,
    repeats: usize,
}

impl Turn<Measurement> for OfCell {
    fn name(&self) -> String {
        let Cell { size, runtime, workers, .. } = &self.cell;
        format!("{size} on {runtime}, P = {workers}")
    }

    fn repeats(&self) -> usize {
        self.repeats
    }

    fn has_made(&self, measurement: &Measurement, rotation: usize) -> bool {
        measurement.cell == self.cell && measurement.repeat == rotation
    }
}

fn find(program: &Program, plan: &Plan, cell: &Cell) -> Outcome<Finding> {
    let subject = Subject::find(&cell.size)?;
    let limit = Duration::from_secs_f64(plan.limit_seconds);
    let finding = program.measure(cell, plan.seed, limit).map_err(Fault::Run)?;
    let (answer, right) = (finding.answer, subject.answer(finding.divisions, plan.seed));
    if answer != right {
        return Err(Fault::run(format!("the answer {answer} is wrong; it is {right}")));
    }
    if !finding.is_sound() {
        return Err(Fault::run("it answered something that nobody can measure"));
    }
    Ok(finding)
}
