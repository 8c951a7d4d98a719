//! What can go wrong: in the request, or in the run. That decides the exit code.

use std::fmt::Display;
use std::process::ExitCode;

/// A failure that ends the program with one line on stderr.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub enum Fault {
    /// The request cannot be carried out as it stands; found before any work starts. Exit code 2.
    Input(String),
    /// The work was started and failed, or its answer is wrong. Exit code 1.
    Run(String),
    /// A measurement cannot be taken. A run of an experiment notes why, and goes on. Exit code 1.
    Missing(String),
}

/// The usual result of whatever the command line reaches.
pub type Outcome<T> = Result<T, Fault>;

/// Checks an answer.
///
/// # Errors
///
/// [`Fault::Run`] if it is not the `expected` one.
pub fn right<T: PartialEq + Display>(found: T, expected: T) -> Outcome<()> {
    match found == expected {
        true => Ok(()),
        false => Err(Fault::Run(format!("the answer is wrong: {found}, and not {expected}"))),
    }
}

impl Fault {
    /// A fault of the request.
    pub fn input(message: impl ToString) -> Self {
        Fault::Input(message.to_string())
    }

    /// A fault of the work itself.
    pub fn run(message: impl ToString) -> Self {
        Fault::Run(message.to_string())
    }

    /// The process's exit code for this fault.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Fault::Input(_) => ExitCode::from(2),
            Fault::Run(_) | Fault::Missing(_) => ExitCode::from(1),
        }
    }
}
