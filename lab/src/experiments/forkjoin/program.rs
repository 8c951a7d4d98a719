//! The programs that are measured: this one, and those of other runtimes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::once::{Finding, LOCAL, Local};
use super::record::{LeftOut, Runtime};
use crate::experiments::child::{self, Ended, settings_removed, version_of_peer};
use crate::fault::{Fault, Outcome};
use crate::record::files;

/// The hidden command of this program that measures one thing once.
pub const ONCE: &str = "forkjoin-once";

/// The programs that `peers/build` makes.
const PEERS: [&str; 3] = ["onetbb", "libgomp", "libomp"];

/// Runtimes that are not compared, and why.
const FORTE: (&str, &str) =
    ("forte", "its current version (1.0.0-beta.2) demands a newer toolchain than this workspace's");

/// A program, and how it is told which runtime to use.
#[derive(Debug, Clone)]
pub struct Program {
    /// The runtime.
    pub runtime: Runtime,
    file: PathBuf,
    /// Arguments before those of the measurement.
    first: Vec<String>,
}

impl Program {
    /// This program (the executable `file`) with one of its runtimes.
    pub fn local(file: &Path, local: &Local) -> Program {
        let (name, version) = (local.name.to_owned(), version_of(local.name).to_owned());
        Program {
            runtime: Runtime { name, version, build: None },
            file: file.to_owned(),
            first: [ONCE, "--runtime", local.name].map(str::to_owned).to_vec(),
        }
    }

    /// A peer's program, if it is there and can be run; else why not.
    pub fn peer(folder: &Path, name: &str) -> Result<Program, LeftOut> {
        let file = folder.join(name);
        let version = version_of_peer(&file).map_err(|reason| {
            let runtime = name.to_owned();
            LeftOut { runtime, reason }
        })?;
        let build = Some(files::digest_of(&file));
        let runtime = Runtime { name: name.to_owned(), version, build };
        Ok(Program { runtime, file, first: Vec::new() })
    }

    /// Any program.
    #[cfg(all(test, unix))]
    pub(super) fn for_test(runtime: Runtime, file: &str, first: &[&str]) -> Program {
        let first = first.iter().map(|&word| word.to_owned()).collect();
        Program { runtime, file: PathBuf::from(file), first }
    }

    /// The command that measures something once.
    pub fn command(&self, kind: &str, size: &str, workers: usize, seed: u64) -> Command {
        let mut command = Command::new(&self.file);
        command.args(&self.first).args([kind, size]).args([workers.to_string(), seed.to_string()]);
        settings_removed(&mut command);
        command
    }

    /// The command, run for at most `limit`: what it found, or `None` if it did not end.
    pub fn run(command: &mut Command, limit: Duration) -> Result<Option<Finding>, String> {
        match child::run(command, limit) {
            Ended::Well(out, _) => serde_json::from_str(&out)
                .map(Some)
                .map_err(|_| format!("it printed '{}'", out.trim().lines().next().unwrap_or(""))),
            Ended::Badly(why) => Err(why),
            Ended::Never => Ok(None),
        }
    }
}

/// The programs to be measured: of the runtimes named, or all that are there. With them, what was left out and why. The
/// serial program is always among them: everything is relative to it.
pub fn find(this: &Path, peers: &Path, only: &[String]) -> Outcome<(Vec<Program>, Vec<LeftOut>)> {
    let known: Vec<&str> = LOCAL.iter().map(|local| local.name).chain(PEERS).collect();
    if let Some(unknown) = only.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Fault::input(format!(
            "unknown runtime '{unknown}'; there are {}",
            known.join(", ")
        )));
    }
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    let mut programs: Vec<Program> = LOCAL
        .iter()
        .filter(|local| {
            wanted(local.name) || [super::plan::SERIAL, super::plan::PLAIN].contains(&local.name)
        })
        .map(|local| Program::local(this, local))
        .collect();
    let mut left_out = Vec::new();
    for name in PEERS.into_iter().filter(|name| wanted(name)) {
        match Program::peer(peers, name) {
            Ok(program) => programs.push(program),
            Err(missing) if only.is_empty() => left_out.push(missing),
            Err(missing) => return Err(Fault::input(format!("{name}: {}", missing.reason))),
        }
    }
    if only.is_empty() {
        let (runtime, reason) = (FORTE.0.to_owned(), FORTE.1.to_owned());
        left_out.push(LeftOut { runtime, reason });
    }
    Ok((programs, left_out))
}

fn version_of(local: &str) -> &'static str {
    match local {
        "rayon" => env!("LAB_RAYON"),
        "chili" => env!("LAB_CHILI"),
        _ => env!("CARGO_PKG_VERSION"),
    }
}
