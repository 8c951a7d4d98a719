//! Going through the plan. Within a rotation the runtimes take turns.

use std::path::Path;
use std::thread;
use std::time::Duration;

use locksley_profile::GrantMeter;
use serde::Deserialize;

use super::Header;
use super::plan;
use super::process::Process;
use super::record::{Beside, Plan, Sample};
use super::sleeper::Notes;
use crate::experiments::course::{Rotations, Turn};
use crate::experiments::journal::Journal;
use crate::fault::{Fault, Outcome};
use crate::random::mix;

/// What runs beside the sleeper begins so much earlier: all its workers are there by then.
const HEAD_START: Duration = Duration::from_millis(150);

/// And it ends so much later, that the sleeper is never alone. (Its process takes a moment to start.)
const OVERTIME: Duration = Duration::from_millis(300);

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over.
pub(super) fn all(program: &Path, header: &Header, journal: &mut Journal<Sample>) -> Outcome<()> {
    let plan = &header.plan;
    let turns: Vec<Cell> =
        plan.cells().into_iter().map(|beside| Cell { beside, repeats: plan.repeats }).collect();
    let rotations = Rotations {
        name: "neighbour",
        news: plan.quick.then(|| plan::subset(plan)).into_iter().collect(),
        budget_seconds: plan.budget_seconds,
    };
    rotations
        .go(&turns, journal, |cell, repeat| sample(program, plan, cell.beside.as_ref(), repeat))
}

/// What is measured in each rotation: beside whom, and how often.
struct Cell {
    beside: Option<Beside>,
    repeats: usize,
}

impl Turn<Sample> for Cell {
    fn name(&self) -> String {
        match &self.beside {
            None => "a sleeper alone".to_owned(),
            Some(Beside { runtime, shape, workers }) => {
                format!("a sleeper beside {runtime}, {shape} parallelism, P = {workers}")
            }
        }
    }

    fn repeats(&self) -> usize {
        self.repeats
    }

    fn has_made(&self, sample: &Sample, rotation: usize) -> bool {
        sample.beside == self.beside && sample.repeat == rotation
    }
}

/// One measurement: the sleeper alone, or beside rounds on a runtime.
fn sample(program: &Path, plan: &Plan, beside: Option<&Beside>, repeat: usize) -> Outcome<Sample> {
    let time = Duration::from_secs_f64(plan.seconds);
    let mut rounds = match beside {
        None => None,
        Some(beside) => {
            let seconds = (HEAD_START + time + OVERTIME).as_secs_f64();
            let rounds = Process::start(program, &rounds(plan, beside, seconds)?)?;
            thread::sleep(HEAD_START);
            Some(rounds)
        }
    };
    let meter = GrantMeter::start();
    let sleeper = Process::start(program, &sleeper(plan, repeat))?.finish()?;
    let granted = meter.finish(1);
    let rounds_per_second = match rounds.take() {
        None => None,
        Some(mut rounds) => {
            rounds.must_be_running()?;
            let line: Line = parse(&rounds.finish()?)?;
            Some(line.rounds_per_s)
        }
    };
    let Notes { late, work } = parse(&sleeper)?;
    // The sleeper is another process too, but it uses next to nothing.
    let others = granted.others.filter(|_| beside.is_none());
    let disturbance = others.map(|others| others.as_secs_f64() / granted.wall.as_secs_f64());
    Ok(Sample { beside: beside.cloned(), repeat, late, work, rounds_per_second, disturbance })
}

/// What `rounds` prints, as far as we need it.
#[derive(Deserialize)]
struct Line {
    rounds_per_s: f64,
}

fn parse<T: for<'a> Deserialize<'a>>(line: &str) -> Outcome<T> {
    serde_json::from_str(line).map_err(|error| {
        Fault::run(format!("a process printed what nobody understands ({error}): {line}"))
    })
}

/// The arguments of `locksley rounds`.
fn rounds(plan: &Plan, beside: &Beside, seconds: f64) -> Outcome<Vec<String>> {
    let shape = plan.shapes.iter().find(|shape| shape.name == beside.shape);
    let round = shape.ok_or_else(|| Fault::run(format!("no shape '{}'", beside.shape)))?.round;
    Ok([
        "rounds".to_owned(),
        format!("--runtime={}", beside.runtime),
        format!("--workers={}", beside.workers),
        format!("--secs={seconds}"),
        format!("--leaf={}", round.leaf),
        format!("--chunks={}", round.chunks),
        format!("--serial={}", round.serial),
    ]
    .to_vec())
}

/// The arguments of `locksley sleeper`. All measurements of a rotation have the same deadlines.
fn sleeper(plan: &Plan, repeat: usize) -> Vec<String> {
    [
        "sleeper".to_owned(),
        format!("--secs={}", plan.seconds),
        format!("--period={}", plan.naps.period),
        format!("--jitter={}", plan.naps.jitter),
        format!("--steps={}", plan.naps.steps),
        format!("--seed={}", mix(plan.seed.wrapping_add(repeat as u64))),
    ]
    .to_vec()
}
