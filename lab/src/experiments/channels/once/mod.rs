//! One measurement, made once, in this process: what the experiment starts as a child, so that workers are fresh, and
//! memory holds nothing else. Programs of other runtimes (`peers/`) take the same arguments after their name and print the
//! same lines:
//!
//! ```text
//! KIND SIZE P SEED        {"runtime":..,"seconds":..,"answer":..}
//! idle N P SEED           {"runtime":..,"bytes":..,"future":..,"answer":..}
//! ```
//!
//! Each kind is written once, in terms of what all runtimes have (`network.rs`), and so it is the same for all of them. Time is
//! taken by the processes themselves, after some of the same has gone through to warm up: who sends begins when all of that has been
//! received (`gate.rs`).

mod fan;
mod gate;
mod idle;
mod ledger;
mod local;
mod locksley;
mod network;
mod ring;
mod stream;
mod subject;
mod tokio;

pub use local::{LOCAL, Local, find};
pub use subject::{Kind, Subject};

use crate::experiments::reading::{Finding, Memory, Timed};
use network::Runtime;

/// How much a channel holds through which messages stream.
pub const STREAM_CAPACITY: usize = 64;

/// How much a channel of a ring holds, where one token goes round.
pub const RING_CAPACITY: usize = 8;

/// How many processes one process feeds, or is fed by.
pub const FAN: usize = 100;

/// How many messages go through before time is taken.
fn warm_up(messages: u64) -> u64 {
    (messages / 10).clamp(1, 10_000)
}

fn on(runtime: &impl Runtime, subject: Subject, seed: u64) -> Result<Finding, String> {
    let Subject { kind, processes, number } = subject;
    match kind {
        Kind::Stream | Kind::Pipeline => {
            stream::measure(runtime, processes, number, seed).map(Finding::Timed)
        }
        Kind::Ring => ring::measure(runtime, processes, number, seed).map(Finding::Timed),
        Kind::FanOut => fan::out(runtime, number, seed).map(Finding::Timed),
        Kind::FanIn => fan::into_one(runtime, number, seed).map(Finding::Timed),
        Kind::Idle => idle::measure(runtime, number).map(Finding::Memory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    fn found(local: &Local, kind: &str, size: &str, workers: usize) -> Finding {
        let subject = Subject::find(kind, size).unwrap();
        let finding = local.measure(subject, workers, 5).unwrap();
        assert_eq!(finding.answer(), subject.answer(5), "{} {kind} {size}", local.name);
        finding
    }

    #[test]
    fn every_runtime_comes_to_the_answer() {
        for local in &LOCAL {
            for workers in [1, 2, 3].into_iter().filter(|&workers| local.can_have(workers)) {
                for (kind, size) in [
                    ("stream", "1"),
                    ("stream", "3000"),
                    ("ring", "1x7"),
                    ("ring", "30x20"),
                    ("pipeline", "10x700"),
                    ("fan-out", "9"),
                    ("fan-in", "9"),
                ] {
                    let Finding::Timed(timed) = found(local, kind, size, workers) else {
                        panic!("{kind} takes time")
                    };
                    assert!(timed.seconds > 0.0, "{} {kind}", local.name);
                    assert_eq!(timed.apart.is_some(), kind == "stream");
                    assert!(workers > 1 || timed.apart.is_none_or(|share| share == 0.0));
                }
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn idle_processes_take_memory_and_all_go_on() {
        for local in &LOCAL {
            for workers in [1, 2].into_iter().filter(|&workers| local.can_have(workers)) {
                let Finding::Memory(memory) = found(local, "idle", "1234", workers) else {
                    panic!("it takes memory")
                };
                assert!(memory.future >= size_of::<usize>() as u64, "{memory:?}");
            }
        }
    }

    #[test]
    fn who_has_one_worker_has_no_two() {
        let local = find("tokio-current").unwrap();
        let fault = local.measure(Subject::find("stream", "1").unwrap(), 2, 0).unwrap_err();
        assert!(matches!(fault, Fault::Input(_)), "{fault}");
    }
}
