//! `locksley rayon`: programs written for rayon, on its own core and on Locksley's.

use std::path::{Path, PathBuf};

use crate::cli;
use crate::experiments::rayon::plan::{self, Choice};
use crate::experiments::rayon::program::{self, Programs};
use crate::experiments::rayon::{self, table};
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::output::say;

pub(super) fn execute(arguments: &cli::Rayon) -> Outcome<()> {
    let choice = Choice {
        quick: arguments.quick,
        seed: arguments.seed,
        workloads: arguments.workloads.clone(),
        settings: arguments.settings.clone(),
        runtimes: arguments.runtimes.clone(),
        repeats: arguments.repeats,
        seconds: arguments.secs.map(|time| time.as_secs_f64()),
    };
    // Before anything is built.
    choice.check()?;
    let this = std::env::current_exe()
        .map_err(|error| Fault::run(format!("this program does not find itself: {error}")))?;
    let folder = match &arguments.programs {
        Some(folder) => folder.clone(),
        None => program::build()?,
    };
    let programs = Programs::find(&this, &folder, &choice.runtimes()?)?;
    let plan = plan::plan(&choice, programs.workloads(), Machine::here().processors)?;
    let name = if arguments.quick { "rayon-quick" } else { "rayon" };
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("out").join(name));
    let json: PathBuf = arguments.json.clone().unwrap_or_else(|| out.join("rayon.json"));
    let options = rayon::Options { plan, programs, json, out, fresh: arguments.fresh };
    let finished = rayon::run(&options)?;
    if finished.is_old {
        let date = &finished.record.finished;
        say(&format!("measured already, on {date} by this build; --fresh measures again\n"))?;
    }
    say(&table::text(&finished.record, &finished.summary))?;
    say(&format!("record  {}\npage    {}", options.json.display(), finished.page.display()))
}
