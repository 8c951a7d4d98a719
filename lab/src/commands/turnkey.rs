//! `locksley turnkey`: whether nobody has to choose the number of workers. And its hidden half, which makes one measurement in a process
//! of its own.

use super::results::{say_finding, say_results, this_program};
use crate::cli;
use crate::experiments::program::Program;
use crate::experiments::turnkey::once::{self, Ground, Subject};
use crate::experiments::turnkey::{self, Found, plan, table};
use crate::fault::Outcome;

pub(super) fn execute(arguments: &cli::Turnkey) -> Outcome<()> {
    let choice = plan::Choice {
        quick: arguments.course.quick,
        seed: arguments.course.seed,
        repeats: arguments.repeats,
        kinds: arguments.kinds.clone(),
    };
    let plan = plan::plan(&choice, Ground::find())?;
    let programs = Program::new(&this_program()?, &["turnkey-once"]);
    let (json, out) = arguments.course.places("turnkey");
    let options = turnkey::Options { plan, json, out, fresh: arguments.course.fresh, programs };
    let finished = turnkey::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &finished.summary);
    say_results(earlier, &table, &options.json, &finished.page)
}

pub(super) fn once(arguments: &cli::TurnkeyOnce) -> Outcome<()> {
    let subject = Subject::find(&arguments.kind, &arguments.size)?;
    let seconds = arguments.secs.as_secs_f64();
    let random = once::Seeds { input: arguments.seed, repeat: arguments.repeat };
    let of = &arguments.of;
    let reading = once::measure(&subject, of, &arguments.against, seconds, random)?;
    say_finding(&of.runtime, Found { reading })
}
