//! What the workers of a running program do: samples of its live recording, once or again and
//! again.

mod sample;
mod screen;

use itertools::Itertools;

use crate::fault::{Fault, Outcome};

pub use sample::Sample;
pub use screen::watch;

/// The process, or the only one, if it has a live recording.
///
/// # Errors
///
/// [`Fault::Input`] if there is none, or several.
pub fn find(process: Option<u32>) -> Outcome<u32> {
    let hint = "programs that call locksley_trace::init, or use the drop-in or the OpenMP library, \
                record with LOCKSLEY_TRACE=live";
    if let Some(process) = process {
        if locksley_trace::live_file(process).exists() {
            return Ok(process);
        }
        return Err(Fault::input(format!("process {process} has no live recording: {hint}")));
    }
    match &locksley_trace::live_processes()[..] {
        [] => Err(Fault::input(format!("no process has a live recording: {hint}"))),
        [process] => Ok(*process),
        several => Err(Fault::input(format!("which process of {}?", several.iter().join(", ")))),
    }
}
