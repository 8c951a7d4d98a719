//! `locksley intervals`: what order alone makes of the machine, and what an interval costs. And its hidden half, which reads one of the
//! latter in a process of its own.

use std::path::{Path, PathBuf};

use crate::cli;
use crate::experiments::intervals::cost::{Cost, number};
use crate::experiments::intervals::peer::{FLOW, Peer};
use crate::experiments::intervals::program::Program;
use crate::experiments::intervals::{self, plan, table};
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::output::{note, say};

pub(super) fn execute(arguments: &cli::Intervals) -> Outcome<()> {
    let processors = Machine::here().processors;
    let (found, seed) = (Peer::find(&arguments.peers), arguments.seed);
    let peer = found.as_ref().ok();
    let plan = plan::plan(arguments.quick, seed, arguments.repeats, processors, peer)?;
    if let Err(why) = &found {
        note(&format!("intervals: without {FLOW}: {why}"));
    }
    let name = if arguments.quick { "intervals-quick" } else { "intervals" };
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("out").join(name));
    let json: PathBuf = arguments.json.clone().unwrap_or_else(|| out.join("intervals.json"));
    let this = std::env::current_exe()
        .map_err(|error| Fault::run(format!("this program does not find itself: {error}")))?;
    let (program, peer) = (Program::this(&this), found.ok());
    let options = intervals::Options { plan, json, out, fresh: arguments.fresh, program, peer };
    let finished = intervals::run(&options)?;
    if finished.is_old {
        let date = &finished.record.finished;
        say(&format!("measured already, on {date} by this build; --fresh measures again\n"))?;
    }
    say(&table::text(&finished.record, &finished.summary))?;
    say(&format!("record  {}\npage    {}", options.json.display(), finished.page.display()))
}

pub(super) fn once(arguments: &cli::IntervalsOnce) -> Outcome<()> {
    let cost = Cost::find(&arguments.cost).ok_or_else(|| {
        let known = Cost::ALL.map(Cost::name).join(", ");
        Fault::input(format!("unknown cost '{}'; there are {known}", arguments.cost))
    })?;
    let reading = cost.read(number(&arguments.size)?)?;
    say(&serde_json::to_string(&reading).map_err(|error| Fault::run(error.to_string()))?)
}
