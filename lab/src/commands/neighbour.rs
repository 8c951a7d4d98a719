//! `locksley neighbour`: what a program on each runtime does to an interactive neighbour.

use std::path::{Path, PathBuf};

use crate::cli;
use crate::experiments::neighbour::{self, plan, table};
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::output::say;

pub(super) fn execute(arguments: &cli::Neighbour) -> Outcome<()> {
    let wishes = plan::Wishes {
        quick: arguments.quick,
        seed: arguments.seed,
        runtimes: arguments.runtimes.clone(),
        seconds: arguments.secs.map(|time| time.as_secs_f64()),
    };
    let plan = plan::plan(&wishes, Machine::here().processors)?;
    let name = if arguments.quick { "neighbour-quick" } else { "neighbour" };
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("out").join(name));
    let json: PathBuf = arguments.json.clone().unwrap_or_else(|| out.join("neighbour.json"));
    let program = std::env::current_exe()
        .map_err(|error| Fault::run(format!("this program does not find itself: {error}")))?;
    let options = neighbour::Options { plan, json, out, fresh: arguments.fresh, program };
    let finished = neighbour::run(&options)?;
    if finished.is_old {
        let date = &finished.record.finished;
        say(&format!("measured already, on {date} by this build; --fresh measures again\n"))?;
    }
    say(&table::text(&finished.record, &finished.summary))?;
    say(&format!("record  {}\npage    {}", options.json.display(), finished.page.display()))
}
