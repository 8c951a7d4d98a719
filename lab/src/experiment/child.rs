//! One measurement in a process of its own: this program, by its hidden command `once`, or a
//! program of another runtime.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Cell, Plan, Readings};
use crate::fault::{Fault, Outcome};
use crate::files;

/// How long a peer may take to print its version.
const INTRODUCTION: Duration = Duration::from_secs(20);

/// What a child prints: one line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// The run failed, or gave a wrong answer.
    Failed {
        /// What is wrong.
        wrong: String,
    },
    /// The numbers that were measured.
    Right(Readings),
}

impl Answer {
    /// The numbers.
    ///
    /// # Errors
    ///
    /// [`Fault::Run`] if there are none.
    pub fn readings(self) -> Outcome<Readings> {
        match self {
            Answer::Failed { wrong } => Err(Fault::Run(wrong)),
            Answer::Right(readings) => Ok(readings),
        }
    }
}

/// Measures a cell of `experiment` in a new process of this program.
///
/// # Errors
///
/// [`Fault::Run`] if it failed or the answer is wrong, [`Fault::Missing`] if there is none.
pub fn once(experiment: &str, plan: &Plan, cell: &Cell) -> Outcome<Readings> {
    let mut command = command(experiment, cell, plan.seed)?;
    finds::<Answer>(&mut command, plan.limit())?.readings()
}

/// The command that measures a cell once.
///
/// # Errors
///
/// [`Fault::Run`] if the system does not tell what this program is.
pub fn command(experiment: &str, cell: &Cell, seed: u64) -> Outcome<Command> {
    let mut command = Command::new(this_program()?);
    command.args(["once", experiment, &cell.subject, &cell.runtime]);
    command.args([cell.workers.to_string(), seed.to_string()]);
    Ok(command)
}

/// The command that has a peer's program measure a cell once: see `peers/README.md`.
pub fn command_of_peer(program: &Path, cell: &Cell, seed: u64) -> Command {
    let mut command = Command::new(program);
    command.args(cell.subject.split(' ')).args([cell.workers.to_string(), seed.to_string()]);
    command
}

/// The executable that is running.
///
/// # Errors
///
/// [`Fault::Run`] if the system does not tell.
pub fn this_program() -> Outcome<PathBuf> {
    std::env::current_exe()
        .map_err(|error| Fault::run(format!("this program does not find itself: {error}")))
}

/// The version of a peer's program, which `peers/build` makes.
///
/// # Errors
///
/// [`Fault::Missing`] if it cannot be measured.
pub fn version_of_peer(program: &Path) -> Outcome<String> {
    #[derive(Deserialize)]
    struct Introduction {
        version: String,
    }
    if !program.is_file() {
        let why = format!("{} is not there: peers/build makes it", program.display());
        return Err(Fault::Missing(why));
    }
    let Introduction { version } = finds(Command::new(program).arg("version"), INTRODUCTION)?;
    Ok(format!("{version} ({})", files::digest_of(program)))
}

/// What a program prints as JSON within the limit.
///
/// # Errors
///
/// [`Fault::Missing`] if there is nothing.
pub fn finds<T: DeserializeOwned>(command: &mut Command, limit: Duration) -> Outcome<T> {
    let [out, _] = run(command, limit)?;
    let first = || out.trim().lines().next().unwrap_or("");
    serde_json::from_str(&out).map_err(|_| Fault::Missing(format!("it printed '{}'", first())))
}

/// Removes the environment variables that configure a runtime, but for those that the command sets:
/// all are compared as they are.
pub fn remove_settings(command: &mut Command) {
    const PREFIXES: [&str; 6] = ["OMP_", "GOMP_", "KMP_", "TBB_", "RAYON_", "LOCKSLEY_"];
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_set = command.get_envs().any(|(set, _)| set == name);
        if !is_set && PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
}

/// Runs `command`, without settings of runtimes, for at most `limit`; then it is killed. Returns
/// what it printed on stdout and on stderr.
///
/// # Errors
///
/// [`Fault::Missing`] if it did not end well.
pub fn run(command: &mut Command, limit: Duration) -> Outcome<[String; 2]> {
    remove_settings(command);
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let cannot = |error| Fault::Missing(format!("it cannot be started: {error}"));
    let mut child = piped.spawn().map_err(cannot)?;
    let out = read(child.stdout.take()).map_err(cannot)?;
    let err = read(child.stderr.take()).map_err(cannot)?;
    let deadline = Instant::now() + limit;
    let until_deadline = |all: Receiver<String>| {
        all.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    };
    // It has ended when it has closed both pipes: this process does not poll while it is measured.
    let printed = until_deadline(out).zip(until_deadline(err));
    if printed.is_none() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| Fault::Missing(error.to_string()))?;
    let late = || Fault::Missing(format!("it did not end in {} s", limit.as_secs_f64()));
    let (out, err) = printed.ok_or_else(late)?;
    if status.success() {
        return Ok([out, err]);
    }
    let said = err.lines().next().unwrap_or("it printed no reason");
    Err(Fault::Missing(format!("it ended with {status}: {said}")))
}

/// All that comes through a pipe until it is closed. A child's own children may keep it open.
///
/// # Errors
///
/// If the system gives no thread.
pub fn read(pipe: Option<impl Read + Send + 'static>) -> io::Result<Receiver<String>> {
    let (sender, all) = mpsc::channel();
    let reader = move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    };
    thread::Builder::new().spawn(reader)?;
    Ok(all)
}
