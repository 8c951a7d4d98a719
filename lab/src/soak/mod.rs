//! The soak: all features at 16 times as many workers as processors, for a long time, while an
//! adversary disturbs the process.
//!
//! This process is the supervisor and the adversary. A child, the [`subject`], runs the activities
//! and prints a line for each. It ends at the first wrong result. The supervisor ends it if no line
//! comes for a while, in which the subject has had processors or wanted none.

mod activities;
mod adversary;
mod progress;
mod resources;
mod satellites;
pub mod subject;
mod tally;
mod violent;

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::cli::Soak;
use crate::experiment::child::{remove_settings, this_program};
use crate::fault::{Fault, Outcome};
use crate::machine;
use adversary::Adversary;
use progress::Standstill;
use resources::thread_states;
use subject::Line;
pub use tally::Report;
use tally::Tally;

/// Workers for each processor.
const OVERSUBSCRIPTION: usize = 16;

impl Soak {
    /// Runs the soak for this time, and until the cycle of activities that has begun is completed.
    /// Without a line of the subject for as long as the patience, it hangs. Not counted is time in
    /// which it waits for processors.
    ///
    /// # Errors
    ///
    /// [`Fault::Run`] if a result is wrong, something is not given back, or an activity hangs.
    pub fn run(&self, time: Duration) -> Outcome<Report> {
        let begun = Instant::now();
        let workers = machine::processors() * OVERSUBSCRIPTION;
        let mut adversary = Adversary::new(self.seed);
        // Dropped before the adversary, which removes the subject's control groups.
        let mut subject = Subject::start(self, time, workers)?;
        adversary.admit(subject.id);
        let mut tally = Tally::default();
        let (mut standstill, mut next) = (Standstill::new(), Instant::now());
        loop {
            let pause = next.saturating_duration_since(Instant::now());
            match subject.lines.recv_timeout(pause) {
                Ok(line) => {
                    standstill.end();
                    tally.add(line)?;
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if standstill.look(subject.id) > self.patience => {
                    let (open, states) = (tally.open(), thread_states(subject.id));
                    return Err(Fault::run(format!("{open} made no progress: {states}")));
                }
                Err(RecvTimeoutError::Timeout) => {
                    next = Instant::now() + adversary.strike(subject.id)
                }
            }
        }
        let status = subject.child.wait().map_err(Fault::run)?;
        if !status.success() {
            return Err(Fault::run(format!("the subject ended with {status} in {}", tally.open())));
        }
        tally.report(self.seed, workers, begun.elapsed(), &adversary)
    }
}

/// The child. Dropping it ends it and its own children.
struct Subject {
    child: Child,
    id: Pid,
    lines: Receiver<Line>,
}

impl Subject {
    fn start(soak: &Soak, time: Duration, workers: usize) -> Outcome<Subject> {
        let fault = |why: String| Fault::run(format!("the subject cannot be started: {why}"));
        let mut command = Command::new(this_program()?);
        remove_settings(&mut command);
        command.args(subject::arguments(workers, time, soak.seed));
        command.args(soak.inject.iter().map(|defect| format!("--inject={defect}")));
        // Many arenas that grow and shrink by chance would hide what is lost.
        command.env("MALLOC_ARENA_MAX", "2").process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| fault(error.to_string()))?;
        let stdout = child.stdout.take().ok_or_else(|| fault("it has no output".to_owned()))?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or(Line::Wrong {
                    activity: "subject".to_owned(),
                    what: format!("it printed '{line}'"),
                });
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Subject { id: Pid::from_child(&child), child, lines })
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        // After an orderly end, its group is empty.
        let _ = kill_process_group(self.id, Signal::KILL);
        let _ = self.child.wait();
    }
}
