//! `locksley channels`: what messages and processes cost. And its hidden half, which makes one measurement in a process of its
//! own.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli;
use crate::experiments::channels::once::{self, Finding, LOCAL, Local, Subject};
use crate::experiments::channels::{self, plan, program, table};
use crate::fault::{Fault, Outcome};
use crate::output::say;

pub(super) fn execute(arguments: &cli::Channels) -> Outcome<()> {
    let choice = plan::Choice {
        quick: arguments.quick,
        seed: arguments.seed,
        repeats: arguments.repeats,
        messages: arguments.messages,
    };
    let this = std::env::current_exe()
        .map_err(|error| Fault::run(format!("this program does not find itself: {error}")))?;
    let (programs, left_out) = program::find(&this, &arguments.peers, &arguments.runtimes)?;
    let plan = plan::plan(&choice, &programs, left_out)?;
    let name = if arguments.quick { "channels-quick" } else { "channels" };
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("out").join(name));
    let json: PathBuf = arguments.json.clone().unwrap_or_else(|| out.join("channels.json"));
    let options = channels::Options { plan, programs, json, out, fresh: arguments.fresh };
    let finished = channels::run(&options)?;
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

pub(super) fn once(arguments: &cli::ChannelsOnce) -> Outcome<()> {
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
