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
/// What stands between the size of an application and the quota under which it runs.
const UNDER: &str = " under ";

/// In which surroundings an application runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Nobody else wants the machine.
    Alone,
    /// A cycler takes processors away.
    Beside,
    /// In a control group that may use so many hundredths of a processor.
    Under(u64),
}

/// What is measured once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// An application: the time of a computation.
    App {
        /// Its name.
        app: String,
        /// Its parameters.
        size: String,
        /// What else there is.
        setting: Setting,
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
        let quota = |text: &str| {
            let hundredths = text.parse().ok().filter(|n| (5..=100_000).contains(n));
            hundredths.ok_or_else(wrong)
        };
        match kind {
            PHASES => Ok(Subject::Phases),
            MOVED => Ok(Subject::Moved),
            QUOTA => Ok(Subject::Quota { hundredths: quota(size)? }),
            _ => {
                let (size, setting) = match (size.strip_suffix(BESIDE), size.split_once(UNDER)) {
                    (Some(size), _) => (size, Setting::Beside),
                    (None, Some((size, hundredths))) => (size, Setting::Under(quota(hundredths)?)),
                    (None, None) => (size, Setting::Alone),
                };
                apps::problem(apps::find(kind)?, size)?;
                let (app, size) = (kind.to_owned(), size.to_owned());
                Ok(Subject::App { app, size, setting })
            }
        }
    }

    /// By which names it is found.
    pub fn names(&self) -> (String, String) {
        match self {
            Subject::App { app, size, setting } => {
                let size = match setting {
                    Setting::Alone => size.clone(),
                    Setting::Beside => format!("{size}{BESIDE}"),
                    Setting::Under(hundredths) => format!("{size}{UNDER}{hundredths}"),
                };
                (app.clone(), size)
            }
            Subject::Phases => (PHASES.to_owned(), "1, 4, 64".to_owned()),
            Subject::Quota { hundredths } => (QUOTA.to_owned(), hundredths.to_string()),
            Subject::Moved => (MOVED.to_owned(), "1".to_owned()),
        }
    }

    /// Whether all contestants have their turns in one process: they have the same input there, in the same places of memory.
    pub fn is_measured_in_turn(&self) -> bool {
        matches!(self, Subject::App { .. })
    }

    /// Whether it goes on under a quota that stays.
    pub fn is_under(&self) -> bool {
        matches!(self, Subject::App { setting: Setting::Under(_), .. } | Subject::Quota { .. })
    }

    /// Whether a control group is needed.
    pub fn needs_group(&self) -> bool {
        matches!(
            self,
            Subject::Quota { .. }
                | Subject::Moved
                | Subject::App { setting: Setting::Under(_), .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_found_by_its_names() {
        let app = |setting| {
            let (app, size) = ("msort".to_owned(), "10K".to_owned());
            Subject::App { app, size, setting }
        };
        let apps = [Setting::Alone, Setting::Beside, Setting::Under(150)].map(app);
        let quota = Subject::Quota { hundredths: 150 };
        for subject in apps.into_iter().chain([Subject::Phases, quota, Subject::Moved]) {
            let (kind, size) = subject.names();
            assert_eq!(Subject::find(&kind, &size).unwrap(), subject);
            let is_limited = size.contains("150") || subject == Subject::Moved;
            assert_eq!(subject.needs_group(), is_limited, "{size}");
            assert_eq!(subject.is_measured_in_turn(), kind == "msort", "{size}");
        }
        for (kind, size) in [
            ("msort", "many"),
            ("msort", "10K under"),
            ("msort", "10K under x"),
            ("msort", "10K under 1"),
            ("msort", "many under 100"),
            ("quota", "0"),
            ("quota", "x"),
            ("nothing", "1"),
        ] {
            assert!(matches!(Subject::find(kind, size), Err(Fault::Input(_))), "{kind} {size}");
        }
    }
}
