//! Taking the measurements.

use std::time::{Duration, Instant};

use locksley_profile::GrantMeter;
use serde::Deserialize;

use super::metrics::{mean, overlapped};
use super::plan::{self, Plan, Turn};
use super::process::Company;
use super::program::Programs;
use super::record::{Header, Run, Sample};
use super::unit::{Job, Unit};
use crate::corunner::repetition::{Line, Repetition};
use crate::corunner::{RoundsLine, Stretch};
use crate::experiments::course::{self, Rotations};
use crate::experiments::journal::Journal;
use crate::fault::{Fault, Outcome};

/// Until a program is ready, it prepares its input and computes the answer once.
const PREPARATION: Duration = Duration::from_secs(120);

/// How much longer than planned rounds may take: one that was begun is completed, however few processors there are.
const OVERTIME: Duration = Duration::from_secs(60);

/// For how long applications run beside each other at most.
const PATIENCE: Duration = Duration::from_secs(180);

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over.
pub(super) fn all(
    header: &Header,
    programs: &Programs,
    journal: &mut Journal<Sample>,
) -> Outcome<()> {
    let plan = &header.common.plan;
    let mut news: Vec<String> = plan.quick.then(|| plan::subset(plan)).into_iter().collect();
    for missing in &header.left_out {
        news.push(format!("without {}: {}", missing.name, missing.reason));
    }
    let rotations = Rotations { name: "corun", news, budget_seconds: plan.budget_seconds };
    rotations.go(&plan.turns(), journal, |turn, rotation| {
        sample(plan, programs, header.common.machine.capacity(), &turn.units, rotation)
    })
}

impl course::Turn<Sample> for Turn {
    fn name(&self) -> String {
        let units: Vec<String> = self.units.iter().map(Unit::to_string).collect();
        units.join(" beside ")
    }

    fn repeats(&self) -> usize {
        self.repeats
    }

    fn has_made(&self, sample: &Sample, rotation: usize) -> bool {
        sample.repeat == rotation && sample.units == self.units
    }
}

/// One measurement: programs side by side, or one alone.
pub(super) fn sample(
    plan: &Plan,
    programs: &Programs,
    capacity: f64,
    units: &[Unit],
    repeat: usize,
) -> Outcome<Sample> {
    let seconds = if units.len() == 1 { plan.solo_seconds } else { plan.seconds };
    let command = |unit: &Unit| Ok((unit.to_string(), programs.command(unit, seconds, plan.seed)?));
    let mut company = Company::start(units.iter().map(command).collect::<Outcome<_>>()?)?;
    company.wait_until_ready(PREPARATION)?;
    let meter = GrantMeter::start();
    company.signal()?;
    let are_applications = units.iter().all(|unit| matches!(unit.job, Job::App { .. }));
    let runs = match are_applications {
        true => repeated(plan, &mut company)?,
        false => timed(&mut company, Duration::from_secs_f64(seconds) + OVERTIME)?,
    };
    let granted = meter.finish(capacity.floor().max(1.0) as usize);
    company.finish()?;
    let used: Option<f64> = runs.iter().map(|run| run.stretch.processor_seconds).sum();
    // Our children are others to this process's meter.
    let others = granted.others.zip(used);
    let wall = granted.wall.as_secs_f64();
    let disturbance = others.map(|(others, used)| ((others.as_secs_f64() - used) / wall).max(0.0));
    Ok(Sample { units: units.to_vec(), repeat, runs, disturbance })
}

/// Rounds for a fixed time: each program prints one line when it is over.
fn timed(company: &mut Company, limit: Duration) -> Outcome<Vec<Run>> {
    let deadline = Instant::now() + limit;
    let mut runs: Vec<Option<Run>> = vec![None; company.len()];
    while runs.iter().any(Option::is_none) {
        let (number, line) = company.hear(deadline)?;
        let Some(line) = line else {
            // Whoever has said its line may end; others may still be busy with their last round.
            match runs[number] {
                Some(_) => continue,
                None => return Err(company.complaint(number)),
            }
        };
        let RoundsLine { rounds_per_s: rate, rounds: completed, stretch, .. } = parse(&line)?;
        runs[number] = Some(Run { rate, seconds: Vec::new(), stretch, completed });
    }
    Ok(runs.into_iter().flatten().collect())
}

/// Applications, until each has computed often enough beside all others.
fn repeated(plan: &Plan, company: &mut Company) -> Outcome<Vec<Run>> {
    let begun = Instant::now();
    let deadline = begun + PATIENCE;
    let mut done: Vec<Vec<Repetition>> = vec![Vec::new(); company.len()];
    let mut stretches: Vec<Option<Stretch>> = vec![None; company.len()];
    let mut is_told = false;
    while stretches.iter().any(Option::is_none) {
        let (number, line) = company.hear(deadline)?;
        let Some(line) = line else {
            match stretches[number] {
                Some(_) => continue,
                None => return Err(company.complaint(number)),
            }
        };
        match parse(&line)? {
            Line::Computation(repetition) => done[number].push(repetition),
            Line::End(stretch) => stretches[number] = Some(stretch),
        }
        let time = begun.elapsed().as_secs_f64();
        if !is_told && time >= plan.application_seconds && have_enough(&done, plan.computations) {
            company.signal()?;
            is_told = true;
        }
    }
    let counted = overlapped(&done);
    let runs = counted.iter().zip(&done).zip(stretches).map(|((counted, done), stretch)| {
        let seconds: Vec<f64> = counted.iter().map(Repetition::seconds).collect();
        let none = || Fault::run("no computation ran beside the others from beginning to end");
        let (mean, stretch) = mean(&seconds).zip(stretch).ok_or_else(none)?;
        Ok(Run { rate: 1.0 / mean, seconds, stretch, completed: done.len() as u64 })
    });
    runs.collect()
}

/// Whether each program has so many computations that will count, since all programs go on.
fn have_enough(done: &[Vec<Repetition>], least: usize) -> bool {
    let Some(begun) = done.iter().map(|all| all.first().map(|one| one.begun)).max().flatten()
    else {
        return false;
    };
    let counts = |all: &Vec<Repetition>| all.iter().filter(|one| begun <= one.begun).count();
    done.iter().all(|all| !all.is_empty() && counts(all) >= least)
}

fn parse<T: for<'a> Deserialize<'a>>(line: &str) -> Outcome<T> {
    serde_json::from_str(line).map_err(|error| {
        Fault::run(format!("a process printed what nobody understands ({error}): {line}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_is_enough_beside_the_last_to_begin() {
        let of = |times: &[(u64, u64)]| -> Vec<Repetition> {
            times.iter().map(|&(begun, ended)| Repetition { begun, ended }).collect()
        };
        let first = of(&[(0, 10), (10, 20), (20, 30)]);
        assert!(!have_enough(&[first.clone(), Vec::new()], 1), "the other has not ended one");
        assert!(have_enough(&[first.clone(), of(&[(5, 50)])], 1));
        assert!(!have_enough(&[first.clone(), of(&[(5, 50)])], 2));
        assert!(
            !have_enough(&[first, of(&[(5, 50), (50, 90)])], 3),
            "the first one began too early"
        );
    }
}
