//! Going through the plan, rotation by rotation: within one the runtimes take turns, so that whatever happens to the
//! machine happens to all of them. Each measurement is made by a process of its own, with fresh workers.

use std::time::Duration;

use super::instructions;
use super::once::{Finding, Subject};
use super::plan::{self, PLAIN, SERIAL, STUCK_WORKERS};
use super::program::Program;
use super::record::{Header, INSTRUCTIONS, Measurement, Plan, Reading};
use crate::experiments::course::{self, Rotations};
use crate::experiments::journal::Journal;
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// Something to measure in each rotation.
struct Turn<'a> {
    cell: Cell,
    program: &'a Program,
    /// How often at most.
    repeats: usize,
}

impl course::Turn<Measurement> for Turn<'_> {
    fn name(&self) -> String {
        let Cell { app, size, runtime, workers } = &self.cell;
        format!("{app} {size} on {runtime}, P = {workers}")
    }

    fn repeats(&self) -> usize {
        self.repeats
    }

    /// There is nothing more to be learnt from a repetition that was made, or if one never ended.
    fn has_made(&self, measurement: &Measurement, rotation: usize) -> bool {
        let never = matches!(measurement.reading, Reading::Never(_));
        measurement.cell == self.cell && (never || measurement.repeat == rotation)
    }
}

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over.
pub(super) fn all(
    header: &Header,
    programs: &[Program],
    journal: &mut Journal<Measurement>,
) -> Outcome<()> {
    let plan = &header.plan;
    let mut news: Vec<String> = plan.quick.then(|| plan::subset(plan)).into_iter().collect();
    for missing in &header.left_out {
        news.push(format!("without {}: {}", missing.runtime, missing.reason));
    }
    let rotations = Rotations { name: "forkjoin", news, budget_seconds: plan.budget_seconds };
    rotations.go(&turns(plan, programs), journal, |turn, rotation| {
        let reading = read(&turn.cell, turn.program, plan).map_err(Fault::run)?;
        Ok(Measurement { cell: turn.cell.clone(), repeat: rotation, reading })
    })
}

/// What is measured, in the order in which it is.
fn turns<'a>(plan: &Plan, programs: &'a [Program]) -> Vec<Turn<'a>> {
    let mut turns = Vec::new();
    let mut turn = |program: &'a Program, app: &str, size: &str, workers, repeats| {
        let (app, size) = (app.to_owned(), size.to_owned());
        let cell = Cell { app, size, runtime: program.runtime.name.clone(), workers };
        turns.push(Turn { cell, program, repeats });
    };
    let forks = |program: &Program| ![SERIAL, PLAIN].contains(&program.runtime.name.as_str());
    for input in &plan.inputs {
        for &workers in &plan.workers {
            for program in programs.iter().filter(|program| workers == 1 || forks(program)) {
                turn(program, &input.app, &input.size, workers, plan.repeats);
            }
        }
    }
    for shape in &plan.shapes {
        for program in programs.iter().filter(|program| forks(program)) {
            turn(program, Subject::STUCK, shape, STUCK_WORKERS, plan.repeats);
        }
    }
    for size in plan.instructions.iter().flatten() {
        for program in programs {
            turn(program, INSTRUCTIONS, &size.to_string(), 1, 1);
        }
    }
    turns
}

fn read(cell: &Cell, program: &Program, plan: &Plan) -> Result<Reading, String> {
    let Cell { app, size, workers, .. } = cell;
    if app == INSTRUCTIONS {
        let command = program.command(Subject::FIB, size, *workers, plan.seed);
        return instructions::count(&command).map(Reading::Instructions);
    }
    let subject = Subject::find(app, size).map_err(|fault| fault.to_string())?;
    let limit = match subject {
        Subject::Stuck(_) => plan.stuck_limit_seconds,
        _ => plan.limit_seconds,
    };
    let mut command = program.command(app, size, *workers, plan.seed);
    let found = Program::run(&mut command, Duration::from_secs_f64(limit))?;
    match (found, subject.answer(plan.seed)) {
        (None, _) => Ok(Reading::Never(limit)),
        (Some(Finding::Takeover(takeover)), None) => Ok(Reading::Takeover(takeover)),
        (Some(Finding::Timed(timed)), Some(right)) if timed.answer == right => {
            Ok(Reading::Seconds(timed.seconds))
        }
        (Some(Finding::Timed(timed)), Some(right)) => {
            Err(format!("the answer {} is wrong; it is {right}", timed.answer))
        }
        (Some(_), _) => Err("it answered something else".to_owned()),
    }
}
