//! A program that takes processors away.

use std::process::{Child, Command, Stdio};

use crate::fault::{Fault, Outcome};
use crate::machine::Machine;

/// w of the cycler: some hundred milliseconds at the most.
const INCREMENTS: &str = "500";
/// It ends by itself if nobody ends it.
const AT_MOST: &str = "120";

/// Another process, which takes processors away until this is dropped.
pub(super) struct Cycler(Child);

impl Cycler {
    /// One with as many workers as there are processors. How many it releases, and for how long, follows from the seed.
    pub(super) fn start(seed: u64) -> Outcome<Cycler> {
        let fault = |error| Fault::run(format!("the cycler cannot be started: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(fault)?);
        let workers = Machine::here().processors.to_string();
        command.args(["cycler", "--workers", &workers, "--increments", INCREMENTS]);
        command.args(["--secs", AT_MOST, "--seed", &seed.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(Cycler).map_err(fault)
    }
}

impl Drop for Cycler {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
