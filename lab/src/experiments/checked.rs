//! What a process says that checks its answers itself.

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Outcome};

/// What it read, if its answers are right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked<R> {
    /// What was measured.
    Read(R),
    /// The answer is wrong: how.
    Wrong(String),
}

/// What `found` has read, if that `is_sound`; else why there is nothing. A wrong answer is a fault.
pub(super) fn reading<R>(
    found: Result<Checked<R>, String>,
    is_sound: impl FnOnce(&R) -> bool,
) -> Outcome<Result<R, String>> {
    match found {
        Err(why) => Ok(Err(why)),
        Ok(Checked::Wrong(wrong)) => Err(Fault::run(format!("the answer is wrong: {wrong}"))),
        Ok(Checked::Read(reading)) if is_sound(&reading) => Ok(Ok(reading)),
        Ok(Checked::Read(_)) => Ok(Err("it answered something else".to_owned())),
    }
}
