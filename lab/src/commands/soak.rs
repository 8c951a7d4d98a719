//! `locksley soak`: what was run, on lines for people and in a file.

use crate::cli;
use crate::fault::Outcome;

#[cfg(target_os = "linux")]
pub(super) fn execute(arguments: &cli::Soak) -> Outcome<()> {
    use std::time::Duration;

    use crate::fault::Fault;
    use crate::soak::subject;
    use crate::{files, output};

    let time = Duration::from_secs(if arguments.quick { 10 } else { 60 });
    let time = arguments.secs.unwrap_or(time);
    if let Some(workers) = arguments.subject {
        return subject::run(workers, time, arguments.seed, arguments.inject.as_deref());
    }
    if let Some(path) = &arguments.json {
        files::check_writable(path)?;
    }
    let report = arguments.run(time)?;
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&report);
        files::replace(path, text.map_err(Fault::run)?)?;
    }
    output::say(&report.text())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn execute(_: &cli::Soak) -> Outcome<()> {
    Err(crate::fault::Fault::input("a soak needs Linux"))
}
