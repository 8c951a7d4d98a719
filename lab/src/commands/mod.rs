//! The commands, one file each.

mod alternatives;
mod apps;
mod cliff;
mod cycler;
mod forkjoin;
mod machine;
mod neighbour;
mod report;
mod rounds;
mod run;
mod sleeper;

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
        Command::Alternatives(arguments) => alternatives::execute(&arguments),
        Command::Neighbour(arguments) => neighbour::execute(&arguments),
        Command::Sleeper(arguments) => sleeper::execute(&arguments),
        Command::Forkjoin(arguments) => forkjoin::execute(&arguments),
        Command::ForkjoinOnce(arguments) => forkjoin::once(&arguments),
        Command::Report(arguments) => report::execute(&arguments),
        Command::Nothing => Ok(()),
    }
}
