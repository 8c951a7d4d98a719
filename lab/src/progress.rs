//! How far a long run is: a bar on a terminal, a few plain lines elsewhere.

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::output::note;

/// The progress of a run of a known number of steps. Its bar is hidden where there is no terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// Begins a run of `steps`, of which `done` have been done before.
    pub fn start(name: &'static str, steps: usize, done: usize) -> Progress {
        let style =
            ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {elapsed} {wide_msg}")
                .expect("a template that is known to be well formed");
        let bar = ProgressBar::new(steps as u64).with_style(style.progress_chars("=> "));
        let bar = bar.with_prefix(name).with_position(done as u64);
        Progress(bar.with_finish(ProgressFinish::AndClear))
    }

    /// Says what is done next.
    pub fn next(&self, what: impl FnOnce() -> String) {
        // Nothing is drawn while something is measured: the bar has no thread of its own.
        if !self.0.is_hidden() {
            self.0.set_message(what());
        }
    }

    /// Says that a step is done.
    pub fn step(&self) {
        self.0.inc(1);
    }

    /// News: a line above the bar on a terminal, a plain line elsewhere.
    pub fn news(&self, text: &str) {
        let line = format!("{}: {text}", self.0.prefix());
        match self.0.is_hidden() {
            true => note(&line),
            false => self.0.println(line),
        }
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}
