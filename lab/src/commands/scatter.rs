//! `locksley scatter`: scatter and gather with both placements. And its hidden half, which makes one measurement in a process of
//! its own.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli;
use crate::experiments::scatter::once::{self, Finding, Local, Subject};
use crate::experiments::scatter::program::Program;
use crate::experiments::scatter::{self, plan, table};
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::output::say;

pub(super) fn execute(arguments: &cli::Scatter) -> Outcome<()> {
    let choice = plan::Choice {
        quick: arguments.quick,
        seed: arguments.seed,
        experiments: arguments.experiments.clone(),
        repeats: arguments.repeats,
        divisor: arguments.divisor,
    };
    let plan = plan::plan(&choice, Machine::here().processors)?;
    let this = std::env::current_exe()
        .map_err(|error| Fault::run(format!("this program does not find itself: {error}")))?;
    let program = Program::this(&this);
    let name = if arguments.quick { "scatter-quick" } else { "scatter" };
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("out").join(name));
    let json: PathBuf = arguments.json.clone().unwrap_or_else(|| out.join("scatter.json"));
    let options = scatter::Options { plan, json, out, fresh: arguments.fresh, program };
    let finished = scatter::run(&options)?;
    if finished.is_old {
        let date = &finished.record.finished;
        say(&format!("measured already, on {date} by this build; --fresh measures again\n"))?;
    }
    say(&table::text(&finished.record, &finished.summary))?;
    say(&format!("record  {}\npage    {}", options.json.display(), finished.page.display()))
}

/// The line that a measurement prints.
#[derive(Serialize)]
struct Line<'a> {
    runtime: &'a str,
    #[serde(flatten)]
    finding: Finding,
}

pub(super) fn once(arguments: &cli::ScatterOnce) -> Outcome<()> {
    let local = Local::find(&arguments.runtime)?;
    let subject = Subject::find(&arguments.size)?;
    let finding = once::measure(local, subject, arguments.workers, arguments.seed)?;
    let line = Line { runtime: local.name, finding };
    say(&serde_json::to_string(&line).map_err(|error| Fault::run(error.to_string()))?)
}
