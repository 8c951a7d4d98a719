//! The programs that are measured: `crates/rayon-core/workloads`, built on rayon's own core and on Locksley's; and this one, for
//! `loop`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::plan::Workload;
use crate::experiments::child::{self, Ended, settings_removed};
use crate::experiments::corun::record::Peer;
use crate::experiments::corun::unit::{Job, Unit};
use crate::fault::{Fault, Outcome};
use crate::output::note;
use crate::record::files;

/// The script that makes the programs, seen from Locksley's root folder.
pub const BUILD: &str = "crates/rayon-core/workloads/build";

/// Where it leaves them.
pub const BUILT: &str = "crates/rayon-core/workloads/bin";

/// Long enough for a build on a machine that has other things to do.
const BUILD_TIME: Duration = Duration::from_secs(1800);

/// Long enough for a program to say what it is.
const PATIENCE: Duration = Duration::from_secs(20);

/// Has [`BUILD`] make the programs, or find that they are made; says where they are.
pub fn build() -> Outcome<PathBuf> {
    if !Path::new(BUILD).is_file() {
        return Err(Fault::input(format!(
            "{BUILD} is not there: start this in Locksley's root folder, or name a folder with the programs (--programs)"
        )));
    }
    note(&format!("rayon: {BUILD} builds what is compared; the first time takes a minute"));
    match child::run(&mut Command::new(BUILD), BUILD_TIME) {
        Ended::Well(..) => Ok(PathBuf::from(BUILT)),
        Ended::Badly(why) => Err(Fault::run(format!("{BUILD} failed: {why}"))),
        Ended::Never => {
            let seconds = BUILD_TIME.as_secs();
            Err(Fault::run(format!("{BUILD} did not end within {seconds} s")))
        }
    }
}

/// Where the programs are.
#[derive(Debug, Clone)]
pub struct Programs {
    this: PathBuf,
    /// By runtime.
    built: Vec<(Peer, PathBuf)>,
    workloads: Vec<Workload>,
}

/// What a program says of itself.
#[derive(Deserialize)]
struct Introduction {
    version: String,
    core: String,
    workloads: Vec<Workload>,
}

impl Programs {
    /// This program (the executable `this`), and those of `runtimes` in `folder`, each called like its runtime. They must be
    /// what they are called, and alike but for that.
    pub fn find(this: &Path, folder: &Path, runtimes: &[&str]) -> Outcome<Programs> {
        let mut programs =
            Programs { this: this.to_owned(), built: Vec::new(), workloads: Vec::new() };
        for &runtime in runtimes {
            let file = folder.join(runtime);
            let fault = |why: String| Fault::input(format!("{}: {why}", file.display()));
            let Introduction { version, core, workloads } = introduced(&file).map_err(fault)?;
            if core != runtime {
                return Err(fault(format!("it runs on the core of {core}, not on {runtime}'s")));
            }
            if !programs.built.is_empty() && programs.workloads != workloads {
                return Err(fault("its workloads are not those of the other program".to_owned()));
            }
            programs.workloads = workloads;
            let build = files::digest_of(&file);
            programs.built.push((Peer { runtime: runtime.to_owned(), version, build }, file));
        }
        Ok(programs)
    }

    /// What the programs can compute.
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// The programs, for the record.
    pub fn peers(&self) -> Vec<Peer> {
        self.built.iter().map(|(peer, _)| peer.clone()).collect()
    }

    /// The command that runs `unit` behind a start gate; `loop` for so many seconds.
    pub fn command(&self, unit: &Unit, seconds: f64, seed: u64) -> Outcome<Command> {
        let mut command = match &unit.job {
            Job::Rounds(round) => {
                let mut command = Command::new(&self.this);
                command.args(["rounds", "--gate", "--runtime", &unit.runtime]);
                command.args(["--secs", &seconds.to_string(), "--leaf", &round.leaf.to_string()]);
                command.args(["--workers", &unit.workers.to_string()]);
                command
            }
            Job::App { app, size } => {
                let found = self.built.iter().find(|(peer, _)| peer.runtime == unit.runtime);
                let none = || Fault::run(format!("there is no program of {}", unit.runtime));
                let (_, file) = found.ok_or_else(none)?;
                let mut command = Command::new(file);
                command.args([app, size]).args([unit.workers.to_string(), seed.to_string()]);
                command
            }
        };
        settings_removed(&mut command);
        Ok(command)
    }
}

fn introduced(file: &Path) -> Result<Introduction, String> {
    if !file.is_file() {
        return Err(format!("it is not there: {BUILD} makes it"));
    }
    let mut command = Command::new(file);
    settings_removed(command.arg("version"));
    match child::run(&mut command, PATIENCE) {
        Ended::Well(out, _) => serde_json::from_str(&out)
            .map_err(|error| format!("it does not say what it is: {error}")),
        Ended::Badly(why) => Err(why),
        Ended::Never => Err("it does not say what it is".to_owned()),
    }
}
