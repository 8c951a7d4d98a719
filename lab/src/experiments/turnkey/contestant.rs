//! What is compared: a runtime with a number of workers.

use std::fmt;

use locksley::Pool;
use serde::{Deserialize, Serialize};

use super::once::TURNKEY;
use crate::fault::{Fault, Outcome};
use crate::runtimes::{self, Crew, MOST_WORKERS};

/// The runtime that nobody has to say a number of workers.
pub const LOCKSLEY: &str = "locksley";

/// A runtime with so many workers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contestant {
    /// The runtime's name. (The first records know one only, and do not say it.)
    #[serde(default = "locksley")]
    pub runtime: String,
    /// How many; [`TURNKEY`] where nobody says it.
    pub workers: usize,
}

fn locksley() -> String {
    LOCKSLEY.to_owned()
}

impl Contestant {
    /// The pool to which nobody says how many workers to have.
    pub fn turnkey() -> Contestant {
        Contestant::fixed(TURNKEY)
    }

    /// The same pool, with a number that somebody chose.
    pub fn fixed(workers: usize) -> Contestant {
        Contestant::on(LOCKSLEY, workers)
    }

    /// That runtime with so many workers.
    pub fn on(runtime: &str, workers: usize) -> Contestant {
        Contestant { runtime: runtime.to_owned(), workers }
    }

    /// What `RUNTIME:P` names.
    pub fn find(text: &str) -> Outcome<Contestant> {
        let wrong = || Fault::input(format!("'{text}' is no RUNTIME:P"));
        let (runtime, workers) = text.split_once(':').ok_or_else(wrong)?;
        let found = Contestant::on(runtime, workers.parse().map_err(|_| wrong())?);
        found.is_one().then_some(found).ok_or_else(wrong)
    }

    /// Whether there is such a runtime, and whether it can have so many.
    pub(super) fn is_one(&self) -> bool {
        let is_number = (1..=MOST_WORKERS).contains(&self.workers);
        is_number && runtimes::find(&self.runtime).is_ok() || *self == Contestant::turnkey()
    }

    /// Whether it is ours with a number that somebody chose.
    pub fn is_fixed(&self) -> bool {
        self.runtime == LOCKSLEY && self.workers != TURNKEY
    }

    /// Starts its workers.
    pub(super) fn start(&self) -> Outcome<Crew> {
        if *self == Contestant::turnkey() {
            let pool = Pool::builder().build().map_err(|error| Fault::run(error.to_string()))?;
            return Ok(Crew::Locksley(pool));
        }
        runtimes::find(&self.runtime)?.start(self.workers)
    }

    /// What it is called where all are told apart: ours by the number alone.
    pub fn words(&self) -> String {
        match (&self.runtime[..], self.workers) {
            (LOCKSLEY, TURNKEY) => "turnkey".to_owned(),
            (LOCKSLEY, workers) => format!("P = {workers}"),
            (runtime, workers) => format!("{runtime} {workers}"),
        }
    }
}

impl fmt::Display for Contestant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.runtime, self.workers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_name_and_has_its_workers() {
        let all = [
            (Contestant::turnkey(), "turnkey"),
            (Contestant::fixed(2), "P = 2"),
            (Contestant::on("locksley-awake", 3), "locksley-awake 3"),
            (Contestant::on("rayon", 1), "rayon 1"),
        ];
        for (contestant, words) in all {
            assert_eq!(contestant.words(), words);
            assert_eq!(Contestant::find(&contestant.to_string()).unwrap(), contestant);
            let workers = match contestant.start().unwrap() {
                Crew::Locksley(pool) => pool.workers(),
                Crew::Rayon(pool) => pool.current_num_threads(),
                _ => panic!("{words}"),
            };
            assert!(workers == contestant.workers || contestant.workers == TURNKEY, "{words}");
        }
        let none = ["rayon:0", "rayon", "2", "nobody:2", "rayon:x", "locksley:9999999", ""];
        for text in none {
            assert!(matches!(Contestant::find(text), Err(Fault::Input(_))), "{text}");
        }
    }

    #[test]
    fn the_first_records_know_one_runtime() {
        let found: Contestant = serde_json::from_str(r#"{"workers":4}"#).unwrap();
        assert_eq!(found, Contestant::fixed(4));
    }
}
