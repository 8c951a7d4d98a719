//! `locksley rounds`: the co-run unit, and its one line.

use std::time::Duration;

use crate::cli;
use crate::corunner::{RoundsLine, Watch, wait_for_start};
use crate::fault::Outcome;
use crate::output::say;
use crate::output::say_line;
use crate::rounds::busy::{self, LOOP};
use crate::rounds::{Rate, Round};
use crate::runtimes::{self, Crew};

/// Behind a start gate, rounds are repeated for so long before the program says that it is ready.
const WARM_UP: Duration = Duration::from_millis(20);

pub(super) fn execute(arguments: &cli::Rounds) -> Outcome<()> {
    let asked = arguments.workers;
    let round = arguments.round;
    if arguments.runtime == LOOP {
        let leaf = Round { chunks: 1, serial: 0, ..round }.validate()?.leaf;
        return repeat(arguments, LOOP, asked, None, |time| busy::repeat(asked, leaf, time));
    }
    let runtime = runtimes::find(&arguments.runtime)?;
    let round = round.validate()?;
    let workers = runtime.workers(asked);
    let crew = runtime.start(workers)?;
    repeat(arguments, runtime.name, workers, Some(&crew), |time| round.repeat_on(&crew, time))
}

fn repeat(
    arguments: &cli::Rounds,
    runtime: &str,
    workers: usize,
    crew: Option<&Crew>,
    rounds: impl Fn(Duration) -> Outcome<Rate>,
) -> Outcome<()> {
    if !arguments.gate {
        let rate = rounds(arguments.secs)?.per_second();
        return say(&format!(
            r#"{{"runtime":"{runtime}","P":{workers},"rounds_per_s":{rate:.2}}}"#
        ));
    }
    rounds(WARM_UP)?;
    wait_for_start()?;
    let watch = Watch::start(crew);
    let rate = rounds(arguments.secs)?;
    let line = RoundsLine {
        runtime: runtime.to_owned(),
        workers,
        rounds_per_s: rate.per_second(),
        rounds: rate.rounds,
        stretch: watch.stop(),
    };
    say_line(&line)
}
