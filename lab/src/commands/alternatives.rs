//! `locksley alternatives`: what other implementations of work stealing make of the machine.

use std::path::{Path, PathBuf};

use crate::cli;
use crate::experiments::alternatives::{self, plan, table};
use crate::experiments::cliff::summary::Summary;
use crate::fault::Outcome;
use crate::machine::Machine;
use crate::output::say;

pub(super) fn execute(arguments: &cli::Alternatives) -> Outcome<()> {
    let plan = plan::plan(arguments.quick, arguments.seed, Machine::here().processors)?;
    let name = if arguments.quick { "alternatives-quick" } else { "alternatives" };
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("out").join(name));
    let json: PathBuf = arguments.json.clone().unwrap_or_else(|| out.join("alternatives.json"));
    let options = alternatives::Options { plan, json, out, fresh: arguments.fresh };
    let finished = alternatives::run(&options)?;
    if finished.is_old {
        let date = &finished.record.finished;
        say(&format!("measured already, on {date} by this build; --fresh measures again\n"))?;
    }
    say(&table::text(&finished.record, &Summary::of(&finished.record.as_cliff())))?;
    say(&format!("record  {}\npage    {}", options.json.display(), finished.page.display()))
}
