//! `locksley sleeper`: the interactive process of `neighbour`, and its one line.

use crate::cli;
use crate::experiments::neighbour::readings;
use crate::experiments::neighbour::sleeper::{Naps, sleep_and_wake};
use crate::fault::{Fault, Outcome};
use crate::output::say_line;

pub(super) fn execute(arguments: &cli::Sleeper) -> Outcome<()> {
    let naps = Naps { period: arguments.period, jitter: arguments.jitter, steps: arguments.steps };
    if naps.jitter > naps.period / 2 {
        return Err(Fault::input(
            "the deadlines come in order only if --jitter is at most half of --period",
        ));
    }
    let notes = sleep_and_wake(naps, arguments.seed, arguments.secs);
    say_line(&readings(notes))
}
