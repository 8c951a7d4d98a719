//! `locksley meter`: what a profiler costs. And its hidden half, which makes one measurement in a
//! process of its own.

use super::results::{say_line, say_results, this_program};
use crate::cli;
use crate::experiments::meter::once::{self, Limits, Subject};
use crate::experiments::meter::{self, plan, table};
use crate::experiments::program::Program;
use crate::fault::Outcome;

pub(super) fn execute(arguments: &cli::Meter) -> Outcome<()> {
    let choice = plan::Choice {
        quick: arguments.course.quick,
        seed: arguments.course.seed,
        kinds: arguments.kinds.clone(),
        repeats: arguments.repeats,
        seconds: arguments.secs.map(|time| time.as_secs_f64()),
    };
    let plan = plan::plan(&choice, plan::all_workers())?;
    let programs = Program::new(&this_program()?, &["meter-once"]);
    let (json, out) = arguments.course.places("meter");
    let options = meter::Options { plan, programs, json, out, fresh: arguments.course.fresh };
    let finished = meter::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &finished.summary);
    say_results(earlier, &table, &options.json, &finished.page)
}

pub(super) fn once(arguments: &cli::MeterOnce) -> Outcome<()> {
    let subject = Subject::find(&arguments.kind, &arguments.size)?;
    let limits = Limits { pairs: arguments.pairs, time: arguments.secs };
    say_line(&once::measure(&subject, arguments.workers, limits, arguments.seed)?)
}
