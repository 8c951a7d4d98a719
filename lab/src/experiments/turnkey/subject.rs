//! What is measured, and with which runtimes and numbers of workers.

use std::fmt;

use locksley::Pool;

use crate::apps;
use crate::experiment::prepared;
use crate::fault::{Fault, Outcome};
use crate::machine::MOST_WORKERS;
use crate::runtimes::{self, Crew};

/// A runtime with a number of workers; with 0 it chooses the number itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Contestant<'a> {
    pub(super) runtime: &'a str,
    pub(super) workers: usize,
}

/// The pool that chooses its number of workers.
pub(super) const TURNKEY: Contestant<'static> = fixed(0);

/// The same pool with a given number.
pub(super) const fn fixed(workers: usize) -> Contestant<'static> {
    Contestant { runtime: "locksley", workers }
}

impl<'a> Contestant<'a> {
    /// Reads `RUNTIME:P`.
    pub(super) fn parse(text: &'a str) -> Outcome<Contestant<'a>> {
        let parsed = text.split_once(':').and_then(|(runtime, workers)| {
            let found = Contestant { runtime, workers: workers.parse().ok()? };
            let is_number = (1..=MOST_WORKERS).contains(&found.workers);
            let is_known = is_number && runtimes::find(runtime).is_ok() || found == TURNKEY;
            is_known.then_some(found)
        });
        parsed.ok_or_else(|| Fault::input(format!("'{text}' is not RUNTIME:P")))
    }

    /// Starts its workers.
    pub(super) fn start(self) -> Outcome<Crew> {
        if self == TURNKEY {
            let pool = Pool::builder().build().map_err(|error| Fault::run(error.to_string()))?;
            return Ok(Crew::Locksley(pool));
        }
        runtimes::find(self.runtime)?.start(self.workers)
    }

    /// Whether it is Locksley's pool with a given number.
    pub(super) fn is_fixed(self) -> bool {
        self.runtime == TURNKEY.runtime && self.workers > 0
    }

    /// Its name in tables.
    pub(super) fn words(self) -> String {
        match self {
            TURNKEY => "turnkey".to_owned(),
            one if one.is_fixed() => format!("P = {}", one.workers),
            one => format!("{} {}", one.runtime, one.workers),
        }
    }
}

impl fmt::Display for Contestant<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.runtime, self.workers)
    }
}

/// In which surroundings an application runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    Alone,
    /// Beside a cycler, which takes processors away.
    Beside,
    /// In a control group that may use so many hundredths of a processor.
    Under(u64),
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject<'a> {
    /// An application with its size: the time of a computation.
    App(&'a str, Setting),
    /// A program with a parallelism that changes: how many workers are awake.
    Phases,
    /// Rounds under a quota of so many hundredths of a processor, and how late a thread wakes.
    Quota(u64),
    /// A program that is moved between control groups: how soon the pool follows.
    Moved,
}

impl<'a> Subject<'a> {
    /// Reads what [`fmt::Display`] writes.
    pub(super) fn parse(text: &'a str) -> Outcome<Subject<'a>> {
        let quota = |text: &str| {
            let hundredths = text.parse().ok().filter(|n| (5..=100_000).contains(n));
            hundredths.ok_or_else(|| Fault::input(format!("'{text}' is not a quota")))
        };
        match text {
            "phases" => return Ok(Subject::Phases),
            "moved" => return Ok(Subject::Moved),
            _ => {}
        }
        if let Some(hundredths) = text.strip_prefix("quota ") {
            return Ok(Subject::Quota(quota(hundredths)?));
        }
        let (app, setting) = match (text.strip_suffix(" beside cycler"), text.split_once(" under "))
        {
            (Some(app), _) => (app, Setting::Beside),
            (None, Some((app, hundredths))) => (app, Setting::Under(quota(hundredths)?)),
            (None, None) => (text, Setting::Alone),
        };
        let (found, size) = prepared::app_and_size(app)?;
        apps::problem(found, size)?;
        Ok(Subject::App(app, setting))
    }

    /// Whether all contestants are measured in one process, with the same input.
    pub(super) fn is_measured_in_turn(self) -> bool {
        matches!(self, Subject::App(..))
    }

    /// Whether it runs under a quota that does not change.
    pub(super) fn is_under(self) -> bool {
        matches!(self, Subject::App(_, Setting::Under(_)) | Subject::Quota(_))
    }

    /// Whether a control group is needed.
    pub(super) fn needs_group(self) -> bool {
        self.is_under() || self == Subject::Moved
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::App(app, Setting::Alone) => write!(f, "{app}"),
            Subject::App(app, Setting::Beside) => write!(f, "{app} beside cycler"),
            Subject::App(app, Setting::Under(hundredths)) => write!(f, "{app} under {hundredths}"),
            Subject::Phases => write!(f, "phases"),
            Subject::Quota(hundredths) => write!(f, "quota {hundredths}"),
            Subject::Moved => write!(f, "moved"),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Alone => write!(f, "alone"),
            Setting::Beside => write!(f, "beside a cycler"),
            Setting::Under(hundredths) => {
                write!(f, "under a quota of {:.2}", *hundredths as f64 / 100.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_contestant_is_found_by_its_name_and_has_its_workers() {
        let other = |runtime, workers| Contestant { runtime, workers };
        let all = [
            (TURNKEY, "turnkey"),
            (fixed(2), "P = 2"),
            (other("locksley-awake", 3), "locksley-awake 3"),
            (other("rayon", 1), "rayon 1"),
        ];
        for (contestant, words) in all {
            assert_eq!(contestant.words(), words);
            assert_eq!(Contestant::parse(&contestant.to_string()).unwrap(), contestant);
            let workers = match contestant.start().unwrap() {
                Crew::Locksley(pool) => pool.workers(),
                Crew::Rayon(pool) => pool.current_num_threads(),
                _ => panic!("{words}"),
            };
            assert!(workers == contestant.workers || contestant == TURNKEY, "{words}");
        }
        for text in ["rayon:0", "rayon", "2", "other:2", "rayon:x", "locksley:9999999", ""] {
            assert!(matches!(Contestant::parse(text), Err(Fault::Input(_))), "{text}");
        }
    }

    #[test]
    fn a_subject_is_found_by_its_name() {
        let app = |setting| Subject::App("msort 10K", setting);
        let apps = [Setting::Alone, Setting::Beside, Setting::Under(150)].map(app);
        for subject in
            apps.into_iter().chain([Subject::Phases, Subject::Quota(150), Subject::Moved])
        {
            let name = subject.to_string();
            assert_eq!(Subject::parse(&name).unwrap(), subject);
            let is_limited = name.contains("150") || subject == Subject::Moved;
            assert_eq!(subject.needs_group(), is_limited, "{name}");
            assert_eq!(subject.is_measured_in_turn(), name.starts_with("msort"), "{name}");
        }
        for wrong in [
            "msort many",
            "msort 10K under",
            "msort 10K under x",
            "msort 10K under 1",
            "msort many under 100",
            "quota 0",
            "quota x",
            "nothing 1",
        ] {
            assert!(matches!(Subject::parse(wrong), Err(Fault::Input(_))), "{wrong}");
        }
    }
}
