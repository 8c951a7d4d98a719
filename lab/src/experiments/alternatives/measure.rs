//! Going through the plan, rotation by rotation; within a rotation the runtimes take turns.

use std::ops::ControlFlow;

use super::Header;
use super::plan;
use super::record::Sample;
use crate::experiments::cliff::subject::Subject;
use crate::experiments::journal::Journal;
use crate::fault::{Fault, Outcome};
use crate::progress::Progress;
use crate::record::{self, Cell, Input, Plan};
use crate::runtimes::{self, Crew};
use crate::switches::Switches;

/// The serial program's name among the runtimes.
const SERIAL: &str = "serial";

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over.
pub(super) fn all(header: &Header, journal: &mut Journal<Sample>) -> Outcome<()> {
    let plan = &header.plan;
    let inputs = plan.all_inputs();
    let steps = plan.repeats * inputs.iter().map(|input| cells(input, plan).count()).sum::<usize>();
    let progress = Progress::start("alternatives", steps, journal.entries().len());
    if plan.quick {
        progress.news(&plan::subset(plan));
    }
    let missing = plan::missing(plan);
    if !missing.is_empty() {
        progress.news(&format!("not in this build: {}", missing.join(", ")));
    }
    if !journal.entries().is_empty() {
        let measured = journal.entries().len();
        progress.news(&format!("{measured} of {steps} are measured already; going on"));
    }
    for repeat in 0..plan.repeats {
        for input in &inputs {
            if rotate(input, repeat, header, journal, &progress)?.is_break() {
                let measured = journal.entries().len();
                progress.news(&format!("the time is over: {measured} of {steps} measured"));
                return Ok(());
            }
        }
        let (done, all, seconds) = (repeat + 1, plan.repeats, progress.seconds());
        progress.news(&format!("rotation {done} of {all} done after {seconds:.0} s"));
    }
    Ok(())
}

/// Takes the measurements of an input that are missing in one rotation; breaks off when the time is over.
fn rotate(
    input: &Input,
    repeat: usize,
    header: &Header,
    journal: &mut Journal<Sample>,
    progress: &Progress,
) -> Outcome<ControlFlow<()>> {
    let mut subject = None;
    for cell in cells(input, &header.plan) {
        let is_it = |sample: &Sample| sample.time.cell == cell && sample.time.repeat == repeat;
        if journal.entries().iter().any(is_it) {
            continue;
        }
        // Everything is measured once, whatever the time.
        if repeat > 0 && progress.seconds() >= header.plan.budget_seconds {
            return Ok(ControlFlow::Break(()));
        }
        progress.next(|| name(&cell));
        let subject = match &mut subject {
            Some(subject) => subject,
            none => none.insert(Subject::prepare(input, &header.plan)?),
        };
        let sample = sample(&cell, repeat, subject)
            .map_err(|fault| Fault::run(format!("{}: {fault}", name(&cell))))?;
        journal.add(sample)?;
        progress.step();
    }
    Ok(ControlFlow::Continue(()))
}

/// What is measured of an input in each rotation, in order.
fn cells(input: &Input, plan: &Plan) -> impl Iterator<Item = Cell> {
    let cell = |runtime: &str, workers| Cell {
        app: input.app.clone(),
        size: input.size.clone(),
        runtime: runtime.to_owned(),
        workers,
    };
    let crowds = plan
        .workers
        .iter()
        .flat_map(move |&workers| plan.runtimes.iter().map(move |runtime| cell(runtime, workers)));
    std::iter::once(cell(SERIAL, 1)).chain(crowds)
}

fn sample(cell: &Cell, repeat: usize, subject: &mut Subject) -> Outcome<Sample> {
    let crew = runtimes::find(&cell.runtime)?.start(cell.workers)?;
    let metered = subject.metered_on(&crew, || counts(&crew))?;
    let ((effort, switches), (effort_before, switches_before)) = (metered.after, metered.before);
    Ok(Sample {
        time: record::Sample::timed(cell.clone(), repeat, metered.seconds),
        wall: metered.wall,
        effort: effort.zip(effort_before).map(|(after, before)| after - before),
        switches: switches.zip(switches_before).map(|(after, before)| after - before),
    })
}

/// What is counted before and after a computation.
fn counts(crew: &Crew) -> (Option<runtimes::Effort>, Option<Switches>) {
    (crew.effort(), Switches::of_this_process())
}

fn name(cell: &Cell) -> String {
    format!("{} {} on {}, P = {}", cell.app, cell.size, cell.runtime, cell.workers)
}
