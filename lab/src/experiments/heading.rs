//! What stands above the tables of experiments.

use crate::machine::Machine;

/// The machine, the seed, and when the record was complete: a line.
pub(super) fn heading(machine: &Machine, seed: u64, finished: &str) -> String {
    format!(
        "{} processors ({}), {}, seed {seed}, {finished}\n",
        machine.capacity(),
        machine.processor,
        machine.kernel
    )
}

/// A line that says how much others took, if that is worth a word.
pub(super) fn disturbance(taken: Option<f64>) -> String {
    let line = |taken| {
        format!("NOTE: others took {taken:.2} processors meanwhile; all figures suffer from that\n")
    };
    taken.map_or(String::new(), line)
}
