//! `locksley rounds`: the co-run unit, and its one line.

use crate::cli::{self, workers_or_default};
use crate::fault::Outcome;
use crate::output::say;
use crate::rounds::Round;
use crate::runtimes;

pub(super) fn execute(arguments: &cli::Rounds) -> Outcome<()> {
    let runtime = runtimes::find(&arguments.runtime)?;
    let round = Round { leaf: arguments.leaf, chunks: arguments.chunks, serial: arguments.serial }
        .validate()?;
    let workers = runtime.workers(workers_or_default(arguments.workers));
    let rate = round.repeat(runtime, workers, arguments.secs)?;
    say(&format!(
        r#"{{"runtime":"{}","P":{workers},"rounds_per_s":{:.2}}}"#,
        runtime.name,
        rate.per_second()
    ))
}
