//! `locksley trace FILE`: a recording as text, as a page, or for Perfetto.

use std::path::PathBuf;

use locksley_trace::{Timeline, Trace, perfetto};

use crate::cli;
use crate::fault::{Fault, Outcome};
use crate::files;
use crate::output::say;
use crate::trace;

pub(super) fn execute(arguments: &cli::Trace) -> Outcome<()> {
    let cli::Trace { file, summary, perfetto, html } = arguments;
    let recorded = Trace::read(file).map_err(Fault::input)?;
    files::check_outputs(file, perfetto.iter().chain(html).map(PathBuf::as_path))?;
    let timeline = Timeline::new(&recorded);
    if let Some(path) = perfetto {
        let mut content = Vec::new();
        perfetto::write(&timeline, &recorded.program, recorded.process, &mut content)
            .map_err(Fault::run)?;
        files::replace(path, content)?;
    }
    if let Some(path) = html {
        files::replace(path, trace::page(&recorded, &timeline))?;
    }
    if *summary || (perfetto.is_none() && html.is_none()) {
        say(&trace::summary(&recorded, &timeline))?;
    }
    Ok(())
}
