//! The command line: what it accepts, and one line for what it does not.

mod once;

pub use once::{
    ChannelsOnce, ForkjoinOnce, IntervalsOnce, MeterOnce, MultiprogramOnce, ScatterOnce,
    TurnkeyOnce, WaitOnce,
};

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

use crate::fault::{Fault, Outcome};
use crate::random::DEFAULT_SEED;
use crate::{apps, machine, output, runtimes};

/// The commands by what they are for; clap would list them in one column.
const HELP: &str = "\
{about}

{usage-heading} {usage}

Look:
  machine       the processors that this process may use, and the kernel's help
  apps          the applications, their sizes and their runtimes

Run:
  run           one application once, with its answer checked
  rounds        small parallel rounds for some seconds: the unit of co-runs
  cycler        take processors away from other programs, a random number at a time
  sleeper       sleep and wake, and say how late: an interactive process

Measure:
  cliff         more workers than processors, and beside busy threads: begin here
  corun         what programs side by side leave each other
  turnkey       pools that choose their number of workers, under quotas too
  neighbour     how late an interactive process wakes beside each runtime
  rayon         programs written for rayon, on its own core and on Locksley's
  forkjoin      what a fork costs, and the tasks of a stuck worker
  wait          what waiting tasks cost
  channels      what messages and processes of networks cost
  intervals     what graphs of intervals cost
  meter         what a profiler costs

Reproduce (figures of the papers):
  model         Hood: work and span, and the fitted constants
  multiprogram  Hood: the same beside cycler
  alternatives  Hood: other deques and other thieves
  scatter       Nornir: scatter and gather
  locality      LASSI: tasks at places
  report        the page of an experiment again, from its record

Options:
{options}";

/// Locksley's laboratory: work stealing on machines that are shared.
#[derive(Debug, Parser)]
#[command(name = "locksley", version, max_term_width = 100, help_template = HELP)]
struct CommandLine {
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
    /// Run one application once, check its answer and say how long it took
    Run(Run),
    /// Repeat small parallel rounds for some seconds and print their rate: the co-run unit
    Rounds(Rounds),
    /// Take processors away from other programs, a random number of them at a time: cycler(p, w, W) of the Hood papers
    Cycler(Cycler),
    /// Measure the performance cliff: speedup and utilization over the number of workers
    Cliff(Cliff),
    /// Measure what a fork costs, and what becomes of the tasks of a worker that is stuck
    Forkjoin(Forkjoin),
    /// Measure one of these once, in this process
    #[command(hide = true)]
    ForkjoinOnce(ForkjoinOnce),
    /// Measure what other implementations of work stealing make of the machine, and where their time goes
    Alternatives(Alternatives),
    /// Measure whether work and critical path say how long a program takes, and fit the model's constants
    Model(Model),
    /// Measure the same beside programs that take processors away at random, and what the processors granted are by the papers' method
    Multiprogram(Multiprogram),
    /// Measure one of these once, in this process
    #[command(hide = true)]
    MultiprogramOnce(MultiprogramOnce),
    /// Measure what programs side by side leave each other of the machine
    Corun(Corun),
    /// Measure programs written for rayon on its own core and on Locksley's
    Rayon(Rayon),
    /// Compute one application again and again behind a start gate: a program of `corun`
    #[command(hide = true)]
    Repeat(Repeat),
    /// Measure how late an interactive process wakes beside a program on each runtime
    Neighbour(Neighbour),
    /// Sleep and wake for some seconds and print how late each wake-up was: the interactive process of `neighbour`
    Sleeper(Sleeper),
    /// Measure what tasks cost that wait: spawning and awaiting, waking each other, and the memory meanwhile
    Wait(Wait),
    /// Measure one of these once, in this process
    #[command(hide = true)]
    WaitOnce(WaitOnce),
    /// Measure what graphs of intervals make of the machine, beside fork and join, and what an interval costs
    Intervals(Intervals),
    /// Measure what an interval costs, once, in this process
    #[command(hide = true)]
    IntervalsOnce(IntervalsOnce),
    /// Measure what messages and processes cost: channels, rings, pipelines, fans, and idle processes
    Channels(Channels),
    /// Measure one of these once, in this process
    #[command(hide = true)]
    ChannelsOnce(ChannelsOnce),
    /// Measure scatter and gather with both placements of processes: the experiments of Nornir's study
    Scatter(Scatter),
    /// Measure one of these networks once, in this process
    #[command(hide = true)]
    ScatterOnce(ScatterOnce),
    /// Measure what it is worth to keep work where its data is: tasks placed best, worst, by chance and not at all
    Locality(Locality),
    /// Measure one of these once, in this process
    #[command(hide = true)]
    LocalityOnce(LocalityOnce),
    /// Measure whether a pool to which nobody says how many workers to have does as well as with the best number
    Turnkey(Turnkey),
    /// Measure one of these once, in this process
    #[command(hide = true)]
    TurnkeyOnce(TurnkeyOnce),
    /// Measure what a profiler costs: a fork, small leaves, the applications
    Meter(Meter),
    /// Measure one of these once, in this process
    #[command(hide = true)]
    MeterOnce(MeterOnce),
    /// Make the page of an experiment again from its record
    Report(Report),
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

/// `locksley run`
#[derive(Debug, Args)]
pub struct Run {
    /// The application: see `locksley apps`
    #[arg(value_name = "APP")]
    pub app: String,
    /// The runtime: locksley, rayon, static, serial or another of `locksley apps`
    #[arg(long, value_name = "R", default_value = "locksley")]
    pub runtime: String,
    /// The number of workers [default: one for each processor allowed]
    #[arg(long, value_name = "P", value_parser = workers)]
    pub workers: Option<usize>,
    /// paper, quick, or the application's parameters: see `locksley apps`
    #[arg(long, value_name = "S", default_value = "quick")]
    pub size: String,
    /// What all random input follows from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// Write the picture that the application has drawn: ray and raytracer draw one
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
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
    /// The number of workers [default: one for each processor allowed]
    #[arg(long, value_name = "P", value_parser = workers)]
    pub workers: Option<usize>,
    /// Steps of xorshift64 in a leaf
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub leaf: u64,
    /// Leaves in parallel, in each round
    #[arg(long, value_name = "C", default_value_t = 64)]
    pub chunks: u64,
    /// Leaves in a row before them, in each round
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub serial: u64,
    /// The runtime: locksley, rayon, static, serial or another of `locksley apps`; or loop, for busy threads
    #[arg(long, value_name = "R", default_value = "locksley")]
    pub runtime: String,
    /// Say `ready`, and begin when a line comes in on stdin
    #[arg(long)]
    pub gate: bool,
}

/// `locksley cycler`
#[derive(Debug, Args)]
pub struct Cycler {
    /// p: the number of workers, of which 1 to p are released at a time [default: one for each processor allowed]
    #[arg(long, value_name = "P", value_parser = workers)]
    pub workers: Option<usize>,
    /// w: the most increments of a worker that was released; each takes some hundred microseconds
    #[arg(long, value_name = "w", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub increments: u64,
    /// W: the sum of increments at which it ends [default: none]
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(u64).range(1..))]
    pub total: Option<u64>,
    /// The time after which it ends, in seconds [default: none; it also ends by SIGTERM and SIGINT]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub secs: Option<std::time::Duration>,
    /// The increments that one processor makes in a second, from a calibration
    #[arg(long, value_name = "R", value_parser = rate)]
    pub rate: Option<f64>,
    /// Where timestamps and counts are written
    #[arg(long, value_name = "FILE")]
    pub timestamps: Option<PathBuf>,
    /// What all random choices follow from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// Say `ready`, begin when a line comes in on stdin, and end at another one, or with stdin
    #[arg(long)]
    pub gate: bool,
    /// Find out how many increments one processor makes in a second; the machine should be idle
    #[arg(long, conflicts_with_all = ["workers", "increments", "total", "rate", "timestamps", "seed", "gate"])]
    pub calibrate: bool,
}

/// What every experiment takes.
#[derive(Debug, Args)]
pub struct Course {
    /// At most a minute: a part of it, which it names
    #[arg(long)]
    pub quick: bool,
    /// Where the figures and the machine are written [default: EXPERIMENT.json in the output folder]
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The folder for the page [default: out/EXPERIMENT, or out/EXPERIMENT-quick]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What all random input follows from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// Measure again what an earlier run with these parameters has measured
    #[arg(long)]
    pub fresh: bool,
}

/// `locksley cliff`
#[derive(Debug, Args)]
pub struct Cliff {
    /// Only these applications; or all, those of the other papers too [default: Hood's, and rounds]
    #[arg(long, value_name = "APP,..", value_delimiter = ',')]
    pub apps: Vec<String>,
    /// Compare these runtimes [default: static, locksley, locksley-awake, rayon]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    pub runtimes: Vec<String>,
    /// With these numbers of workers, and with 1 [default: 1 to 32]
    #[arg(long, value_name = "P,..", value_delimiter = ',', value_parser = workers)]
    pub workers: Vec<usize>,
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
}

/// `locksley forkjoin`
#[derive(Debug, Args)]
pub struct Forkjoin {
    /// Only these runtimes [default: all that are there]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    pub runtimes: Vec<String>,
    /// The folder with the programs of other runtimes, which peers/build makes
    #[arg(long, value_name = "DIR", default_value = "peers/bin")]
    pub peers: PathBuf,
    /// Compute fib(N); below 30, times are too short for figures [default: 32, or 30 if quick]
    #[arg(long, value_name = "N")]
    pub fib: Option<u32>,
    /// Sum up a tree with so many levels [default: 24, or 20 if quick]
    #[arg(long, value_name = "LEVELS")]
    pub tree: Option<u32>,
    /// How often each is measured, if the time suffices [default: 11, or 7 if quick]
    #[arg(long, value_name = "K")]
    pub repeats: Option<usize>,
    /// Count instructions also in a quick run; this takes valgrind, and half a minute
    #[arg(long)]
    pub instructions: bool,
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
}

/// `locksley alternatives`
#[derive(Debug, Args)]
pub struct Alternatives {
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
}

/// `locksley model`
#[derive(Debug, Args)]
pub struct Model {
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
}

/// `locksley multiprogram`
#[derive(Debug, Args)]
pub struct Multiprogram {
    /// Only these applications [default: knary, heat, msort, mm, lu, barnes, ray; the first four if quick]
    #[arg(long, value_name = "APP,..", value_delimiter = ',')]
    pub apps: Vec<String>,
    /// With these numbers of workers [default: one and four for each processor, and 64; without four if quick]
    #[arg(long, value_name = "P,..", value_delimiter = ',', value_parser = workers)]
    pub workers: Vec<usize>,
    /// How often each is measured, if the time suffices [default: 5, or 3 if quick]
    #[arg(long, value_name = "K")]
    pub repeats: Option<usize>,
    /// For how long a program computes in each measurement, in seconds [default: 0.6, or 0.4 if quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub secs: Option<std::time::Duration>,
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
}

/// `locksley corun`
#[derive(Debug, Args)]
pub struct Corun {
    /// Only these pairs, such as par+loop or clip+mm; or parts: targets, solo, assists, others, applications [default: all]
    #[arg(long, value_name = "PAIR,..", value_delimiter = ',')]
    pub pairs: Vec<String>,
    /// Compare only these runtimes [default: those of the plan that are there]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    pub runtimes: Vec<String>,
    /// How often each pair is measured, if the time suffices [default: 8 for targets, 4 for solo, half of these on rivals; 3 for
    /// others, 2 for assists, 1 for applications; 2 if quick]
    #[arg(long, value_name = "K")]
    pub repeats: Option<usize>,
    /// For how long programs run side by side, in seconds; applications for at least [default: 3 and 1.5; 1 and 0.5 if quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub secs: Option<std::time::Duration>,
    /// The folder with the programs of other runtimes, which peers/build makes
    #[arg(long, value_name = "DIR", default_value = "peers/bin")]
    pub peers: PathBuf,
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
}

/// `locksley rayon`
#[derive(Debug, Args)]
pub struct Rayon {
    /// Only these workloads [default: all; four if quick]
    #[arg(long, value_name = "W,..", value_delimiter = ',')]
    pub workloads: Vec<String>,
    /// Only in these settings: alone, oversubscribed, beside [default: all]
    #[arg(long, value_name = "SETTING,..", value_delimiter = ',')]
    pub settings: Vec<String>,
    /// Only on these: rayon, which is its own core; locksley [default: both]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    pub runtimes: Vec<String>,
    /// How often each is measured, if the time suffices [default: 9, or 3 if quick]
    #[arg(long, value_name = "K")]
    pub repeats: Option<usize>,
    /// For how long each program computes, in seconds [default: 0.7 alone, 2 beside busy threads; 0.3 and 1 if quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub secs: Option<std::time::Duration>,
    /// The folder with the two programs, as they are [default: crates/rayon-core/workloads/bin, where they are built first]
    #[arg(long, value_name = "DIR")]
    pub programs: Option<PathBuf>,
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
}

/// `locksley repeat`
#[derive(Debug, Args)]
pub struct Repeat {
    /// The application
    #[arg(value_name = "APP")]
    pub app: String,
    /// The runtime
    #[arg(long, value_name = "R", default_value = "locksley")]
    pub runtime: String,
    /// The number of workers [default: one for each processor allowed]
    #[arg(long, value_name = "P", value_parser = workers)]
    pub workers: Option<usize>,
    /// paper, quick, or the application's parameters
    #[arg(long, value_name = "S", default_value = "quick")]
    pub size: String,
    /// What all random input follows from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
}

/// `locksley neighbour`
#[derive(Debug, Args)]
pub struct Neighbour {
    /// Only beside these runtimes [default: locksley, rayon, locksley-awake, static]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    pub runtimes: Vec<String>,
    /// How long one measurement takes, in seconds [default: 10, or 1 if quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub secs: Option<std::time::Duration>,
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
}

/// `locksley sleeper`
#[derive(Debug, Args)]
pub struct Sleeper {
    /// For how long, in seconds
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds)]
    pub secs: std::time::Duration,
    /// From one deadline to the next, on average, in microseconds
    #[arg(long, value_name = "US", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..=60_000_000))]
    pub period: u64,
    /// By how much a deadline is earlier or later at most, in microseconds
    #[arg(long, value_name = "US", default_value_t = 1000)]
    pub jitter: u64,
    /// Steps of xorshift64 after each wake-up
    #[arg(long, value_name = "N", default_value_t = 70_000, value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    pub steps: u64,
    /// What the deadlines follow from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
}

/// `locksley wait`
#[derive(Debug, Args)]
pub struct Wait {
    /// Only these runtimes [default: locksley, locksley-cur, tokio-current, tokio, smol]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    pub runtimes: Vec<String>,
    /// So many tasks, round trips or threads in each measurement [default: as many as take some tenths of a second]
    #[arg(long, value_name = "N")]
    pub tasks: Option<u64>,
    /// How often each is measured, if the time suffices [default: 11, or 7 if quick]
    #[arg(long, value_name = "K")]
    pub repeats: Option<usize>,
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
}

/// `locksley turnkey`
#[derive(Debug, Args)]
pub struct Turnkey {
    /// Only these: apps, under (applications under quotas), phases, quota, moved [default: all]
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    pub kinds: Vec<String>,
    /// How often each is measured, if the time suffices [default: 40, or 8 if quick; the phases and the move at most 5, or once]
    #[arg(long, value_name = "K")]
    pub repeats: Option<usize>,
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
}

/// `locksley intervals`
#[derive(Debug, Args)]
pub struct Intervals {
    /// How often each is measured, if the time suffices [default: 9, or 5 if quick]
    #[arg(long, value_name = "K")]
    pub repeats: Option<usize>,
    /// The folder with the programs of other runtimes, which peers/build makes
    #[arg(long, value_name = "DIR", default_value = "peers/bin")]
    pub peers: PathBuf,
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
}

/// `locksley channels`
#[derive(Debug, Args)]
pub struct Channels {
    /// Only these runtimes [default: locksley, locksley-cur, tokio-current, tokio, and go if it is there]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    pub runtimes: Vec<String>,
    /// The folder with the programs of other runtimes, which peers/build makes
    #[arg(long, value_name = "DIR", default_value = "peers/bin")]
    pub peers: PathBuf,
    /// So many messages, hops or idle processes in each measurement [default: as many as take some tenths of a second]
    #[arg(long, value_name = "N")]
    pub messages: Option<u64>,
    /// How often each is measured, if the time suffices [default: 11, or 7 if quick]
    #[arg(long, value_name = "K")]
    pub repeats: Option<usize>,
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
}

/// `locksley scatter`
#[derive(Debug, Args)]
pub struct Scatter {
    /// Only these experiments: 1 to 4 as the study has them, and utilization [default: all]
    #[arg(long, value_name = "E,..", value_delimiter = ',')]
    pub experiments: Vec<String>,
    /// The study's rounds are divided by this [default: 125, or 1250 if quick]
    #[arg(long, value_name = "N")]
    pub divisor: Option<u64>,
    /// How often each is measured, if the time suffices [default: 9]
    #[arg(long, value_name = "K")]
    pub repeats: Option<usize>,
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
}

/// `locksley locality`
#[derive(Debug, Args)]
pub struct Locality {
    /// At most a minute: smaller inputs, as few repetitions as fit
    #[arg(long)]
    pub quick: bool,
    /// Only these: stress, sort, multiply, apps [default: all, or all but apps if quick]
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    pub kinds: Vec<String>,
    /// Only these placements: best, worst, random, mailboxes, shared-deques, ignorant, ignorant-by-data, ignorant-in-turn, undivided
    /// [default: all]
    #[arg(long, value_name = "P,..", value_delimiter = ',')]
    pub placements: Vec<String>,
    /// The caches that divide the machine into places: l3, l2 or l1, and no applications [default: what a pool finds, or else private caches]
    #[arg(long, value_name = "LEVEL")]
    pub level: Option<String>,
    /// How often each is measured, if the time suffices [default: 21, or 7 if quick]
    #[arg(long, value_name = "K")]
    pub repeats: Option<usize>,
    /// Where the figures and the machine are written [default: locality.json in the output folder]
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The folder for the page [default: out/locality, or out/locality-quick]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What all random input follows from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// Measure again what an earlier run with these parameters has measured
    #[arg(long)]
    pub fresh: bool,
}

/// `locksley locality-once`
#[derive(Debug, Args)]
pub struct LocalityOnce {
    /// Where tasks are put
    #[arg(long, value_name = "P")]
    pub placement: String,
    /// stress, sort or multiply
    pub kind: String,
    /// The number of workers
    #[arg(value_parser = workers)]
    pub workers: usize,
    /// Bytes of an array, integers, or rows of a matrix
    pub size: String,
    /// The caches that divide the machine into places
    #[arg(long, value_name = "LEVEL")]
    pub level: Option<String>,
    /// What all random input follows from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
}

/// `locksley meter`
#[derive(Debug, Args)]
pub struct Meter {
    /// Only these: fork, leaves, apps, regions [default: all]
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    pub kinds: Vec<String>,
    /// For how long each is computed with and without a profiler in a rotation, in seconds
    /// [default: 0.8, or 0.25 if quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub secs: Option<std::time::Duration>,
    /// How often each is measured, if the time suffices [default: 6, or 3 if quick]
    #[arg(long, value_name = "K")]
    pub repeats: Option<usize>,
    /// What every experiment takes.
    #[command(flatten)]
    pub course: Course,
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
    /// Also write the two charts at the top of a cliff's page into this file, as SVG
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
}

/// Reads the arguments of the process; prints help and version where they are asked for.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Outcome<Command> {
    match CommandLine::try_parse_from(arguments) {
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

/// What clap has to say up to its first blank line, and its tip if it has one, as one line.
fn in_one_line(message: &str) -> String {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let what = message.lines().take_while(|line| !line.trim().is_empty());
    let tip = message.lines().filter(|line| line.trim_start().starts_with("tip:"));
    let words: Vec<&str> = what.chain(tip).flat_map(str::split_whitespace).collect();
    words.join(" ")
}

fn workers(text: &str) -> Result<usize, String> {
    match apps::size::whole(text)? {
        workers if (1..=runtimes::MOST_WORKERS).contains(&workers) => Ok(workers),
        _ => Err(format!("there can be 1 to {} workers", runtimes::MOST_WORKERS)),
    }
}

fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    if !seconds.is_finite() || seconds <= 0.0 {
        return Err("it must be finite and more than 0".to_owned());
    }
    // A year, which no clock of ours overflows.
    match std::time::Duration::try_from_secs_f64(seconds) {
        Ok(time) if time.as_secs() <= 365 * 86_400 => Ok(time),
        _ => Err("it must be at most a year".to_owned()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    if rate.is_finite() && rate > 0.0 {
        Ok(rate)
    } else {
        Err("it must be finite and more than 0".to_owned())
    }
}

/// The number of workers asked for, or one for each processor.
pub fn workers_or_default(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(machine::default_workers)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{CommandLine, HELP};

    #[test]
    fn the_help_lists_each_command_once() {
        let listed = |line: &str| Some(line.strip_prefix("  ")?.split(' ').next()?.to_owned());
        let mut listed: Vec<String> = HELP.lines().filter_map(listed).collect();
        let command = CommandLine::command();
        let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
        let mut shown: Vec<String> = shown.map(|it| it.get_name().to_owned()).collect();
        listed.sort();
        shown.sort();
        assert_eq!(listed, shown);
    }
}
