//! One application, prepared once and computed again and again until somebody says stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};

use super::{Stretch, Watch, clock, wait_for_start};
use crate::apps::Instance;
use crate::fault::{Fault, Outcome};
use crate::output::say;
use crate::runtimes::Crew;

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
pub enum Line {
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

/// Computes `instance` on `crew` once, says that it is ready, and begins when a line comes in on stdin. Prints a [`Line`]
/// after each computation, at least one. After another line, or the end of stdin, it finishes the computation that it is
/// at, checks the answer, and prints the last [`Line`].
pub fn repeat(instance: &mut dyn Instance, crew: &Crew) -> Outcome<()> {
    // All memory has been touched before anything counts.
    crew.compute(instance);
    check(instance)?;
    let stop = Arc::new(AtomicBool::new(false));
    wait_for_start()?;
    listen(Arc::clone(&stop))?;
    let watch = Watch::start();
    loop {
        instance.reset();
        let begun = clock::now();
        crew.time(instance);
        print(Line::Computation(Repetition { begun, ended: clock::now() }))?;
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let stretch = watch.stop();
    check(instance)?;
    print(Line::End(stretch))
}

/// Sets `stop` at the next line on stdin, or when it ends.
fn listen(stop: Arc<AtomicBool>) -> Outcome<()> {
    let listener = move || {
        let _ = std::io::stdin().read_line(&mut String::new());
        stop.store(true, Ordering::Relaxed);
    };
    // It ends with the process: nobody waits for somebody who waits for a line.
    let started = thread::Builder::new().name("listener".to_owned()).spawn(listener);
    started.map(drop).map_err(|error| Fault::run(format!("nobody can listen to stdin: {error}")))
}

fn check(instance: &dyn Instance) -> Outcome<()> {
    instance.check().map_err(|wrong| Fault::run(format!("the answer is wrong: {wrong}")))
}

fn print(line: Line) -> Outcome<()> {
    say(&serde_json::to_string(&line).map_err(|error| Fault::run(error.to_string()))?)
}
