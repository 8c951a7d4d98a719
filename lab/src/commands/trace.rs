//! `locksley trace FILE`: a recording as text, as a page, or for Perfetto.

use locksley_trace::{Timeline, Trace, perfetto};

use crate::cli;
use crate::fault::{Fault, Outcome};
use crate::files;
use crate::output::say;
use crate::trace;

pub(super) fn execute(arguments: &cli::Trace) -> Outcome<()> {
    let cli::Trace { file, summary, perfetto, html } = arguments;
    let recorded = Trace::read(file).map_err(Fault::input)?;
    for output in perfetto.iter().chain(html) {
        if files::are_one(output, file) {
            return Err(Fault::input(format!("{} is the recording itself", output.display())));
        }
        files::check_writable(output)?;
    }
    let timeline = Timeline::new(&recorded);
    if let Some(path) = perfetto {
        let mut content = Vec::new();
        perfetto::write(&timeline, &recorded.program, recorded.process, &mut content)
            .map_err(Fault::run)?;
        files::replace(path, content).map_err(Fault::input)?;
    }
    if let Some(path) = html {
        files::replace(path, trace::page(&recorded, &timeline)).map_err(Fault::input)?;
    }
    if *summary || (perfetto.is_none() && html.is_none()) {
        say(&trace::summary(&recorded, &timeline))?;
    }
    Ok(())
}
