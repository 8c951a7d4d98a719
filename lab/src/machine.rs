//! The machine that this process runs on, as far as results depend on it.

use std::fs;

use locksley::BuildError;
use locksley::os::{self, Assists, Processors};
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Outcome};

/// The most workers that may be asked for; each is an OS thread.
pub const MOST_WORKERS: usize = 1024;

/// A machine, as records keep it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The number of processors that this process may use.
    pub processors: usize,
    /// The share of processors that a control group grants, if it limits them.
    pub quota: Option<f64>,
    /// The processor's name, if the system tells.
    pub processor: String,
    /// Memory in bytes, if the system tells.
    pub memory: Option<u64>,
    /// The operating system, its kernel's version and the architecture.
    pub kernel: String,
    /// What the operating system can do for the scheduler.
    pub assists: Vec<Assist>,
}

/// One kind of help that an operating system may give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assist {
    /// Its name.
    pub name: String,
    /// What it is good for.
    pub purpose: String,
    /// What is done without it.
    pub fallback: String,
    /// Whether it works here.
    pub works: bool,
    /// If not, why.
    pub reason: Option<String>,
}

impl Machine {
    /// Looks at this machine.
    pub fn here() -> Machine {
        let allowed = Processors::allowed();
        Machine {
            processors: allowed.ids().len(),
            quota: allowed.quota().map(|quota| quota.processors),
            processor: processor_name(),
            memory: memory_field("/proc/meminfo", "MemTotal:"),
            kernel: kernel(),
            assists: os::assists().iter().map(Assist::from).collect(),
        }
    }

    /// The processors that a program can have at once: those allowed, or fewer by quota.
    pub fn capacity(&self) -> f64 {
        let allowed = self.processors as f64;
        self.quota.map_or(allowed, |quota| quota.min(allowed))
    }

    /// The processors that `workers` can have when the machine is theirs: PA = min(P, capacity).
    pub fn granted(&self, workers: usize) -> f64 {
        self.capacity().min(workers as f64)
    }
}

impl From<&os::Assist> for Assist {
    fn from(assist: &os::Assist) -> Assist {
        Assist {
            name: assist.name.to_owned(),
            purpose: assist.purpose.to_owned(),
            fallback: assist.fallback.to_owned(),
            works: assist.state.is_ok(),
            reason: assist.state.clone().err(),
        }
    }
}

/// The number of workers where none is asked for: as of a pool, by `LOCKSLEY_WORKERS` or by what is
/// allowed.
pub fn default_workers() -> usize {
    let chosen = workers_by_variable().and_then(Result::ok);
    chosen.map_or_else(processors, |chosen| chosen.min(MOST_WORKERS))
}

/// The number of processors allowed, a part of one counted as one.
pub fn processors() -> usize {
    (Processors::allowed().capacity().ceil() as usize).clamp(1, MOST_WORKERS)
}

fn workers_by_variable() -> Option<Result<usize, BuildError>> {
    let value = std::env::var("LOCKSLEY_WORKERS").ok().filter(|value| !value.is_empty())?;
    let workers = value.parse().ok().filter(|&workers| workers > 0);
    Some(workers.ok_or(BuildError::Environment { value }))
}

/// Refuses values of variables that no pool accepts.
///
/// # Errors
///
/// [`Fault::Input`].
pub fn check_variables() -> Outcome<()> {
    let assists = std::env::var("LOCKSLEY_ASSISTS").ok().filter(|names| !names.is_empty());
    let assists = assists.map(|names| names.parse::<Assists>().map_err(BuildError::Assists));
    let checked = workers_by_variable().transpose().map(drop).and(assists.transpose().map(drop));
    checked.map_err(Fault::input)
}

/// The memory that can be had without swapping, in bytes; where the system does not tell, no limit.
pub fn available_memory() -> u128 {
    memory_field("/proc/meminfo", "MemAvailable:").map_or(u128::from(u64::MAX), u128::from)
}

/// An amount of memory that a table of the system has, in bytes.
pub(crate) fn memory_field(table: &str, name: &str) -> Option<u64> {
    let table = fs::read_to_string(table).ok()?;
    let line = table.lines().find(|line| line.starts_with(name))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

fn processor_name() -> String {
    let table = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = table
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split_once(':'));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.trim().to_owned())
}

fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} {} {}", std::env::consts::OS, release.trim(), std::env::consts::ARCH)
        .replace("  ", " ")
}
