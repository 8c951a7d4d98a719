//! Recordings of an experiment's runs, in one folder.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use locksley_trace::{Recorder, Recording};

use crate::fault::{Fault, Outcome};
use crate::files;

/// The option of experiments that can record their runs.
#[derive(Debug, Clone, Default, Args)]
pub struct TraceFolder {
    /// Record what workers did in each run into this folder: see `locksley trace`. It costs some
    /// speed
    #[arg(long = "trace", value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl TraceFolder {
    /// Makes the folder, and has pools traced, if recordings are asked for.
    pub fn prepare(&self) -> Outcome<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        files::make_folder(folder)?;
        locksley_trace::trace_all_pools();
        Ok(())
    }

    /// Has a program, which is about to be started, record itself. `%p` in the name stands for the
    /// number of its process.
    pub fn record_program(&self, command: &mut Command, run: &str) {
        if let Some(file) = self.file(&format!("{run} %p")) {
            command.env("LOCKSLEY_TRACE", file);
        }
    }

    /// Records this program until the result is dropped. A later run of the same name replaces the
    /// recording.
    pub fn record(&self, run: &str) -> Outcome<Option<Recording>> {
        let recording = self.file(run).map(|file| Recorder::new().record_to(file));
        recording.transpose().map_err(Fault::run)
    }

    fn file(&self, run: &str) -> Option<PathBuf> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-.%".contains(c);
        let name: String = run.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        Some(self.folder.as_ref()?.join(format!("{name}.trace")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_a_file_whatever_its_name() {
        let folder = TraceFolder { folder: Some("out".into()) };
        let file = folder.file("lu n=500/par+loop %p").unwrap();
        assert_eq!(file, PathBuf::from("out/lu_n_500_par+loop_%p.trace"));
        assert_eq!(TraceFolder::default().file("x"), None);
    }
}
