//! Going through the plan. Within a rotation all numbers of workers take turns.

use std::time::Duration;

use super::Header;
use super::once::Subject;
use super::plan;
use super::record::{Measurement, Plan, Reading};
use crate::experiments::cells;
use crate::experiments::course::Rotations;
use crate::experiments::journal::Journal;
use crate::experiments::missing::Missing;
use crate::experiments::program::Program;
use crate::fault::Outcome;
use crate::record::Cell;

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over. Returns what failed.
pub(super) fn all(
    header: &Header,
    program: &Program,
    journal: &mut Journal<Measurement>,
) -> Outcome<Vec<Missing>> {
    let plan = &header.plan;
    let rotations = Rotations {
        name: "turnkey",
        news: plan.quick.then(|| plan::subset(plan)).into_iter().collect(),
        budget_seconds: plan.budget_seconds,
    };
    cells::measure(&rotations, plan.cells()?, plan.repeats, journal, |cell, repeat| {
        let reading = read(program, plan, cell, repeat)?;
        Ok(reading.map(|reading| Measurement { cell: cell.clone(), repeat, reading }))
    })
}

/// What the program read, or why it failed. It checks its answers itself.
fn read(
    program: &Program,
    plan: &Plan,
    cell: &Cell,
    repeat: usize,
) -> Outcome<Result<Reading, String>> {
    let subject = Subject::find(&cell.app, &cell.size)?;
    let limit = Duration::from_secs_f64(plan.limit_seconds);
    let seconds = plan.seconds_of(&subject).to_string();
    let (workers, seed) = (cell.workers.to_string(), plan.seed.to_string());
    let mut arguments = vec![&cell.app[..], &cell.size, "--workers", &workers, "--secs", &seconds];
    let repeat = repeat.to_string();
    arguments.extend(["--seed", &seed, "--repeat", &repeat]);
    let against: Vec<String> = plan.workers.iter().map(ToString::to_string).collect();
    let against = against.join(",");
    if subject.is_measured_in_turn() {
        arguments.extend(["--against", &against]);
    }
    let found = program.finds(&arguments, limit);
    Ok(found.and_then(|found: Found| {
        let is_sound = found.reading.is_of(&subject, &plan.workers);
        is_sound.then_some(found.reading).ok_or_else(|| "it answered something else".to_owned())
    }))
}

/// What a child says.
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Found {
    /// What it read.
    pub reading: Reading,
}
