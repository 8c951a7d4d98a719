//! One network, run once in this process: what the experiment starts as a child, so that workers are fresh.

mod network;
mod shares;
mod subject;
pub(super) mod work;

pub use subject::Subject;

use locksley::Pool;
use locksley::task::Placement;
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Outcome};

/// What a child found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The time of all rounds.
    pub seconds: f64,
    /// The divisions of each message.
    pub divisions: u64,
    /// What came out: see [`Subject::answer`].
    pub answer: u64,
    /// Tasks that workers took from others.
    pub steals: u64,
    /// How often they tried to in vain.
    pub failed_steals: u64,
    /// The time in which they did, with all that comes before the rounds and after them.
    pub running_seconds: f64,
}

/// What executes a network, or what is compared with it.
pub struct Local {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    measure: fn(&Task) -> Result<Finding, String>,
}

/// What is to be done.
struct Task {
    subject: Subject,
    workers: usize,
    divisions: u64,
    seed: u64,
}

/// WS-LAST.
pub const LAST: &str = "locksley";
/// WS-CUR.
pub const CURRENT: &str = "locksley-cur";
/// The work without a network, in a row.
pub const SERIAL: &str = "serial";
/// The work without a network, in equal shares.
pub const STATIC: &str = "static";

/// All of them.
pub static LOCAL: [Local; 4] = [
    Local {
        name: LAST,
        about: "an unblocked process goes to the worker that last ran it (WS-LAST)",
        measure: |task| on_pool(task, Placement::Last),
    },
    Local {
        name: CURRENT,
        about: "to the worker that unblocked it (WS-CUR)",
        measure: |task| on_pool(task, Placement::Current),
    },
    Local {
        name: SERIAL,
        about: "the same divisions in a loop: no processes, no messages",
        measure: |task| {
            (task.workers == 1)
                .then(|| shares::serial(task))
                .ok_or_else(|| "it has one worker only".to_owned())
        },
    },
    Local {
        name: STATIC,
        about: "the same loop in equal shares, a thread each, which never wait",
        measure: |task| Ok(shares::divided(task)),
    },
];

impl Local {
    /// The one of that name.
    pub fn find(name: &str) -> Outcome<&'static Local> {
        LOCAL.iter().find(|local| local.name == name).ok_or_else(|| {
            let known: Vec<&str> = LOCAL.iter().map(|local| local.name).collect();
            let known = known.join(", ");
            Fault::input(format!("unknown runtime '{name}'; there are {known}"))
        })
    }
}

/// Measures `subject` once on `workers` fresh workers.
pub fn measure(local: &Local, subject: Subject, workers: usize, seed: u64) -> Outcome<Finding> {
    let divisions = work::divisions(subject.nanos);
    let task = Task { subject, workers, divisions, seed };
    (local.measure)(&task)
        .map_err(|reason| Fault::run(format!("{} with {workers} workers: {reason}", local.name)))
}

fn on_pool(task: &Task, placement: Placement) -> Result<Finding, String> {
    let pool = Pool::builder().workers(task.workers).placement(placement).build();
    network::run(&pool.map_err(|error| error.to_string())?, task)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_comes_to_the_answer() {
        let subject = Subject { processes: 7, rounds: 5, nanos: 2000 };
        for local in &LOCAL {
            for workers in [1, 2, 3] {
                let found = measure(local, subject, workers, 9);
                if local.name == SERIAL && workers > 1 {
                    assert!(matches!(found, Err(Fault::Run(_))));
                    continue;
                }
                let found = found.unwrap();
                let right = subject.answer(found.divisions, 9);
                assert_eq!(found.answer, right, "{} {workers}", local.name);
                assert!(found.seconds > 0.0 && found.running_seconds >= found.seconds);
                assert!(found.divisions > 0 && (workers > 1 || found.steals == 0));
            }
        }
        assert!(matches!(Local::find("rayon"), Err(Fault::Input(_))));
    }
}
