//! What can be measured.

use crate::apps;
use crate::fault::{Fault, Outcome};

/// The number of workers that stands for: nobody says it.
pub const TURNKEY: usize = 0;

const PHASES: &str = "phases";
const QUOTA: &str = "quota";
const MOVED: &str = "moved";
/// What follows the size of an application that runs beside a cycler.
const BESIDE: &str = " beside cycler";

/// What is measured once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// An application: the time of a computation.
    App {
        /// Its name.
        app: String,
        /// Its parameters.
        size: String,
        /// Whether a cycler takes processors away meanwhile.
        beside: bool,
    },
    /// A program whose parallelism changes: how many workers are awake.
    Phases,
    /// Rounds under a quota: their rate, and how late a thread wakes.
    Quota {
        /// Of a processor.
        hundredths: u64,
    },
    /// A program that is moved between control groups: how soon the pool follows.
    Moved,
}

impl Subject {
    /// What `kind` and `size` name.
    pub fn find(kind: &str, size: &str) -> Outcome<Subject> {
        let wrong = || Fault::input(format!("there is no {kind} of size '{size}'"));
        match kind {
            PHASES => Ok(Subject::Phases),
            MOVED => Ok(Subject::Moved),
            QUOTA => {
                let hundredths = size.parse().ok().filter(|n| (5..=100_000).contains(n));
                Ok(Subject::Quota { hundredths: hundredths.ok_or_else(wrong)? })
            }
            _ => {
                let parameters = size.strip_suffix(BESIDE);
                let size = parameters.unwrap_or(size);
                apps::problem(apps::find(kind)?, size)?;
                let (app, size, beside) = (kind.to_owned(), size.to_owned(), parameters.is_some());
                Ok(Subject::App { app, size, beside })
            }
        }
    }

    /// By which names it is found.
    pub fn names(&self) -> (String, String) {
        match self {
            Subject::App { app, size, beside } => {
                (app.clone(), format!("{size}{}", if *beside { BESIDE } else { "" }))
            }
            Subject::Phases => (PHASES.to_owned(), "1, 4, 64".to_owned()),
            Subject::Quota { hundredths } => (QUOTA.to_owned(), hundredths.to_string()),
            Subject::Moved => (MOVED.to_owned(), "1".to_owned()),
        }
    }

    /// Whether a control group is needed.
    pub fn needs_group(&self) -> bool {
        matches!(self, Subject::Quota { .. } | Subject::Moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_found_by_its_names() {
        let app = |beside| {
            let (app, size) = ("msort".to_owned(), "10K".to_owned());
            Subject::App { app, size, beside }
        };
        let quota = Subject::Quota { hundredths: 150 };
        for subject in [app(false), app(true), Subject::Phases, quota, Subject::Moved] {
            let (kind, size) = subject.names();
            assert_eq!(Subject::find(&kind, &size).unwrap(), subject);
        }
        for (kind, size) in [("msort", "many"), ("quota", "0"), ("quota", "x"), ("nothing", "1")] {
            assert!(matches!(Subject::find(kind, size), Err(Fault::Input(_))), "{kind} {size}");
        }
    }
}
