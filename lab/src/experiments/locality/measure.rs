//! Going through the plan. Within a rotation the placements take turns. Each measurement is made by a process of its own.

use super::Header;
use super::plan;
use super::program::Program;
use super::record::Measurement;
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
    let of_cell = |cell| OfCell { repeats: plan.repeats_of(&cell), cell };
    let turns: Vec<OfCell> = plan.cells().into_iter().map(of_cell).collect();
    let rotations = Rotations {
        name: "locality",
        news: plan.quick.then(|| plan::subset(plan)).into_iter().collect(),
        budget_seconds: plan.budget_seconds,
    };
    rotations.go(&turns, journal, |turn, repeat| {
        let finding = program.measure(&turn.cell, plan).map_err(Fault::Run)?;
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
        let Cell { app, size, runtime, workers } = &self.cell;
        let what = if plan::RUNTIMES.contains(&runtime.as_str()) { "on" } else { "placement" };
        format!("{app} {size}, {what} {runtime}, P = {workers}")
    }

    fn repeats(&self) -> usize {
        self.repeats
    }

    fn has_made(&self, measurement: &Measurement, rotation: usize) -> bool {
        measurement.cell == self.cell && measurement.repeat == rotation
    }
}
