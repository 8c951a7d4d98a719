//! What a program does that is measured beside others: it gets ready, waits until all are, and says
//! when it ran and what it used of the machine.

mod stretch;

pub use stretch::{Stretch, Watch};

use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};

use crate::apps::Instance;
use crate::clock;
use crate::cycler::{Account, Done};
use crate::fault::{Fault, Outcome};
use crate::output::{say, say_line};
use crate::runtimes::Crew;

/// What a program prints when it only has to be started.
pub const READY: &str = "ready";

/// Says that this program is ready, and waits for a line on stdin.
pub fn wait_for_start() -> Outcome<()> {
    say(READY)?;
    wait_for_line(std::io::stdin().lock())
}

/// From now on, another line on stdin sets `stop`, and so does its end: the program that has
/// started this one is gone then.
pub fn stop_when_told(stop: &Arc<AtomicBool>) -> Outcome<()> {
    let stop = Arc::clone(stop);
    let listener = move || {
        let _ = std::io::stdin().read_line(&mut String::new());
        // The flag says nothing but what it says.
        stop.store(true, Ordering::Relaxed);
    };
    // The process need not wait for it.
    let started = thread::Builder::new().name("listener".to_owned()).spawn(listener);
    started.map(drop).map_err(|error| Fault::run(format!("stdin cannot be listened to: {error}")))
}

fn wait_for_line(mut input: impl BufRead) -> Outcome<()> {
    match input.read_line(&mut String::new()) {
        Ok(0) => Err(Fault::run("the start gate stays closed: stdin has ended")),
        Ok(_) => Ok(()),
        Err(error) => Err(Fault::run(format!("the start gate cannot be watched: {error}"))),
    }
}

/// The line of `rounds` behind a start gate. Peers' programs print the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundsLine {
    /// The runtime.
    pub runtime: String,
    /// The number of workers.
    #[serde(rename = "P")]
    pub workers: usize,
    /// Rounds in a second; leaves in a second for `loop`, where a round is a leaf.
    pub rounds_per_s: f64,
    /// How many there were.
    pub rounds: u64,
    /// When, and what they used.
    #[serde(flatten)]
    pub stretch: Stretch,
}

/// The line of a cycler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CyclerLine {
    /// What it did.
    #[serde(flatten)]
    pub done: Done,
    /// When, and what it used.
    #[serde(flatten)]
    pub stretch: Stretch,
}

impl CyclerLine {
    /// What it had counted when.
    pub fn account(&self) -> Account {
        let Done { stamps, increments, .. } = &self.done;
        Account::of(stamps, self.stretch.begun, self.stretch.ended, *increments)
    }
}

/// One computation, begun and ended by the machine's clock, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repetition {
    /// When it began.
    pub begun: u64,
    /// When it had ended.
    pub ended: u64,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RepetitionLine {
    /// After each computation.
    Computation(Repetition),
    /// At the end: all of them, and what they used.
    End(Stretch),
}

impl Repetition {
    /// How long it took, in seconds.
    pub fn seconds(&self) -> f64 {
        clock::seconds(self.begun, self.ended)
    }
}

/// Computes `instance` on `crew` once, says that it is ready, and begins when a line comes in on
/// stdin. Prints a [`RepetitionLine`] after each computation, at least one. After another line, or
/// the end of stdin, it finishes the computation that it is at, prints the last [`RepetitionLine`],
/// and checks the answer once stdin has ended: others may still be measured.
pub fn repeat(instance: &mut dyn Instance, crew: &Crew) -> Outcome<()> {
    // All memory has been touched before anything counts.
    crew.compute(instance);
    check(instance)?;
    wait_for_start()?;
    let told = Arc::new(AtomicBool::new(false));
    stop_when_told(&told)?;
    let watch = Watch::start(Some(crew));
    loop {
        instance.reset();
        let begun = clock::now();
        crew.time(instance);
        say_line(&RepetitionLine::Computation(Repetition { begun, ended: clock::now() }))?;
        if told.load(Ordering::Relaxed) {
            break;
        }
    }
    say_line(&RepetitionLine::End(watch.stop()))?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map_err(Fault::run)?;
    check(instance)
}

fn check(instance: &dyn Instance) -> Outcome<()> {
    instance.check().map_err(|wrong| Fault::run(format!("the answer is wrong: {wrong}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_opens_the_gate_and_an_end_does_not() {
        assert_eq!(wait_for_line(&b"\n"[..]), Ok(()));
        assert_eq!(wait_for_line(&b"go\nmore"[..]), Ok(()));
        assert!(matches!(wait_for_line(&b""[..]), Err(Fault::Run(_))));
    }
}
