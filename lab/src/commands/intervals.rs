//! `locksley intervals`: what order alone makes of the machine, and what an interval costs. And its hidden half, which reads one of the
//! latter in a process of its own.

use super::results::{say_results, this_program};
use crate::cli;
use crate::experiments::intervals::cost::{Cost, number};
use crate::experiments::intervals::peer::{FLOW, Peer};
use crate::experiments::intervals::{self, Programs, plan, table};
use crate::experiments::program::Program;
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::output::{note, say};

pub(super) fn execute(arguments: &cli::Intervals) -> Outcome<()> {
    let processors = Machine::here().processors;
    let (found, seed) = (Peer::find(&arguments.peers), arguments.course.seed);
    let peer = found.as_ref().ok();
    let plan = plan::plan(arguments.course.quick, seed, arguments.repeats, processors, peer)?;
    if let Err(why) = &found {
        note(&format!("intervals: without {FLOW}: {why}"));
    }
    let (json, out) = arguments.course.places("intervals");
    let this = this_program()?;
    let programs = Programs { this: Program::new(&this, &["intervals-once"]), peer: found.ok() };
    let options = intervals::Options { plan, json, out, fresh: arguments.course.fresh, programs };
    let finished = intervals::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &finished.summary);
    say_results(earlier, &table, &options.json, &finished.page)
}

pub(super) fn once(arguments: &cli::IntervalsOnce) -> Outcome<()> {
    let cost = Cost::find(&arguments.cost).ok_or_else(|| {
        let known = Cost::ALL.map(Cost::name).join(", ");
        Fault::input(format!("unknown cost '{}'; there are {known}", arguments.cost))
    })?;
    let reading = cost.read(number(&arguments.size)?)?;
    say(&serde_json::to_string(&reading).map_err(|error| Fault::run(error.to_string()))?)
}
