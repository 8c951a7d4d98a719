//! `locksley top`: what the workers of a running program do.

use crate::cli;
use crate::fault::Outcome;
use crate::output::{say, say_line};
use crate::top::{self, Sample};

pub(super) fn execute(arguments: &cli::Top) -> Outcome<()> {
    let process = top::find(arguments.process)?;
    if !arguments.once {
        return top::watch(process, arguments.interval);
    }
    let sample = Sample::read(&locksley_trace::live_file(process), arguments.interval)?;
    if arguments.json {
        return say_line(&sample);
    }
    for it in &sample.workers {
        let label = it.label.as_deref().unwrap_or("-");
        let [busy, searching, asleep] = [it.busy, it.searching, it.asleep].map(|it| 100.0 * it);
        say(&format!(
            "{:<16} {:<10} {label:<20} busy {busy:.0}%, search {searching:.0}%, asleep \
             {asleep:.0}%",
            it.name, it.state
        ))?;
    }
    Ok(())
}
