//! `locksley multiprogram`: the model beside programs that take processors away. And its hidden half, which makes one measurement in a process of its own.

use super::results::{say_line, say_results, this_program};
use crate::cli;
use crate::cycler::{Cycler, LOOP};
use crate::experiments::multiprogram::once::{self, Subject};
use crate::experiments::multiprogram::{self, plan, table};
use crate::experiments::program::Program;
use crate::fault::Outcome;
use crate::machine::Machine;

pub(super) fn execute(arguments: &cli::Multiprogram) -> Outcome<()> {
    let wishes = plan::Wishes {
        quick: arguments.course.quick,
        seed: arguments.course.seed,
        apps: arguments.apps.clone(),
        workers: arguments.workers.clone(),
        repeats: arguments.repeats,
        seconds: arguments.secs.map(|time| time.as_secs_f64()),
    };
    let plan = plan::plan(&wishes, Machine::here().processors)?;
    let programs = Program::new(&this_program()?, &["multiprogram-once"]);
    let (json, out) = arguments.course.places("multiprogram");
    let options =
        multiprogram::Options { plan, json, out, fresh: arguments.course.fresh, programs };
    let finished = multiprogram::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &finished.summary);
    say_results(earlier, &table, &options.json, &finished.page)
}

pub(super) fn once(arguments: &cli::MultiprogramOnce) -> Outcome<()> {
    let time = arguments.secs;
    if arguments.app == plan::CALIBRATION {
        return say_line(&once::calibration(time)?);
    }
    let cli::MultiprogramOnce { app, size, workers, seed, .. } = arguments;
    let mut subject = Subject::prepare(app, size, *workers, *seed)?;
    let finding = match arguments.cycler {
        None => subject.alone(time)?,
        Some(workers) => {
            let (most, seed) = (arguments.increments, arguments.choices);
            let cycler = Cycler { workers, most, total: None, time: None, seed, spin: LOOP };
            subject.beside(&cycler, &this_program()?, time)?
        }
    };
    say_line(&finding)
}
