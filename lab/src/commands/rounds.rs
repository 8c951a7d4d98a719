//! `locksley rounds`: the co-run unit, and its one line.

use std::time::Duration;

use crate::cli;
use crate::corunner::{RoundsLine, Watch, wait_for_start};
use crate::fault::Outcome;
use crate::output::{say, say_line};
use crate::rounds::Round;
use crate::rounds::busy::{self, LOOP};
use crate::runtimes;

/// Behind a start gate, rounds are repeated for so long before the program says that it is ready.
const WARM_UP: Duration = Duration::from_millis(20);

pub(super) fn execute(arguments: &cli::Rounds) -> Outcome<()> {
    let name = &arguments.runtime;
    let runtime = (name != LOOP).then(|| runtimes::find(name)).transpose()?;
    let round = match runtime {
        Some(_) => arguments.round,
        None => Round { chunks: 1, serial: 0, ..arguments.round },
    };
    let round = round.validate()?;
    let workers = runtime.map_or(arguments.workers, |it| it.workers(arguments.workers));
    let crew = runtime.map(|it| it.start(workers)).transpose()?;
    let rounds = |time| match &crew {
        Some(crew) => round.repeat_on(crew, time),
        None => busy::repeat(workers, round.leaf, time),
    };
    if !arguments.gate {
        let rate = rounds(arguments.secs)?.per_second();
        return say(&format!(r#"{{"runtime":"{name}","P":{workers},"rounds_per_s":{rate:.2}}}"#));
    }
    rounds(WARM_UP)?;
    wait_for_start()?;
    let watch = Watch::start(crew.as_ref());
    let rate = rounds(arguments.secs)?;
    say_line(&RoundsLine {
        runtime: name.clone(),
        workers,
        rounds_per_s: rate.per_second(),
        rounds: rate.rounds,
        stretch: watch.stop(),
    })
}
