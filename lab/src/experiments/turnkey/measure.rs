//! Going through the plan. Within a rotation all contestants have their turns.

use std::time::Duration;

use super::Header;
use super::contestant::Contestant;
use super::once::Subject;
use super::plan;
use super::record::{Measurement, Plan, Reading};
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
    let rotations = Rotations::of("turnkey", subset, plan.budget_seconds);
    let repeats = |cell: &Cell| plan.repeats_of(cell);
    series::read_each(&rotations, plan.cells()?, repeats, journal, |cell, repeat| {
        read(program, plan, cell, repeat)
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
    let of = Contestant::on(&cell.runtime, cell.workers).to_string();
    let numbers = [plan.seed, repeat as u64].map(|number| number.to_string());
    let [seed, repeat] = &numbers;
    let seconds = plan.seconds_of(&subject).to_string();
    let mut arguments = vec![&cell.app[..], &cell.size, "--of", &of, "--secs", &seconds];
    arguments.extend(["--seed", seed, "--repeat", repeat]);
    let all = plan.contestants(&subject);
    let against = all.iter().skip(1).map(Contestant::to_string).collect::<Vec<_>>().join(",");
    if subject.is_measured_in_turn() {
        arguments.extend(["--against", &against]);
    }
    let found = program.finds(&arguments, limit);
    Ok(found.and_then(|found: Found| {
        let is_sound = found.reading.is_of(&subject, &all);
        is_sound.then_some(found.reading).ok_or_else(|| "it answered something else".to_owned())
    }))
}

/// What a child says.
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Found {
    /// What it read.
    pub reading: Reading,
}
