//! The commands, one file each but for the shortest.

mod apps;
mod cycler;
mod machine;
mod papers;
mod rounds;
mod run;
mod soak;
#[cfg(target_os = "linux")]
mod top;
mod trace;

use locksley_trace::Recording;

use crate::apps::App;
use crate::cli::{self, Command, Computation};
use crate::corunner::repetition;
use crate::experiment;
use crate::experiment::child::Answer;
use crate::experiments;
use crate::fault::{Fault, Outcome};
use crate::output::say_line;
use crate::runtimes::Runtime;

/// Begins a recording if `LOCKSLEY_TRACE` names a file. Otherwise no pool is traced.
fn record_if_asked() -> Outcome<Option<Recording>> {
    if std::env::var_os("LOCKSLEY_TRACE").is_none() {
        return Ok(None);
    }
    locksley_trace::init().map_err(Fault::input)
}

impl Computation {
    /// The application and the runtime, which has a version of it.
    fn find(&self) -> Outcome<(&'static App, &'static Runtime)> {
        let (app, runtime) = (crate::apps::find(&self.app)?, crate::runtimes::find(&self.runtime)?);
        if !runtime.can_run(app) {
            let (app, runtime) = (app.name, runtime.name);
            return Err(Fault::input(format!("{app} has no version for the runtime '{runtime}'")));
        }
        Ok((app, runtime))
    }
}

/// Carries out a command.
pub fn execute(command: Command) -> Outcome<()> {
    crate::machine::check_variables()?;
    let _recording = match command {
        Command::Run(_) | Command::Rounds(_) | Command::Repeat(_) | Command::Once(_) => {
            record_if_asked()?
        }
        _ => None,
    };
    match command {
        Command::Machine(arguments) => machine::execute(&arguments),
        Command::Apps => apps::execute(),
        Command::Run(arguments) => run::execute(&arguments),
        Command::Rounds(arguments) => rounds::execute(&arguments),
        Command::Cycler(arguments) => cycler::execute(&arguments),
        Command::Measure(experiment) => experiment.execute(),
        Command::Repeat(arguments) => repeat(&arguments),
        Command::Soak(arguments) => soak::execute(&arguments),
        Command::Once(arguments) => once(arguments),
        Command::Papers(arguments) => papers::execute(&arguments),
        Command::Report(cli::Report { json, out, picture }) => {
            experiment::report_again(&json, &out, picture.as_deref(), experiments::report)
        }
        #[cfg(target_os = "linux")]
        Command::Top(arguments) => top::execute(&arguments),
        Command::Trace(arguments) => trace::execute(&arguments),
        Command::Nothing => Ok(()),
    }
}

/// `locksley repeat APP`: one application again and again behind a start gate, as a program of
/// `corun`.
fn repeat(arguments: &Computation) -> Outcome<()> {
    let (app, runtime) = arguments.find()?;
    let mut instance = crate::apps::problem(app, &arguments.size)?.prepare(arguments.seed);
    let crew = runtime.start(runtime.workers(arguments.workers))?;
    repetition::repeat(instance.as_mut(), &crew)
}

/// `locksley once`: one measurement of an experiment, in a process of its own.
fn once(arguments: cli::Once) -> Outcome<()> {
    let cli::Once { experiment, cell, seed } = arguments;
    // If the process that waits for the answer is killed, this one ends, too.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(Fault::run)?;
    let found = experiments::find(&experiment)
        .ok_or_else(|| Fault::input(format!("there is no experiment '{experiment}'")))?;
    let answer = match (found.once)(&cell, seed) {
        Ok(readings) => Answer::Right(readings),
        // A wrong answer, or another failure: the process that has started this one ends its run.
        Err(Fault::Run(wrong)) => Answer::Failed { wrong },
        Err(fault) => return Err(fault),
    };
    say_line(&answer)
}
