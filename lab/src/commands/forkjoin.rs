//! `locksley forkjoin`: what a fork costs. And its hidden half, which makes one measurement in a process of its own.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli;
use crate::experiments::forkjoin::once::{self, Finding, LOCAL, Local, Subject};
use crate::experiments::forkjoin::plan::{self, Choice};
use crate::experiments::forkjoin::{self, instructions, program, table};
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::output::{note, say};

pub(super) fn execute(arguments: &cli::Forkjoin) -> Outcome<()> {
    let wanted = arguments.instructions || !arguments.quick;
    let counted = wanted && instructions::can_be_counted();
    let choice = Choice {
        quick: arguments.quick,
        seed: arguments.seed,
        fib: arguments.fib,
        tree: arguments.tree,
        repeats: arguments.repeats,
        instructions: counted,
    };
    let plan = plan::plan(&choice, Machine::here().processors)?;
    let this = std::env::current_exe()
        .map_err(|error| Fault::run(format!("this program cannot be found: {error}")))?;
    let (programs, left_out) = program::find(&this, &arguments.peers, &arguments.runtimes)?;
    let default =
        Path::new("out").join(if arguments.quick { "forkjoin-quick" } else { "forkjoin" });
    let out = arguments.out.clone().unwrap_or(default);
    let json: PathBuf = arguments.json.clone().unwrap_or_else(|| out.join("forkjoin.json"));
    let fresh = arguments.fresh;
    let options = forkjoin::Options { plan, programs, left_out, json, out, fresh };
    if wanted && !counted {
        note("forkjoin: valgrind is not installed, so no instructions are counted");
    }
    let finished = forkjoin::run(&options)?;
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

pub(super) fn once(arguments: &cli::ForkjoinOnce) -> Outcome<()> {
    let local = Local::find(&arguments.runtime).ok_or_else(|| {
        let known: Vec<&str> = LOCAL.iter().map(|local| local.name).collect();
        Fault::input(format!(
            "unknown runtime '{}'; there are {}",
            arguments.runtime,
            known.join(", ")
        ))
    })?;
    let subject = Subject::find(&arguments.kind, &arguments.size)?;
    let finding = once::measure(local, subject, arguments.workers, arguments.seed)?;
    let line = Line { runtime: local.name, finding };
    say(&serde_json::to_string(&line).map_err(|error| Fault::run(error.to_string()))?)
}
