//! `locksley rayon`: programs written for rayon, on its own core and on Locksley's.

use super::results::{say_results, this_program};
use crate::cli;
use crate::experiments::rayon::plan::{self, Choice};
use crate::experiments::rayon::program::{self, Programs};
use crate::experiments::rayon::{self, table};
use crate::fault::Outcome;
use crate::machine::Machine;

pub(super) fn execute(arguments: &cli::Rayon) -> Outcome<()> {
    let choice = Choice {
        quick: arguments.course.quick,
        seed: arguments.course.seed,
        workloads: arguments.workloads.clone(),
        settings: arguments.settings.clone(),
        runtimes: arguments.runtimes.clone(),
        repeats: arguments.repeats,
        seconds: arguments.secs.map(|time| time.as_secs_f64()),
    };
    // Before anything is built.
    choice.check()?;
    let this = this_program()?;
    let folder = match &arguments.programs {
        Some(folder) => folder.clone(),
        None => program::build()?,
    };
    let programs = Programs::find(&this, &folder, &choice.runtimes()?)?;
    let plan = plan::plan(&choice, programs.workloads(), Machine::here().processors)?;
    let (json, out) = arguments.course.places("rayon");
    let options = rayon::Options { plan, programs, json, out, fresh: arguments.course.fresh };
    let finished = rayon::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &finished.summary);
    say_results(earlier, &table, &options.json, &finished.page)
}
