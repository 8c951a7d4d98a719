//! `locksley once`: one measurement of an experiment, in a process of its own.

use crate::cli;
use crate::experiment::Cell;
use crate::experiment::child::Answer;
use crate::experiments;
use crate::fault::{Fault, Outcome};
use crate::output::say_line;

pub(super) fn execute(arguments: cli::Once) -> Outcome<()> {
    let cli::Once { experiment, subject, runtime, workers, seed } = arguments;
    let found = experiments::find(&experiment)
        .ok_or_else(|| Fault::input(format!("there is no experiment '{experiment}'")))?;
    let answer = match (found.once)(&Cell { subject, runtime, workers, repeats: 1 }, seed) {
        Ok(readings) => Answer::Right(readings),
        // The process that has started this one ends its run.
        Err(Fault::Run(wrong)) => Answer::Wrong { wrong },
        Err(fault) => return Err(fault),
    };
    say_line(&answer)
}
