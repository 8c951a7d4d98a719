//! The commands, one file each.

mod alternatives;
mod apps;
mod channels;
mod cliff;
mod corun;
mod cycler;
mod forkjoin;
mod intervals;
mod locality;
mod machine;
mod meter;
mod model;
mod multiprogram;
mod neighbour;
mod rayon;
mod repeat;
mod report;
mod results;
mod rounds;
mod run;
mod scatter;
mod sleeper;
mod turnkey;
mod wait;

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
        Command::Alternatives(arguments) => alternatives::execute(&arguments),
        Command::Model(arguments) => model::execute(&arguments),
        Command::Multiprogram(arguments) => multiprogram::execute(&arguments),
        Command::MultiprogramOnce(arguments) => multiprogram::once(&arguments),
        Command::Corun(arguments) => corun::execute(&arguments),
        Command::Rayon(arguments) => rayon::execute(&arguments),
        Command::Repeat(arguments) => repeat::execute(&arguments),
        Command::Neighbour(arguments) => neighbour::execute(&arguments),
        Command::Sleeper(arguments) => sleeper::execute(&arguments),
        Command::Wait(arguments) => wait::execute(&arguments),
        Command::WaitOnce(arguments) => wait::once(&arguments),
        Command::Intervals(arguments) => intervals::execute(&arguments),
        Command::IntervalsOnce(arguments) => intervals::once(&arguments),
        Command::Channels(arguments) => channels::execute(&arguments),
        Command::ChannelsOnce(arguments) => channels::once(&arguments),
        Command::Scatter(arguments) => scatter::execute(&arguments),
        Command::ScatterOnce(arguments) => scatter::once(&arguments),
        Command::Locality(arguments) => locality::execute(&arguments),
        Command::LocalityOnce(arguments) => locality::once(&arguments),
        Command::Turnkey(arguments) => turnkey::execute(&arguments),
        Command::TurnkeyOnce(arguments) => turnkey::once(&arguments),
        Command::Meter(arguments) => meter::execute(&arguments),
        Command::MeterOnce(arguments) => meter::once(&arguments),
        Command::Report(arguments) => report::execute(&arguments),
        Command::Nothing => Ok(()),
    }
}
