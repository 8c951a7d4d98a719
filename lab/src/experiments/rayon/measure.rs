//! Taking the measurements.

use std::time::{Duration, Instant};

use locksley_profile::GrantMeter;
use serde::Deserialize;

use super::plan::{self, Plan};
use super::program::Programs;
use super::record::Header;
use crate::corunner::repetition::{Line, Repetition};
use crate::corunner::{RoundsLine, Stretch};
use crate::experiments::corun::metrics::{mean, overlapped};
use crate::experiments::corun::process::Company;
use crate::experiments::corun::record::{Run, Sample};
use crate::experiments::corun::unit::Unit;
use crate::experiments::course::Rotations;
use crate::experiments::journal::Journal;
use crate::fault::{Fault, Outcome};

/// Until a program is ready, it prepares its input, computes once, and checks the answer by other means.
const PREPARATION: Duration = Duration::from_secs(120);

/// How much longer than planned a measurement may take: a computation that was begun is completed.
const OVERTIME: Duration = Duration::from_secs(180);

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over.
pub(super) fn all(
    header: &Header,
    programs: &Programs,
    journal: &mut Journal<Sample>,
) -> Outcome<()> {
    let plan = &header.common.plan;
    let news = plan.quick.then(|| plan::subset(plan)).into_iter().collect();
    let rotations = Rotations { name: "rayon", news, budget_seconds: plan.budget_seconds };
    rotations.go(&plan.turns(), journal, |turn, rotation| {
        sample(plan, programs, header.common.machine.capacity(), &turn.units, rotation)
    })
}

/// One measurement: a workload alone, or with `loop` beside it, or that alone.
fn sample(
    plan: &Plan,
    programs: &Programs,
    capacity: f64,
    units: &[Unit],
    repeat: usize,
) -> Outcome<Sample> {
    let command = |unit: &Unit| {
        Ok((unit.to_string(), programs.command(unit, plan.beside_seconds, plan.seed)?))
    };
    let mut company = Company::start(units.iter().map(command).collect::<Outcome<_>>()?)?;
    company.wait_until_ready(PREPARATION)?;
    let meter = GrantMeter::start();
    company.signal()?;
    let runs = heard(plan, units, &mut company)?;
    let granted = meter.finish(capacity.floor().max(1.0) as usize);
    company.finish()?;
    let used: Option<f64> = runs.iter().map(|run| run.stretch.processor_seconds).sum();
    // Our children are others to this process's meter.
    let others = granted.others.zip(used);
    let wall = granted.wall.as_secs_f64();
    let disturbance = others.map(|(others, used)| ((others.as_secs_f64() - used) / wall).max(0.0));
    Ok(Sample { units: units.to_vec(), repeat, runs, disturbance })
}

/// What the programs print until all have said their last line. The workload is told to stop when it has been at it for long
/// enough, or when `loop` is over: it computes for as long as that runs, and longer.
fn heard(plan: &Plan, units: &[Unit], company: &mut Company) -> Outcome<Vec<Run>> {
    let begun = Instant::now();
    let deadline =
        begun + Duration::from_secs_f64(plan.seconds.max(plan.beside_seconds)) + OVERTIME;
    let busy = units.iter().position(Unit::is_busy);
    let workload = units.iter().position(|unit| !unit.is_busy());
    let mut computed: Vec<Repetition> = Vec::new();
    let (mut end, mut looped): (Option<Stretch>, Option<RoundsLine>) = (None, None);
    let mut is_told = false;
    while (workload.is_some() && end.is_none()) || (busy.is_some() && looped.is_none()) {
        let (number, line) = company.hear(deadline)?;
        let is_loop = Some(number) == busy;
        let Some(line) = line else {
            // Whoever has said its last line may end; the other one may go on.
            let has_ended = if is_loop { looped.is_some() } else { end.is_some() };
            match has_ended {
                true => continue,
                false => return Err(company.complaint(number)),
            }
        };
        if is_loop {
            looped = Some(parse(&line)?);
        } else {
            match parse(&line)? {
                Line::Computation(repetition) => computed.push(repetition),
                Line::End(stretch) if is_told => end = Some(stretch),
                Line::End(_) => {
                    return Err(Fault::run("it stopped before it was told to"));
                }
            }
        }
        let has_enough = match busy {
            Some(_) => looped.is_some(),
            None => {
                begun.elapsed().as_secs_f64() >= plan.seconds && computed.len() >= plan.computations
            }
        };
        if let Some(workload) = workload.filter(|_| has_enough && !is_told) {
            company.tell(workload)?;
            is_told = true;
        }
    }
    let workload = end.map(|stretch| run_of(&computed, stretch, looped.as_ref())).transpose()?;
    let looped = looped.map(|line| Run {
        rate: line.rounds_per_s,
        seconds: Vec::new(),
        stretch: line.stretch,
        completed: line.rounds,
    });
    Ok(workload.into_iter().chain(looped).collect())
}

/// The workload's run: those of its computations count that lie within the time of `loop`, if it ran beside it.
fn run_of(computed: &[Repetition], stretch: Stretch, looped: Option<&RoundsLine>) -> Outcome<Run> {
    let beside = looped.map(|RoundsLine { stretch, .. }| {
        vec![Repetition { begun: stretch.begun, ended: stretch.ended }]
    });
    let all: Vec<Vec<Repetition>> = [computed.to_vec()].into_iter().chain(beside).collect();
    let counted = overlapped(&all).swap_remove(0);
    let seconds: Vec<f64> = counted.iter().map(Repetition::seconds).collect();
    let none = || {
        Fault::run(
            "no computation ran beside loop from beginning to end: give them more time (--secs)",
        )
    };
    let mean = mean(&seconds).filter(|&mean| mean > 0.0).ok_or_else(none)?;
    Ok(Run { rate: 1.0 / mean, seconds, stretch, completed: computed.len() as u64 })
}

fn parse<T: for<'a> Deserialize<'a>>(line: &str) -> Outcome<T> {
    serde_json::from_str(line).map_err(|error| {
        Fault::run(format!("a process printed what nobody understands ({error}): {line}"))
    })
}
