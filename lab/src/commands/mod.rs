//! The commands, one file each.

mod apps;
mod cliff;
mod cycler;
mod forkjoin;
mod machine;
mod report;
mod rounds;
mod run;

use crate::cli::Command;
use crate::fault::Outcome;

/// Carries out a command.
pub fn execute(command: Command) -> Outcome<()> {
    match command {
        Command::Machine(arguments) => machine::execute(&arguments),
        Command::Apps => apps::execute(),
        Command::Run(arguments) => run::execute(&arguments),
        Command::Rounds(arguments) => rounds::execute(&arguments),
        Command::Cycler(arguments) => cycler::execute(&arguments),
        Command::Cliff(arguments) => cliff::execute(&arguments),
        Command::Forkjoin(arguments) => forkjoin::execute(&arguments),
        Command::ForkjoinOnce(arguments) => forkjoin::once(&arguments),
        Command::Report(arguments) => report::execute(&arguments),
        Command::Nothing => Ok(()),
    }
}
