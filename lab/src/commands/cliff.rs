//! `locksley cliff`: the performance cliff.

use std::path::{Path, PathBuf};

use crate::cli;
use crate::experiments::cliff::{self, plan, table};
use crate::fault::Outcome;
use crate::machine::Machine;
use crate::output::say;

pub(super) fn execute(arguments: &cli::Cliff) -> Outcome<()> {
    let processors = Machine::here().processors;
    let plan = plan::plan(arguments.quick, arguments.seed, &arguments.apps, processors)?;
    let plan = plan::instead(plan, &arguments.runtimes, &arguments.workers)?;
    let default = Path::new("out").join(if arguments.quick { "cliff-quick" } else { "cliff" });
    let out = arguments.out.clone().unwrap_or(default);
    let json: PathBuf = arguments.json.clone().unwrap_or_else(|| out.join("cliff.json"));
    let options = cliff::Options { plan, json, out, fresh: arguments.fresh };
    let finished = cliff::run(&options)?;
    if finished.is_old {
        let date = &finished.record.finished;
        say(&format!("measured already, on {date} by this build; --fresh measures again\n"))?;
    }
    say(&table::text(&finished.record, &finished.summary))?;
    say(&format!("record  {}\npage    {}", options.json.display(), finished.page.display()))
}
