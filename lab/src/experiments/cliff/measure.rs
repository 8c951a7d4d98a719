//! Going through the plan: rotation by rotation, so that a run that is stopped has measured everything equally often,
//! and the repetitions of one measurement lie far apart in time. Within a rotation the runtimes take turns.

use std::ops::ControlFlow;

use locksley_profile::GrantMeter;

use super::journal::{self, Entry};
use super::subject::Subject;
use super::{Header, plan, summary};
use crate::apps;
use crate::experiments::journal::Journal;
use crate::fault::{Fault, Outcome};
use crate::machine::available_memory;
use crate::progress::Progress;
use crate::record::{COPIES, CRITICAL_PATH, Cell, Grant, Input, Plan, Sample};
use crate::runtimes::{self, Crew, Runtime};

/// The serial program's name among the runtimes.
pub(super) const SERIAL: &str = "serial";

/// How often Ts and T1 are measured in a rotation: every ratio depends on them.
const BASE_RUNS: usize = 2;

/// A measurement to make in each rotation.
struct Turn {
    cell: Cell,
    /// What it is made on; `None` for copies of the serial program, and for the critical path.
    runtime: Option<&'static Runtime>,
    /// How often it is made in a row.
    runs: usize,
}

impl Turn {
    /// The numbers of its repetitions in a rotation.
    fn repeats(&self, rotation: usize) -> std::ops::Range<usize> {
        rotation * self.runs..(rotation + 1) * self.runs
    }
}

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over.
pub(super) fn all(header: &Header, journal: &mut Journal<Entry>) -> Outcome<()> {
    let plan = &header.plan;
    let mut inputs = plan
        .all_inputs()
        .into_iter()
        .chain(plan.beside_input())
        .map(|input| {
            let turns = turns(&input, plan, header.machine.processors)?;
            Ok(Measured { input, turns, subject: None })
        })
        .collect::<Outcome<Vec<_>>>()?;
    let turns = inputs.iter().flat_map(|input| &input.turns);
    let steps = plan.repeats * turns.map(|turn| turn.runs).sum::<usize>();
    let progress = Progress::start("cliff", steps, journal::measured(journal));
    if plan.quick {
        progress.news(&plan::subset(plan));
    }
    let measured = journal::measured(journal);
    if measured > 0 {
        progress.news(&format!("{measured} of {steps} are measured already; going on"));
    }
    let memory = available_memory() / 4 / inputs.len().max(1) as u128;
    for rotation in 0..plan.repeats {
        let before = journal::measured(journal);
        for measured in &mut inputs {
            if measured.rotate(rotation, header, journal, &progress)?.is_break() {
                let measured = journal::measured(journal);
                progress.news(&format!("the time is over: {measured} of {steps} measured"));
                return Ok(());
            }
            // To fill in an input anew takes time, but to keep all of them may take more memory than there is.
            measured.subject.take_if(|subject| subject.bytes() > memory);
        }
        if journal::measured(journal) > before {
            let (done, all, seconds) = (rotation + 1, plan.repeats, progress.seconds());
            progress.news(&format!("rotation {done} of {all} done after {seconds:.0} s"));
        }
    }
    Ok(())
}

/// An input, and what is measured of it in each rotation.
struct Measured {
    input: Input,
    turns: Vec<Turn>,
    subject: Option<Subject>,
}

impl Measured {
    /// Takes the measurements of one rotation that are missing; breaks off when the time is over.
    fn rotate(
        &mut self,
        rotation: usize,
        header: &Header,
        journal: &mut Journal<Entry>,
        progress: &Progress,
    ) -> Outcome<ControlFlow<()>> {
        let missing = |turn: &&Turn| {
            turn.repeats(rotation).any(|repeat| !journal::has(journal, &turn.cell, repeat))
        };
        let missing: Vec<&Turn> = self.turns.iter().filter(missing).collect();
        if missing.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let subject = match &mut self.subject {
            Some(subject) => subject,
            none => none.insert(Subject::prepare(&self.input, &header.plan)?),
        };
        let meter = GrantMeter::start();
        for turn in missing {
            // Everything is measured once, whatever the time.
            if rotation > 0 && progress.seconds() >= header.plan.budget_seconds {
                return Ok(ControlFlow::Break(()));
            }
            progress.next(|| name(&turn.cell));
            take(turn, rotation, subject, journal, progress)?;
        }
        let granted = meter.finish(header.machine.processors);
        journal.add(Entry::Grant(Grant {
            app: self.input.app.clone(),
            size: self.input.size.clone(),
            rotation,
            metered_seconds: granted.wall.as_secs_f64(),
            processors: granted.processors,
        }))?;
        Ok(ControlFlow::Continue(()))
    }
}

/// The measurements of an input, in the order in which they are taken.
fn turns(input: &Input, plan: &Plan, processors: usize) -> Outcome<Vec<Turn>> {
    let turn = |name: &str, workers, runtime| {
        let (app, size) = (input.app.clone(), input.size.clone());
        let runs = if workers == 1 { BASE_RUNS } else { 1 };
        Turn { cell: Cell { app, size, runtime: name.to_owned(), workers }, runtime, runs }
    };
    let runs = |runtime: &Runtime| match input.app.as_str() {
        plan::ROUNDS | plan::BESIDE => Ok(true),
        name => Ok(runtime.can_run(apps::find(name)?)),
    };
    if input.app == plan::BESIDE {
        let found = plan.runtimes.iter().map(|name| Ok((name, runtimes::find(name)?)));
        let turn = |(name, runtime)| Turn { runs: 1, ..turn(name, processors, Some(runtime)) };
        return found
            .map(|found: Outcome<_>| found.map(|it: (&String, _)| turn((it.0, it.1))))
            .collect();
    }
    let mut turns = vec![turn(SERIAL, 1, Some(runtimes::find(SERIAL)?))];
    for &workers in &plan.workers {
        for name in &plan.runtimes {
            let runtime = runtimes::find(name)?;
            if runs(runtime)? {
                turns.push(turn(name, workers, Some(runtime)));
            }
        }
    }
    if input.app != plan::ROUNDS {
        turns.push(turn(CRITICAL_PATH, 1, None));
    }
    for copies in summary::numbers_of_copies(plan, processors) {
        turns.push(turn(COPIES, copies, None));
    }
    Ok(turns)
}

/// Takes the measurements of one turn; none where copies would not fit into memory.
fn take(
    turn: &Turn,
    rotation: usize,
    subject: &mut Subject,
    journal: &mut Journal<Entry>,
    progress: &Progress,
) -> Outcome<()> {
    let workers = turn.cell.workers;
    if turn.runtime.is_none() && subject.bytes() * workers as u128 > available_memory() / 2 {
        return Ok(());
    }
    for repeat in turn.repeats(rotation) {
        if journal::has(journal, &turn.cell, repeat) {
            continue;
        }
        // A new crew each time: on many machines the processors differ, and a lone worker stays on the one it got.
        let crew = turn.runtime.map_or(Ok(Crew::Serial), |runtime| runtime.start(workers))?;
        let unmetered = |seconds| (seconds, None);
        let measured = match turn.runtime {
            Some(_) => subject.time_on(&crew).map(unmetered),
            None if turn.cell.runtime == CRITICAL_PATH => {
                subject.critical_path().map(|metered| (metered.critical_path, Some(metered)))
            }
            None => subject.time_of_copies(workers).map(unmetered),
        };
        let (seconds, metered) =
            measured.map_err(|fault| Fault::run(format!("{}: {fault}", name(&turn.cell))))?;
        journal.add(Entry::Sample(Sample { cell: turn.cell.clone(), repeat, seconds, metered }))?;
        progress.step();
    }
    Ok(())
}

fn name(cell: &Cell) -> String {
    format!("{} {} on {}, P = {}", cell.app, cell.size, cell.runtime, cell.workers)
}
