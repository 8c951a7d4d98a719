//! Going through the plan, rotation by rotation: within one the runtimes take turns, so that whatever happens to the
//! machine happens to all of them. Each measurement is made by a process of its own, with fresh workers.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use super::instructions;
use super::once::{Finding, Subject};
use super::plan::{self, PLAIN, SERIAL, STUCK_WORKERS};
use super::program::Program;
use super::record::{Header, INSTRUCTIONS, Measurement, Plan, Reading};
use crate::fault::{Fault, Outcome};
use crate::progress::Progress;
use crate::record::Cell;
use crate::record::lines::Lines;

/// Something to measure in each rotation.
struct Turn<'a> {
    cell: Cell,
    program: &'a Program,
    /// How often at most.
    repeats: usize,
}

/// What has been measured, in memory and on disk.
pub(super) struct Journal {
    lines: Lines,
    measurements: Vec<Measurement>,
    measured: HashSet<(Cell, usize)>,
    given_up: HashSet<Cell>,
}

impl Journal {
    /// Opens the journal at `path`: see [`Lines::open`].
    pub(super) fn open(path: &Path, header: &Header, fresh: bool) -> Outcome<Journal> {
        let (lines, measurements) = Lines::open(path, header, fresh)?;
        let mut journal = Journal {
            lines,
            measurements: Vec::new(),
            measured: HashSet::new(),
            given_up: HashSet::new(),
        };
        for measurement in measurements {
            journal.remember(measurement);
        }
        Ok(journal)
    }

    fn add(&mut self, measurement: Measurement) -> Outcome<()> {
        self.lines.add(&measurement)?;
        self.remember(measurement);
        Ok(())
    }

    fn remember(&mut self, measurement: Measurement) {
        self.measured.insert((measurement.cell.clone(), measurement.repeat));
        if let Reading::Never(_) = measurement.reading {
            self.given_up.insert(measurement.cell.clone());
        }
        self.measurements.push(measurement);
    }

    /// Whether there is nothing more to be learnt from this repetition: it was made, or the measurement never ends.
    fn has(&self, cell: &Cell, repeat: usize) -> bool {
        self.given_up.contains(cell) || self.measured.contains(&(cell.clone(), repeat))
    }

    pub(super) fn len(&self) -> usize {
        self.measurements.len()
    }

    pub(super) fn into_measurements(self) -> Vec<Measurement> {
        self.measurements
    }
}

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over.
pub(super) fn all(header: &Header, programs: &[Program], journal: &mut Journal) -> Outcome<()> {
    let plan = &header.plan;
    let turns = turns(plan, programs);
    let steps = turns.iter().map(|turn| turn.repeats).sum::<usize>();
    let progress = Progress::start("forkjoin", steps, journal.len());
    if plan.quick {
        progress.news(&plan::subset(plan));
    }
    for missing in &header.left_out {
        progress.news(&format!("without {}: {}", missing.runtime, missing.reason));
    }
    if journal.len() > 0 {
        progress.news(&format!("{} of {steps} are measured already; going on", journal.len()));
    }
    for rotation in 0..plan.repeats {
        let before = journal.len();
        for turn in turns.iter().filter(|turn| rotation < turn.repeats) {
            if take(turn, rotation, plan, journal, &progress)?.is_break() {
                progress.news(&format!("the time is over: {} of {steps} measured", journal.len()));
                return Ok(());
            }
        }
        if journal.len() > before {
            let (done, all, seconds) = (rotation + 1, plan.repeats, progress.seconds());
            progress.news(&format!("rotation {done} of {all} done after {seconds:.0} s"));
        }
    }
    Ok(())
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

/// Takes a measurement if it is missing; breaks off when the time is over.
fn take(
    turn: &Turn<'_>,
    rotation: usize,
    plan: &Plan,
    journal: &mut Journal,
    progress: &Progress,
) -> Outcome<ControlFlow<()>> {
    let Turn { cell, program, .. } = turn;
    if journal.has(cell, rotation) {
        return Ok(ControlFlow::Continue(()));
    }
    // Everything is measured once, whatever the time.
    if rotation > 0 && progress.seconds() >= plan.budget_seconds {
        return Ok(ControlFlow::Break(()));
    }
    progress.next(|| name(cell));
    let reading =
        read(cell, program, plan).map_err(|why| Fault::run(format!("{}: {why}", name(cell))))?;
    journal.add(Measurement { cell: cell.clone(), repeat: rotation, reading })?;
    progress.step();
    Ok(ControlFlow::Continue(()))
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

fn name(cell: &Cell) -> String {
    format!("{} {} on {}, P = {}", cell.app, cell.size, cell.runtime, cell.workers)
}
