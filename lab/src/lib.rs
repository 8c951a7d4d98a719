//! Locksley's laboratory: applications, experiments and their reports.
//!
//! The binary `locksley` is a thin shell around this library:
//!
//! - [`apps`]: the applications, one folder each, and the registry that lists them;
//! - [`runtimes`]: what executes them (Locksley, rayon, statically partitioned threads, the serial
//!   program);
//! - [`rounds`]: the co-run unit, a program that repeats small parallel rounds for a given time;
//! - [`corunner`]: what a program does that is measured beside others;
//! - `control_group`: control groups with quotas, for experiments and the soak;
//! - [`cycler`]: the co-runner of the Hood papers, which takes processors away at random;
//! - `soak`: everything at once, for a long time, against an adversary;
//! - [`experiment`]: what all experiments have in common: plan, record, report;
//! - [`experiments`]: the experiments themselves;
//! - `top`: what the workers of a running program do;
//! - [`trace`]: recordings of what workers did, as text and as pages;
//! - [`cli`] and [`commands`]: the command line.

#![deny(unsafe_code)]

pub mod apps;
pub mod cli;
pub mod clock;
pub mod commands;
mod control_group;
pub mod corunner;
pub mod cycler;
pub mod experiment;
pub mod experiments;
pub mod fault;
pub mod files;
mod fork;
pub mod leaf;
pub mod machine;
pub mod output;
pub mod papers;
pub mod random;
pub mod rounds;
pub mod runtimes;
#[cfg(target_os = "linux")]
pub mod soak;
pub mod time;
#[cfg(target_os = "linux")]
pub mod top;
pub mod topology;
pub mod trace;
pub mod usage;

use std::process::ExitCode;

/// Runs the command line of this process and says how it went: 0 well, 1 a wrong answer or a failed
/// run, 2 wrong input.
pub fn main() -> ExitCode {
    let outcome = cli::parse(std::env::args_os()).and_then(commands::execute);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            output::complain(&fault.to_string());
            fault.exit_code()
        }
    }
}
