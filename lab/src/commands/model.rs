//! `locksley model`: whether work and critical path say how long a program takes.

use std::path::{Path, PathBuf};

use crate::cli;
use crate::experiments::model::summary::Summary;
use crate::experiments::model::{self, plan, table};
use crate::fault::Outcome;
use crate::machine::Machine;
use crate::output::say;

pub(super) fn execute(arguments: &cli::Model) -> Outcome<()> {
    let plan = plan::plan(arguments.quick, arguments.seed, Machine::here().processors)?;
    let name = if arguments.quick { "model-quick" } else { "model" };
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("out").join(name));
    let json: PathBuf = arguments.json.clone().unwrap_or_else(|| out.join("model.json"));
    let options = model::Options { plan, json, out, fresh: arguments.fresh };
    let finished = model::run(&options)?;
    if finished.is_old {
        let date = &finished.record.finished;
        say(&format!("measured already, on {date} by this build; --fresh measures again\n"))?;
    }
    say(&table::text(&finished.record, &Summary::of(&finished.record)))?;
    say(&format!("record  {}\npage    {}", options.json.display(), finished.page.display()))
}
