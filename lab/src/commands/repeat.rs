//! `locksley repeat APP`: one application again and again behind a start gate, as a program of
//! `corun`.

use crate::apps;
use crate::cli::Computation;
use crate::corunner::repetition;
use crate::fault::Outcome;

pub(super) fn execute(arguments: &Computation) -> Outcome<()> {
    let (app, runtime) = arguments.find()?;
    let mut instance = apps::problem(app, &arguments.size)?.prepare(arguments.seed);
    let crew = runtime.start(arguments.workers(runtime))?;
    repetition::repeat(instance.as_mut(), &crew)
}
