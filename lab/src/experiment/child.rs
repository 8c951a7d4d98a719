//! One measurement in a process of its own: this program, by its hidden command `once`, or a
//! program of another runtime.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Cell, Measured, Plan, Readings};
use crate::fault::{Fault, Outcome};
use crate::files;

/// How long a peer may take to print its version.
const INTRODUCTION: Duration = Duration::from_secs(20);

/// What a child prints: one line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// The computation gave a wrong answer.
    Wrong {
        /// What is wrong.
        wrong: String,
    },
    /// The numbers that were measured.
    Right(Readings),
}

/// What a child that ended well has printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// On stdout.
    pub out: String,
    /// On stderr.
    pub err: String,
}

/// Measures a cell of `experiment` in a new process of this program.
///
/// # Errors
///
/// The outer error says that the answer was wrong, the inner one that there is none.
pub fn once(experiment: &str, plan: &Plan, cell: &Cell) -> Measured {
    let mut command = command(experiment, cell, plan.seed)?;
    measured(finds(&mut command, Duration::from_secs_f64(plan.limit_seconds)))
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

/// What a process found, or why there is nothing.
///
/// # Errors
///
/// [`Fault::Run`] if its answer is wrong.
pub fn measured(found: Result<Answer, String>) -> Measured {
    match found {
        Ok(Answer::Wrong { wrong }) => Err(Fault::run(format!("the answer is wrong: {wrong}"))),
        Ok(Answer::Right(readings)) => Ok(Ok(readings)),
        Err(why) => Ok(Err(why)),
    }
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

/// What a program prints as JSON within the limit.
///
/// # Errors
///
/// Why there is nothing.
pub fn finds<T: DeserializeOwned>(command: &mut Command, limit: Duration) -> Result<T, String> {
    remove_settings(command);
    let Printed { out, .. } = run(command, limit)?;
    serde_json::from_str(&out)
        .map_err(|_| format!("it printed '{}'", out.trim().lines().next().unwrap_or("")))
}

/// The program of another runtime, which `peers/build` makes.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The executable.
    pub file: PathBuf,
    /// The version that it prints.
    pub version: String,
}

impl Peer {
    /// Finds a peer's program and asks for its version.
    ///
    /// # Errors
    ///
    /// Why it cannot be measured.
    pub fn find(file: &Path) -> Result<Peer, String> {
        #[derive(Deserialize)]
        struct Introduction {
            version: String,
        }
        if !file.is_file() {
            return Err(format!("{} is not there: peers/build makes it", file.display()));
        }
        let introduction: Introduction = finds(Command::new(file).arg("version"), INTRODUCTION)?;
        let version = format!("{} ({})", introduction.version, files::digest_of(file));
        Ok(Peer { file: file.to_owned(), version })
    }

    /// What it prints as JSON when it is started with these arguments.
    ///
    /// # Errors
    ///
    /// Why there is nothing.
    pub fn finds<T: DeserializeOwned>(
        &self,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<T, String> {
        finds(Command::new(&self.file).args(arguments), limit)
    }
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

/// Runs `command` for at most `limit`; then it is killed.
///
/// # Errors
///
/// Why it did not end well.
pub fn run(command: &mut Command, limit: Duration) -> Result<Printed, String> {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    // It has ended when it has closed both pipes: this process does not poll while it is measured.
    let (sender, receiver) = mpsc::channel();
    let out = thread::spawn(reader(child.stdout.take(), sender.clone()));
    let err = thread::spawn(reader(child.stderr.take(), sender));
    let deadline = Instant::now() + limit;
    let in_time = (0..2).all(|_| {
        let left = deadline.saturating_duration_since(Instant::now());
        receiver.recv_timeout(left).is_ok()
    });
    if !in_time {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if !in_time {
        // Its own children may keep the pipes open, so the readers are not waited for.
        return Err(format!("it did not end in {} s", limit.as_secs_f64()));
    }
    let [out, err] = [out, err]
        .map(|reader| String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned());
    let said = err.lines().next().unwrap_or("it printed no reason");
    match status.success() {
        true => Ok(Printed { out, err }),
        false => Err(format!("it ended with {status}: {said}")),
    }
}

fn reader(
    pipe: Option<impl Read + Send + 'static>,
    ended: mpsc::Sender<()>,
) -> impl FnOnce() -> Vec<u8> + Send + 'static {
    move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = ended.send(());
        bytes
    }
}
