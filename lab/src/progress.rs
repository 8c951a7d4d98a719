//! How far a long run is: a bar on a terminal, a few plain lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::note;

/// The progress of a run of a known number of steps.
pub struct Progress {
    bar: ProgressBar,
    on_terminal: bool,
    name: &'static str,
    start: Instant,
}

impl Progress {
    /// Begins a run of `steps`, of which `done` have been done before.
    pub fn start(name: &'static str, steps: usize, done: usize) -> Progress {
        let on_terminal = stderr().is_terminal();
        let target =
            if on_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
        let style =
            ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {elapsed} {wide_msg}")
                .expect("a template that is known to be well formed");
        bar.set_style(style.progress_chars("=> "));
        bar.set_prefix(name);
        bar.set_position(done as u64);
        Progress { bar, on_terminal, name, start: Instant::now() }
    }

    /// Says what is done next.
    pub fn next(&self, what: impl FnOnce() -> String) {
        // Nothing is drawn while something is measured: the bar has no thread of its own.
        if self.on_terminal {
            self.bar.set_message(what());
        }
    }

    /// Says that a step is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// News: a line above the bar on a terminal, a plain line elsewhere.
    pub fn news(&self, text: &str) {
        if self.on_terminal {
            self.bar.println(format!("{}: {text}", self.name));
        } else {
            note(&format!("{}: {text}", self.name));
        }
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
