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

/// What is measured: an application with its size, and the surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject<'a> {
    pub(super) app: &'a str,
    pub(super) setting: Setting,
}

impl<'a> Subject<'a> {
    /// Reads what [`fmt::Display`] writes.
    pub(super) fn parse(text: &'a str) -> Outcome<Subject<'a>> {
        let quota = |text: &str| {
            let hundredths = text.parse().ok().filter(|n| (5..=100_000).contains(n));
            hundredths.ok_or_else(|| Fault::input(format!("'{text}' is not a quota")))
        };
        let (app, setting) = match (text.strip_suffix(" beside cycler"), text.split_once(" under "))
        {
            (Some(app), _) => (app, Setting::Beside),
            (None, Some((app, hundredths))) => (app, Setting::Under(quota(hundredths)?)),
            (None, None) => (text, Setting::Alone),
        };
        let (found, size) = prepared::app_and_size(app)?;
        apps::problem(found, size)?;
        Ok(Subject { app, setting })
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.setting {
            Setting::Alone => write!(f, "{}", self.app),
            Setting::Beside => write!(f, "{} beside cycler", self.app),
            Setting::Under(hundredths) => write!(f, "{} under {hundredths}", self.app),
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
        for setting in [Setting::Alone, Setting::Beside, Setting::Under(150)] {
            let subject = Subject { app: "msort 10K", setting };
            let name = subject.to_string();
            assert_eq!(Subject::parse(&name).unwrap(), subject);
        }
        for wrong in [
            "msort many",
            "msort 10K under",
            "msort 10K under x",
            "msort 10K under 1",
            "msort many under 100",
            "nothing 1",
        ] {
            assert!(matches!(Subject::parse(wrong), Err(Fault::Input(_))), "{wrong}");
        }
    }
}
