//! `locksley corun`: what programs side by side leave each other of the machine.

use std::path::{Path, PathBuf};

use crate::cli;
use crate::experiments::corun::plan::{self, Choice};
use crate::experiments::corun::program::Programs;
use crate::experiments::corun::{self, table};
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::output::say;

pub(super) fn execute(arguments: &cli::Corun) -> Outcome<()> {
    let choice = Choice {
        quick: arguments.quick,
        seed: arguments.seed,
        pairs: arguments.pairs.clone(),
        runtimes: arguments.runtimes.clone(),
        repeats: arguments.repeats,
        seconds: arguments.secs.map(|time| time.as_secs_f64()),
    };
    let plan = plan::plan(&choice, Machine::here().processors)?;
    let this = std::env::current_exe()
        .map_err(|error| Fault::run(format!("this program does not find itself: {error}")))?;
    let programs = Programs::find(&this, &arguments.peers);
    let name = if arguments.quick { "corun-quick" } else { "corun" };
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("out").join(name));
    let json: PathBuf = arguments.json.clone().unwrap_or_else(|| out.join("corun.json"));
    let options = corun::Options { plan, choice, programs, json, out, fresh: arguments.fresh };
    let finished = corun::run(&options)?;
    if finished.is_old {
        let date = &finished.record.finished;
        say(&format!("measured already, on {date} by this build; --fresh measures again\n"))?;
    }
    say(&table::text(&finished.record, &finished.summary))?;
    say(&format!("record  {}\npage    {}", options.json.display(), finished.page.display()))
}
