//! What could not be measured. A program that fails, or does not end, leaves a gap with the reason in it, and all else is measured.

use serde::{Deserialize, Serialize};

use crate::record::Cell;

/// A measurement that failed, and was not tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Of what.
    #[serde(flatten)]
    pub cell: Cell,
    /// The how-manieth time, from 0: so often it had not failed.
    pub repeat: usize,
    /// Why.
    pub why: String,
}

impl Missing {
    /// In a line.
    pub fn line(&self) -> String {
        let Missing { cell: Cell { app, size, runtime, workers }, repeat, why } = self;
        let after = match repeat {
            0 => String::new(),
            1 => ", after one repetition".to_owned(),
            repeats => format!(", after {repeats} repetitions"),
        };
        format!("missing: {app} {size} on {runtime}, P = {workers}{after}: {why}")
    }
}

/// All of it as text, a line each.
pub(super) fn lines(missing: &[Missing]) -> String {
    missing.iter().map(|missing| missing.line() + "\n").collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Something that somebody might have measured.
    pub(crate) fn example() -> Missing {
        let [app, size, runtime] = ["stream", "9", "other"].map(str::to_owned);
        let cell = Cell { app, size, runtime, workers: 2 };
        Missing { cell, repeat: 0, why: "it ended <badly>".to_owned() }
    }

    #[test]
    fn a_line_says_what_and_why() {
        let [one, later] = [0, 1].map(|repeat| Missing { repeat, ..example() });
        assert_eq!(one.line(), "missing: stream 9 on other, P = 2: it ended <badly>");
        assert_eq!(lines(&[one, later]).lines().count(), 2);
        let third = Missing { repeat: 2, ..example() };
        assert!(third.line().contains("P = 2, after 2 repetitions: it"), "{}", third.line());
    }
}
