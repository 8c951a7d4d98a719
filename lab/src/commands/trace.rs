//! `locksley trace FILE`: a recording as text, as a page, or for Perfetto.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

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
        write(path, |to| perfetto::write(&timeline, &recorded.program, recorded.process, to))?;
    }
    if let Some(path) = html {
        write(path, |to| to.write_all(trace::page(&recorded, &timeline).as_bytes()))?;
    }
    if *summary || (perfetto.is_none() && html.is_none()) {
        say(&trace::summary(&recorded, &timeline))?;
    }
    Ok(())
}

/// Writes a file. If that fails, there is none.
fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Outcome<()> {
    let written = File::create(path).map(BufWriter::new).and_then(|mut to| {
        content(&mut to)?;
        to.flush()
    });
    written.map_err(|error| {
        if path.is_file() {
            let _ = fs::remove_file(path);
        }
        Fault::input(format!("cannot write {}: {error}", path.display()))
    })
}
