//! The programs that are measured: this one, and those of other runtimes.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::record::Peer;
use super::unit::{Job, Unit};
use crate::experiments::child::{settings_removed, version_of_peer};
use crate::fault::{Fault, Outcome};
use crate::record::files;
use crate::rounds::Round;
use crate::{apps, runtimes};

/// The hidden command of this program that computes one application again and again.
pub const REPEAT: &str = "repeat";

/// The runtimes whose programs `peers/build` makes.
pub const PEERS: [&str; 3] = ["onetbb", "libgomp", "libomp"];

/// Where the programs are.
#[derive(Debug, Clone)]
pub struct Programs {
    this: PathBuf,
    peers: Vec<(Peer, PathBuf)>,
    /// Peers that are not there, and why.
    missing: Vec<(String, String)>,
}

/// Why a unit cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// What is missing: a runtime or an application.
    pub name: String,
    /// Why.
    pub reason: String,
    /// Whether it is there for rounds all the same.
    pub only_applications: bool,
}

impl Programs {
    /// This program (the executable `this`), and the peers' in `folder`.
    pub fn find(this: &Path, folder: &Path) -> Programs {
        let mut programs =
            Programs { this: this.to_owned(), peers: Vec::new(), missing: Vec::new() };
        for name in PEERS {
            let file = folder.join(format!("rounds-{name}"));
            match version_of_peer(&file) {
                Ok(version) => {
                    let build = files::digest_of(&file);
                    let peer = Peer { runtime: name.to_owned(), version, build };
                    programs.peers.push((peer, file));
                }
                Err(reason) => programs.missing.push((name.to_owned(), reason)),
            }
        }
        programs
    }

    /// The peers that are there.
    pub fn peers(&self) -> Vec<Peer> {
        self.peers.iter().map(|(peer, _)| peer.clone()).collect()
    }

    /// What is missing to measure `unit`.
    pub fn lacks(&self, unit: &Unit) -> Option<Lack> {
        let lack = |name: &str, reason: &str, only_applications| {
            let (name, reason) = (name.to_owned(), reason.to_owned());
            Some(Lack { name, reason, only_applications })
        };
        let runtime = unit.runtime.as_str();
        if PEERS.contains(&runtime) {
            return match (&unit.job, self.missing.iter().find(|(name, _)| name == runtime)) {
                (Job::App { .. }, _) => lack(runtime, "it has rounds only, no applications", true),
                (Job::Rounds(_), Some((_, reason))) => lack(runtime, reason, false),
                (Job::Rounds(_), None) => None,
            };
        }
        if unit.is_busy() && unit.job.round().is_some() {
            return None;
        }
        let Ok(found) = runtimes::find(runtime) else {
            return lack(runtime, "this build has no such runtime", false);
        };
        match &unit.job {
            Job::Rounds(_) => None,
            Job::App { app, .. } => match apps::find(app) {
                Err(_) => lack(app, "this build has no such application", false),
                Ok(app) if !found.can_run(app) => {
                    lack(runtime, "some applications have no version for it", true)
                }
                Ok(_) => None,
            },
        }
    }

    /// The command that runs `unit` behind a start gate; rounds for so many seconds.
    pub fn command(&self, unit: &Unit, seconds: f64, seed: u64) -> Outcome<Command> {
        let mut command = match &unit.job {
            Job::Rounds(round) => self.rounds(unit, *round, seconds)?,
            Job::App { app, size } => {
                let mut command = Command::new(&self.this);
                command.args([REPEAT, app, "--size", size, "--runtime", &unit.runtime]);
                command.args(["--seed", &seed.to_string()]);
                command
            }
        };
        command.args(["--workers", &unit.workers.to_string()]);
        settings_removed(&mut command);
        Ok(command)
    }

    fn rounds(&self, unit: &Unit, round: Round, seconds: f64) -> Outcome<Command> {
        let runtime = unit.runtime.as_str();
        let mut command = match self.peers.iter().find(|(peer, _)| peer.runtime == runtime) {
            Some((_, file)) => Command::new(file),
            None if PEERS.contains(&runtime) => {
                return Err(Fault::run(format!("the program of {runtime} is not there")));
            }
            None => {
                let mut command = Command::new(&self.this);
                command.args(["rounds", "--runtime", runtime]);
                command
            }
        };
        command.args(["--gate", "--secs", &seconds.to_string()]);
        command.args(["--leaf", &round.leaf.to_string(), "--chunks", &round.chunks.to_string()]);
        command.args(["--serial", &round.serial.to_string()]);
        Ok(command)
    }
}
