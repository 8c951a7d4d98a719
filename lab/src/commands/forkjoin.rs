//! `locksley forkjoin`: what a fork costs. And its hidden half, which makes one measurement in a process of its own.

use super::results::{say_finding, say_results, this_program};
use crate::cli;
use crate::experiments::forkjoin::once::{self, LOCAL, Local, Subject};
use crate::experiments::forkjoin::plan::{self, Choice};
use crate::experiments::forkjoin::{self, instructions, program, table};
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::output::note;

pub(super) fn execute(arguments: &cli::Forkjoin) -> Outcome<()> {
    let wanted = arguments.instructions || !arguments.course.quick;
    let counted = wanted && instructions::can_be_counted();
    let choice = Choice {
        quick: arguments.course.quick,
        seed: arguments.course.seed,
        fib: arguments.fib,
        tree: arguments.tree,
        repeats: arguments.repeats,
        instructions: counted,
    };
    let plan = plan::plan(&choice, Machine::here().processors)?;
    let this = this_program()?;
    let (programs, left_out) = program::find(&this, &arguments.peers, &arguments.runtimes)?;
    let (json, out) = arguments.course.places("forkjoin");
    let fresh = arguments.course.fresh;
    let options = forkjoin::Options { plan, programs, left_out, json, out, fresh };
    if wanted && !counted {
        note("forkjoin: valgrind is not installed, so no instructions are counted");
    }
    let finished = forkjoin::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &finished.summary);
    say_results(earlier, &table, &options.json, &finished.page)
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
    say_finding(local.name, finding)
}
