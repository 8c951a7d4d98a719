//! `locksley wait`: what tasks cost that wait. And its hidden half, which makes one measurement in a process of its own.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli;
use crate::experiments::wait::once::{self, Finding, LOCAL, Local, Subject};
use crate::experiments::wait::program::Program;
use crate::experiments::wait::{self, plan, table};
use crate::fault::{Fault, Outcome};
use crate::output::say;

pub(super) fn execute(arguments: &cli::Wait) -> Outcome<()> {
    let choice = plan::Choice {
        quick: arguments.quick,
        seed: arguments.seed,
        runtimes: arguments.runtimes.clone(),
        repeats: arguments.repeats,
        tasks: arguments.tasks,
    };
    let plan = plan::plan(&choice)?;
    let this = std::env::current_exe()
        .map_err(|error| Fault::run(format!("this program does not find itself: {error}")))?;
    let program = Program::this(&this);
    let name = if arguments.quick { "wait-quick" } else { "wait" };
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("out").join(name));
    let json: PathBuf = arguments.json.clone().unwrap_or_else(|| out.join("wait.json"));
    let options = wait::Options { plan, json, out, fresh: arguments.fresh, program };
    let finished = wait::run(&options)?;
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

pub(super) fn once(arguments: &cli::WaitOnce) -> Outcome<()> {
    let local = Local::find(&arguments.runtime).ok_or_else(|| {
        let known: Vec<&str> = LOCAL.iter().map(|local| local.name).collect();
        let known = known.join(", ");
        Fault::input(format!("unknown runtime '{}'; there are {known}", arguments.runtime))
    })?;
    let subject = Subject::find(&arguments.kind, &arguments.size)?;
    let finding = once::measure(local, subject, arguments.workers, arguments.seed)?;
    let line = Line { runtime: local.name, finding };
    say(&serde_json::to_string(&line).map_err(|error| Fault::run(error.to_string()))?)
}
