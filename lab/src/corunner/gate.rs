//! The start gate: programs of a co-run begin together.

use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::fault::{Fault, Outcome};
use crate::output::say;

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
