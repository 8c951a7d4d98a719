//! The programs that are measured: this one, and those of other runtimes.

use std::path::Path;
use std::time::Duration;

use super::once::{self, LOCAL, Local};
use crate::experiments::child::version_of_peer;
use crate::experiments::forkjoin::record::{LeftOut, Runtime};
use crate::experiments::local;
use crate::experiments::program;
use crate::experiments::reading::Finding;
use crate::fault::{Fault, Outcome};
use crate::record::{Cell, files};

/// The hidden command of this program that measures one thing once.
pub const ONCE: &str = "channels-once";

/// The runtimes whose programs `peers/build` makes, with what they are.
pub const PEERS: [(&str, &str); 1] = [("go", "goroutines and Go's channels")];

/// A runtime's program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The runtime.
    pub runtime: Runtime,
    program: program::Program,
}

impl Program {
    /// This program (the executable `file`) with one of its runtimes.
    pub fn local(file: &Path, local: &Local) -> Program {
        let (name, version) = (local.name.to_owned(), local.version.to_owned());
        Program {
            runtime: Runtime { name, version, build: None },
            program: program::Program::new(file, &[ONCE, "--runtime", local.name]),
        }
    }

    /// A peer's program, if it is there and can be run; else why not.
    pub fn peer(folder: &Path, name: &str) -> Result<Program, LeftOut> {
        let file = folder.join(format!("channels-{name}"));
        let version = version_of_peer(&file).map_err(|reason| {
            let runtime = name.to_owned();
            LeftOut { runtime, reason }
        })?;
        let build = Some(files::digest_of(&file));
        let runtime = Runtime { name: name.to_owned(), version, build };
        Ok(Program { runtime, program: program::Program::new(&file, &[]) })
    }

    /// A shell script for a runtime. Its arguments are the kind, the size, the workers and the seed.
    #[cfg(all(test, unix))]
    pub(super) fn script(name: &str, script: &str) -> Program {
        let (name, version) = (name.to_owned(), "<0>".to_owned());
        Program {
            runtime: Runtime { name, version, build: None },
            program: program::Program::script(script),
        }
    }

    /// Measures `cell` once; else why it did not.
    pub(super) fn measure(
        &self,
        cell: &Cell,
        seed: u64,
        limit: Duration,
    ) -> Result<Finding, String> {
        let (workers, seed) = (cell.workers.to_string(), seed.to_string());
        self.program.finds(&[&cell.app, &cell.size, &workers, &seed], limit)
    }
}

/// The programs to be measured: of the runtimes named, or all that are there. With them, what was left out and why.
pub fn find(this: &Path, peers: &Path, only: &[String]) -> Outcome<(Vec<Program>, Vec<LeftOut>)> {
    let known = || LOCAL.iter().map(|local| local.name).chain(PEERS.map(|(name, _)| name));
    if let Some(unknown) = only.iter().find(|name| !known().any(|known| known == *name)) {
        return Err(local::unknown(unknown, known()));
    }
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    let ours = LOCAL.iter().filter(|local| wanted(local.name));
    let mut programs: Vec<Program> = ours.map(|local| Program::local(this, local)).collect();
    let mut left_out = Vec::new();
    for (name, _) in PEERS.into_iter().filter(|(name, _)| wanted(name)) {
        match Program::peer(peers, name) {
            Ok(program) => programs.push(program),
            Err(missing) if only.is_empty() => left_out.push(missing),
            Err(missing) => return Err(Fault::input(format!("{name}: {}", missing.reason))),
        }
    }
    Ok((programs, left_out))
}

/// What a runtime is, in a line.
pub fn about(runtime: &str) -> &'static str {
    let peer = PEERS.into_iter().find(|(name, _)| *name == runtime).map(|(_, about)| about);
    once::find(runtime).ok().map(|local| local.about).or(peer).unwrap_or("")
}
