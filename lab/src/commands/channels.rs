//! `locksley channels`: what messages and processes cost. And its hidden half, which makes one measurement in a process of its
//! own.

use super::results::{say_finding, say_results, this_program};
use crate::cli;
use crate::experiments::channels::once::{self, Subject};
use crate::experiments::channels::{self, plan, program, table};
use crate::fault::Outcome;

pub(super) fn execute(arguments: &cli::Channels) -> Outcome<()> {
    let choice = plan::Choice {
        quick: arguments.course.quick,
        seed: arguments.course.seed,
        repeats: arguments.repeats,
        messages: arguments.messages,
    };
    let this = this_program()?;
    let (programs, left_out) = program::find(&this, &arguments.peers, &arguments.runtimes)?;
    let plan = plan::plan(&choice, &programs, left_out)?;
    let (json, out) = arguments.course.places("channels");
    let options = channels::Options { plan, programs, json, out, fresh: arguments.course.fresh };
    let finished = channels::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &finished.summary);
    say_results(earlier, &table, &options.json, &finished.page)
}

pub(super) fn once(arguments: &cli::ChannelsOnce) -> Outcome<()> {
    let local = once::find(&arguments.runtime)?;
    let subject = Subject::find(&arguments.kind, &arguments.size)?;
    let finding = local.measure(subject, arguments.workers, arguments.seed)?;
    say_finding(local.name, finding)
}
