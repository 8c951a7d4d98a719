//! The commands, one file each.

mod apps;
mod cycler;
mod machine;
mod once;
mod openmp;
mod papers;
mod repeat;
mod report;
mod rounds;
mod run;
mod soak;
#[cfg(target_os = "linux")]
mod top;
mod trace;

use locksley_trace::Recording;

use crate::apps::App;
use crate::cli::{Command, Computation, workers_or_default};
use crate::fault::{Fault, Outcome};
use crate::runtimes::Runtime;

/// Begins a recording if `LOCKSLEY_TRACE` names a file. Otherwise no pool is traced.
fn record_if_asked() -> Outcome<Option<Recording>> {
    if std::env::var_os("LOCKSLEY_TRACE").is_none() {
        return Ok(None);
    }
    locksley_trace::init().map_err(|error| Fault::input(error.to_string()))
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

    /// The number of workers of the runtime.
    fn workers(&self, runtime: &Runtime) -> usize {
        runtime.workers(workers_or_default(self.workers))
    }
}

/// Carries out a command.
pub fn execute(command: Command) -> Outcome<()> {
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
        Command::Forkjoin(run) => run.execute(),
        Command::Model(run) => run.execute(),
        Command::Corun(run) => run.execute(),
        Command::Rayon(run) => run.execute(),
        Command::Bench(run) => run.execute(),
        Command::Cliff(run) => run.execute(),
        Command::Repeat(arguments) => repeat::execute(&arguments),
        Command::Neighbour(run) => run.execute(),
        Command::Soak(arguments) => soak::execute(&arguments),
        Command::Intervals(run) => run.execute(),
        Command::Openmp(arguments) => openmp::execute(&arguments),
        Command::OpenmpBench(run) => run.execute(),
        Command::Once(arguments) => once::execute(arguments),
        Command::Scatter(run) => run.execute(),
        Command::Locality(run) => run.execute(),
        Command::Turnkey(run) => run.execute(),
        Command::Channels(run) => run.execute(),
        Command::Papers(arguments) => papers::execute(&arguments),
        Command::Report(arguments) => report::execute(&arguments),
        #[cfg(target_os = "linux")]
        Command::Top(arguments) => top::execute(&arguments),
        Command::Trace(arguments) => trace::execute(&arguments),
        Command::Nothing => Ok(()),
    }
}
