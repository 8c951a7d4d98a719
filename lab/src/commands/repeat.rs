//! `locksley repeat APP`: one application again and again behind a start gate, as a program of
//! `corun`.

use crate::cli::{self, workers_or_default};
use crate::corunner::repetition;
use crate::fault::{Fault, Outcome};
use crate::{apps, runtimes};

pub(super) fn execute(arguments: &cli::Repeat) -> Outcome<()> {
    let app = apps::find(&arguments.app)?;
    let runtime = runtimes::find(&arguments.runtime)?;
    if !runtime.can_run(app) {
        let (app, runtime) = (app.name, runtime.name);
        return Err(Fault::input(format!("{app} has no version for the runtime '{runtime}'")));
    }
    let problem = apps::problem(app, &arguments.size)?;
    let mut instance = problem.prepare(arguments.seed);
    let crew = runtime.start(runtime.workers(workers_or_default(arguments.workers)))?;
    repetition::repeat(instance.as_mut(), &crew)
}
