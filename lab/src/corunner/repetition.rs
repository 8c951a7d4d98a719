//! One application, prepared once and computed again and again until a line says stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::{Stretch, Watch, stop_when_told, wait_for_start};
use crate::apps::Instance;
use crate::clock;
use crate::fault::{Fault, Outcome};
use crate::output::say_line;
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

/// Computes `instance` on `crew` once, says that it is ready, and begins when a line comes in on
/// stdin. Prints a [`Line`] after each computation, at least one. After another line, or the end of
/// stdin, it finishes the computation that it is at, prints the last [`Line`], and checks the
/// answer once stdin has ended: others may still be measured.
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
        say_line(&Line::Computation(Repetition { begun, ended: clock::now() }))?;
        if told.load(Ordering::Relaxed) {
            break;
        }
    }
    say_line(&Line::End(watch.stop()))?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map_err(Fault::run)?;
    check(instance)
}

fn check(instance: &dyn Instance) -> Outcome<()> {
    instance.check().map_err(|wrong| Fault::run(format!("the answer is wrong: {wrong}")))
}
