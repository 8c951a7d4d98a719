//! Command lines of the laboratory: each is read, or refused as wrong input (exit code 2). Nothing
//! is measured.

#![no_main]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::LazyLock;

use clap::CommandFactory;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use locksley_lab::cli::{self, Command, CommandLine, Computation};
use locksley_lab::experiment::{Experiment, Run};
use locksley_lab::experiments::Measure;
use locksley_lab::fault::{Fault, Outcome};
use locksley_lab::{apps, runtimes};

#[derive(Arbitrary, Debug)]
enum Part<'a> {
    /// A name of a command, option, application or runtime.
    Name(u16),
    Sign(u8),
    Small(u8),
    Number(u64),
    Fraction(f64),
    Text(&'a [u8]),
}

const SIGNS: [&str; 16] =
    [",", "x", "=", "-", " ", ".", "-1", "paper", "quick", "M", "e9", "nan", "inf", "\n", "", "/"];

static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let command = CommandLine::command();
    let options = command.get_subcommands().flat_map(|it| it.get_arguments());
    let mut names: Vec<String> =
        options.filter_map(|it| Some(format!("--{}", it.get_long()?))).collect();
    names.extend(command.get_subcommands().map(|it| it.get_name().to_owned()));
    names.extend(apps::ALL.iter().map(|app| app.name.to_owned()));
    names.extend(runtimes::ALL.iter().map(|runtime| runtime.name.to_owned()));
    names.sort();
    names.dedup();
    names
});

fuzz_target!(|arguments: (u8, Vec<Vec<Part<'_>>>)| {
    let (command, arguments) = arguments;
    let line = CommandLine::command();
    let commands: Vec<&str> = line.get_subcommands().map(|it| it.get_name()).collect();
    let command = commands.get(usize::from(command)).map(OsString::from);
    let arguments =
        arguments.iter().map(|parts| OsString::from_vec(parts.iter().flat_map(bytes).collect()));
    let line = [OsString::from("locksley")].into_iter().chain(command).chain(arguments);
    let line: Vec<OsString> = line.collect();
    match cli::parse(line).and_then(check) {
        Ok(()) => {}
        Err(Fault::Input(why)) => assert!(!why.is_empty()),
        Err(fault) => panic!("{fault}"),
    }
});

fn bytes(part: &Part<'_>) -> Vec<u8> {
    match part {
        Part::Name(name) => NAMES[usize::from(*name) % NAMES.len()].clone().into(),
        Part::Sign(sign) => SIGNS[usize::from(*sign) % SIGNS.len()].into(),
        Part::Small(number) => number.to_string().into(),
        Part::Number(number) => number.to_string().into(),
        Part::Fraction(number) => number.to_string().into(),
        Part::Text(text) => text.to_vec(),
    }
}

/// Reads what clap leaves as text, as the command does before it begins to work.
fn check(command: Command) -> Outcome<()> {
    match command {
        Command::Run(it) => size(&it.computation),
        Command::Repeat(it) => size(&it),
        Command::Rounds(it) => it.round.validate().map(drop),
        Command::Measure(Measure::Channels(run)) => plan(&run),
        Command::Measure(Measure::Cliff(run)) => plan(&run),
        Command::Measure(Measure::Corun(run)) => plan(&run),
        Command::Measure(Measure::Forkjoin(run)) => plan(&run),
        Command::Measure(Measure::Intervals(run)) => plan(&run),
        Command::Measure(Measure::Locality(run)) => plan(&run),
        Command::Measure(Measure::Model(run)) => plan(&run),
        Command::Measure(Measure::Neighbour(run)) => plan(&run),
        Command::Measure(Measure::Scatter(run)) => plan(&run),
        // The others build programs, make control groups, or have no values of their own.
        _ => Ok(()),
    }
}

fn plan<E: Experiment>(run: &Run<E>) -> Outcome<()> {
    run.experiment.plan(&run.course).map(drop)
}

fn size(it: &Computation) -> Outcome<()> {
    runtimes::find(&it.runtime)?;
    apps::problem(apps::find(&it.app)?, &it.size).map(drop)
}
