//! The command line: what it accepts, and one line for what it does not.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use itertools::Itertools;

use crate::experiment::{Cell, seconds, workers};
use crate::experiments::Measure;
use crate::fault::{Fault, Outcome};
use crate::machine::default_workers;
use crate::papers::Papers;
use crate::random::DEFAULT_SEED;
use crate::rounds::Round;
use crate::{cycler, output};

/// Locksley's laboratory: work stealing on machines that are shared.
#[derive(Debug, Parser)]
#[command(name = "locksley", version, max_term_width = 100)]
pub struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// A command, its arguments read and, as far as that needs no look at files, found sensible.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the processors that this process may use, the kernel, and which of its assists work
    Machine(Machine),
    /// List the applications, their sizes and their runtimes
    Apps,
    /// Show what the workers of a running program do, if LOCKSLEY_TRACE=live
    #[cfg(target_os = "linux")]
    Top(Top),
    /// Look at a recording that a program made since LOCKSLEY_TRACE named its file
    Trace(Trace),
    /// Run one application once, check its answer and say how long it took
    Run(Run),
    /// Repeat small parallel rounds for some seconds and print their rate: the co-run unit
    Rounds(Rounds),
    /// Take processors away from other programs, a random number of them at a time: cycler(p, w, W)
    /// of the Hood papers
    Cycler(Cycler),
    /// Run all features with 16 workers for each processor while an adversary stops, squeezes,
    /// throttles and freezes the process, and check each result
    Soak(Soak),
    /// One of the experiments.
    #[command(flatten)]
    Measure(Measure),
    /// List each mechanism, figure and table of the papers: where it is, the command that does it
    /// again, what was measured here beside the paper's numbers, and a verdict
    Papers(Papers),
    /// Make the page of an experiment again from its record
    Report(Report),
    /// Compute one application again and again behind a start gate: a program of `corun`
    #[command(hide = true)]
    Repeat(Computation),
    /// Measure a cell of an experiment once, in this process
    #[command(hide = true)]
    Once(Once),
    /// Nothing was asked for that needs doing: help or the version has been printed
    #[command(skip)]
    Nothing,
}

/// `locksley machine`
#[derive(Debug, Args)]
pub struct Machine {
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// What is computed, and on what.
#[derive(Debug, Args)]
pub struct Computation {
    /// The application: see `locksley apps`
    #[arg(value_name = "APP")]
    pub app: String,
    /// The runtime: locksley, rayon, static, serial or another of `locksley apps`
    #[arg(long, value_name = "R", default_value = "locksley")]
    pub runtime: String,
    /// The number of workers, one for each processor allowed unless it is given
    #[arg(long, value_name = "P", default_value_t = default_workers(), value_parser = workers)]
    pub workers: usize,
    /// paper, quick, or the application's parameters: see `locksley apps`
    #[arg(long, value_name = "S", default_value = "quick")]
    pub size: String,
    /// What all random input follows from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
}

/// `locksley run`
#[derive(Debug, Args)]
pub struct Run {
    /// The application, its size and its runtime.
    #[command(flatten)]
    pub computation: Computation,
    /// Say, too, what work and span the computation has, and where the workers' time went
    #[arg(long)]
    pub profile: bool,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// `locksley rounds`
#[derive(Debug, Args)]
pub struct Rounds {
    /// For how long, in seconds
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds)]
    pub secs: std::time::Duration,
    /// The number of workers, one for each processor allowed unless it is given
    #[arg(long, value_name = "P", default_value_t = default_workers(), value_parser = workers)]
    pub workers: usize,
    /// What a round consists of.
    #[command(flatten)]
    pub round: Round,
    /// The runtime: locksley, rayon, static, serial or another of `locksley apps`; or loop, for
    /// busy threads
    #[arg(long, value_name = "R", default_value = "locksley")]
    pub runtime: String,
    /// Say `ready`, and begin when a line comes in on stdin
    #[arg(long)]
    pub gate: bool,
}

/// `locksley cycler`
#[derive(Debug, Args)]
pub struct Cycler {
    /// What it does.
    #[command(flatten)]
    pub cycler: cycler::Cycler,
    /// Say `ready`, begin when a line comes in on stdin, and end at another one, or with stdin
    #[arg(long)]
    pub gate: bool,
}

/// `locksley soak`
#[derive(Debug, Args)]
pub struct Soak {
    /// For how long, in seconds [default: 60; with --quick: 10]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub secs: Option<std::time::Duration>,
    /// A short one
    #[arg(long)]
    pub quick: bool,
    /// What all random choices follow from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// Write the counts into this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Be the process that is disturbed, with so many workers
    #[arg(long, hide = true, value_name = "P")]
    pub subject: Option<usize>,
    /// After so many seconds without progress, an activity hangs
    #[arg(long, hide = true, value_name = "S", default_value = "60", value_parser = seconds)]
    pub patience: std::time::Duration,
    /// Add a defect, which has to be found
    #[arg(long, hide = true, value_parser = ["wrong", "hang", "leak"])]
    pub inject: Option<String>,
}

/// `locksley once`
#[derive(Debug, Args)]
pub struct Once {
    /// The experiment
    pub experiment: String,
    /// What is measured
    #[command(flatten)]
    pub cell: Cell,
    /// What all random input follows from
    pub seed: u64,
}

/// `locksley report`
#[derive(Debug, Args)]
pub struct Report {
    /// The record of an experiment
    #[arg(long, value_name = "FILE")]
    pub json: PathBuf,
    /// The folder for the page
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Also write the charts at the top of a page into this file, as SVG: demo and cliff have them
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
}

/// `locksley top`
#[derive(Debug, Args)]
pub struct Top {
    /// The process [default: the only one that has a live recording]
    #[arg(value_name = "PID")]
    pub process: Option<u32>,
    /// From one sample to the next, in seconds, and over so long a time
    #[arg(long, value_name = "S", default_value = "0.5", value_parser = seconds)]
    pub interval: std::time::Duration,
    /// Print one sample, and end
    #[arg(long)]
    pub once: bool,
    /// Print it as one line of JSON
    #[arg(long, requires = "once")]
    pub json: bool,
}

/// `locksley trace`
#[derive(Debug, Args)]
pub struct Trace {
    /// The recording
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print where the time of each thread and each label went [default, if nothing else is asked]
    #[arg(long)]
    pub summary: bool,
    /// Write a file for the viewer at ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Write a page that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Reads the arguments of the process; prints help and version where they are asked for.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Outcome<Command> {
    let parsed = command_line().try_get_matches_from(arguments);
    match parsed.and_then(|parsed| CommandLine::from_arg_matches(&parsed)) {
        Ok(line) => Ok(line.command),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                output::say(error.to_string().trim_end())?;
                Ok(Command::Nothing)
            }
            ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Err(Fault::input("no command was given; try --help"))
            }
            _ => Err(Fault::input(in_one_line(&error.to_string()))),
        },
    }
}

/// Negative numbers are values, which ranges refuse, and not options.
fn command_line() -> clap::Command {
    let takes_value = |argument: &clap::Arg| argument.get_action().takes_values();
    CommandLine::command().mut_subcommands(|command| {
        command.mut_args(|argument| {
            let allows = takes_value(&argument);
            argument.allow_negative_numbers(allows)
        })
    })
}

/// What clap has to say up to its first blank line, and its tip if it has one, as one line.
fn in_one_line(message: &str) -> String {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let what = message.lines().take_while(|line| !line.trim().is_empty());
    let tip = message.lines().filter(|line| line.trim_start().starts_with("tip:"));
    let words = |line: &str| line.split_whitespace().join(" ");
    let mut what = what.map(words).join(" ");
    // The reason stands last; what was typed, in quotes before it.
    if let Some(before) = what.strip_suffix(": invalid digit found in string") {
        what = format!("{before}: not a whole number");
    }
    std::iter::once(what).chain(tip.map(words)).join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_well_formed() {
        command_line().debug_assert();
    }
}
