//! `locksley cycler`: the co-runner of the Hood papers, and its one line.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::cli;
use crate::corunner::{CyclerLine, Watch, stop_when_told, wait_for_start};
use crate::fault::{Fault, Outcome};
use crate::output::say_line;

pub(super) fn execute(arguments: &cli::Cycler) -> Outcome<()> {
    let stop = stopped_by_signals()?;
    if arguments.gate {
        wait_for_start()?;
        stop_when_told(&stop)?;
    }
    let watch = Watch::start(None);
    let mut done = arguments.cycler.run(&stop)?;
    if !arguments.gate {
        done.stamps.clear();
    }
    say_line(&CyclerLine { done, stretch: watch.stop() })
}

/// A flag that is set when the process is asked to end, or interrupted from the keyboard.
fn stopped_by_signals() -> Outcome<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Fault::run(format!("cannot listen to signals: {error}")))?;
    }
    Ok(stop)
}
