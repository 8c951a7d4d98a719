//! Going through the plan. Within a rotation the runtimes take turns. Each measurement is made by a process of its own.

use std::time::Duration;

use super::Header;
use super::once::{Finding, Kind, Subject};
use super::plan;
use super::program::Program;
use super::record::{Measurement, Plan};
use crate::experiments::course::{Rotations, Turn};
use crate::experiments::journal::Journal;
use crate::experiments::wait::record::Reading;
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over.
pub(super) fn all(
    programs: &[Program],
    header: &Header,
    journal: &mut Journal<Measurement>,
) -> Outcome<()> {
    let plan = &header.plan;
    let mut turns = Vec::new();
    for cell in plan.cells() {
        let is_its = |program: &&Program| program.runtime.name == cell.runtime;
        let program = programs
            .iter()
            .find(is_its)
            .ok_or_else(|| Fault::run(format!("nobody says how {} is measured", cell.runtime)))?;
        turns.push(OfCell { cell, program, repeats: plan.repeats });
    }
    let mut news: Vec<String> = plan.quick.then(|| plan::subset(plan)).into_iter().collect();
    for missing in &plan.left_out {
        news.push(format!("without {}: {}", missing.runtime, missing.reason));
    }
    let rotations = Rotations { name: "channels", news, budget_seconds: plan.budget_seconds };
    rotations.go(&turns, journal, |turn, repeat| {
        let reading = read(turn.program, plan, &turn.cell)?;
        Ok(Measurement { cell: turn.cell.clone(), repeat, reading })
    })
}

/// What is measured in each rotation, and how often.
struct OfCell<'a> {
    cell: Cell,
    program: &'a Program,
    repeats: usize,
}

impl Turn<Measurement> for OfCell<'_> {
    fn name(&self) -> String {
        let Cell { app, size, runtime, workers } = &self.cell;
        format!("{app} {size} on {runtime}, P = {workers}")
    }

    fn repeats(&self) -> usize {
        self.repeats
    }

    fn has_made(&self, measurement: &Measurement, rotation: usize) -> bool {
        measurement.cell == self.cell && measurement.repeat == rotation
    }
}

fn read(program: &Program, plan: &Plan, cell: &Cell) -> Outcome<Reading> {
    let subject = Subject::find(&cell.app, &cell.size)?;
    let limit = Duration::from_secs_f64(plan.limit_seconds);
    let finding = program.measure(cell, plan.seed, limit).map_err(Fault::Run)?;
    let (answer, right) = (finding.answer(), subject.answer(plan.seed));
    if answer != right {
        return Err(Fault::run(format!("the answer {answer} is wrong; it is {right}")));
    }
    match (finding, subject.kind == Kind::Idle) {
        (Finding::Memory(memory), true) => {
            Ok(Reading::Memory { bytes: memory.bytes, future: memory.future })
        }
        (Finding::Timed(timed), false) => {
            Ok(Reading::Time { seconds: timed.seconds, apart: timed.apart })
        }
        _ => Err(Fault::run("it answered something else")),
    }
}
