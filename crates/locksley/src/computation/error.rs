//! Why a computation is not complete.

use std::error::Error;
use std::fmt;

use super::member::Record;

/// A task that waits, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    task: String,
    waits_for: Vec<String>,
}

impl Waiting {
    pub(super) fn of(record: &Record) -> Self {
        Self { task: String::from(record.name()), waits_for: record.waits_for() }
    }

    /// The task's name.
    #[must_use]
    pub fn task(&self) -> &str {
        &self.task
    }

    /// The names of what it waits for. None, if nobody has its waker, or has it any more.
    #[must_use]
    pub fn waits_for(&self) -> &[String] {
        &self.waits_for
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' waits for ", self.task)?;
        match &*self.waits_for {
            [] => f.write_str("nothing that could wake it"),
            [one] => write!(f, "'{one}'"),
            [first, others @ ..] => {
                write!(f, "'{first}'")?;
                others.iter().try_for_each(|other| write!(f, " or '{other}'"))
            }
        }
    }
}

/// Why a computation is not complete. See [`run`](super::run) for an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Incomplete {
    /// All tasks that had not ended waited for each other. They were given up, and their futures dropped.
    Stuck(Vec<Waiting>),
    /// The pool was closed meanwhile, and cancelled tasks.
    Cancelled,
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stuck(waiting) => {
                f.write_str("no task of the computation can go on: ")?;
                for (n, one) in waiting.iter().enumerate() {
                    let comma = if n > 0 { ", " } else { "" };
                    write!(f, "{comma}{one}")?;
                }
                Ok(())
            }
            Self::Cancelled => f.write_str("the computation's pool was closed"),
        }
    }
}

impl Error for Incomplete {}
