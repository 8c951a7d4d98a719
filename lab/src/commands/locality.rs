//! `locksley locality`: what it is worth to keep work where its data is. And its hidden half, which makes one measurement in a
//! process of its own.

use std::path::{Path, PathBuf};

use crate::cli;
use crate::experiments::locality::once::{self, Ground, Level, Placement, Subject};
use crate::experiments::locality::program::Program;
use crate::experiments::locality::{self, plan, table};
use crate::fault::{Fault, Outcome};
use crate::output::say;

pub(super) fn execute(arguments: &cli::Locality) -> Outcome<()> {
    let choice = plan::Choice {
        quick: arguments.quick,
        seed: arguments.seed,
        kinds: arguments.kinds.clone(),
        placements: arguments.placements.clone(),
        repeats: arguments.repeats,
        level: level(arguments.level.as_deref())?,
    };
    let plan = plan::plan(&choice, &Ground::here(choice.level)?)?;
    let this = std::env::current_exe()
        .map_err(|error| Fault::run(format!("this program does not find itself: {error}")))?;
    let program = Program::this(&this);
    let name = if arguments.quick { "locality-quick" } else { "locality" };
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("out").join(name));
    let json: PathBuf = arguments.json.clone().unwrap_or_else(|| out.join("locality.json"));
    let options = locality::Options { plan, json, out, fresh: arguments.fresh, program };
    let finished = locality::run(&options)?;
    if finished.is_old {
        let date = &finished.record.finished;
        say(&format!("measured already, on {date} by this build; --fresh measures again\n"))?;
    }
    say(&table::text(&finished.record, &finished.summary))?;
    say(&format!("record  {}\npage    {}", options.json.display(), finished.page.display()))
}

pub(super) fn once(arguments: &cli::LocalityOnce) -> Outcome<()> {
    let placement = Placement::find(&arguments.placement)?;
    let subject = Subject::find(&arguments.kind, &arguments.size)?;
    let ground = Ground::here(level(arguments.level.as_deref())?)?;
    let finding = once::measure(&ground, placement, subject, arguments.workers, arguments.seed)?;
    say(&serde_json::to_string(&finding).map_err(|error| Fault::run(error.to_string()))?)
}

fn level(name: Option<&str>) -> Outcome<Option<Level>> {
    name.map(Level::find).transpose()
}
