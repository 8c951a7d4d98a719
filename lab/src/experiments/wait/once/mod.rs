//! One measurement, made once, in this process: what the experiment starts as a child, so that workers are fresh, and
//! memory holds nothing else.
//!
//! Each kind is written once, in terms of what all runtimes have (`runtime.rs`), and so it is the same for all of them. A
//! driver runs as a task on one of the workers and takes the time there.

mod fork;
mod local;
mod locksley;
mod ping_pong;
mod runtime;
mod smol;
mod spawn;
mod subject;
mod tokio;
mod waiting;

pub use local::{LOCAL, Local, find};
pub use subject::{Kind, Subject};

use crate::experiments::reading::{Finding, Memory, Timed};
use runtime::Runtime;

/// What is gone through before anything is timed: the workers have started, the code and the allocator's memory are in the
/// cache.
fn warm_up(number: u64) -> u64 {
    (number / 10).clamp(1, 10_000)
}

fn on(runtime: &impl Runtime, subject: Subject, seed: u64) -> Result<Finding, String> {
    let tasks = runtime.tasks();
    let Subject { kind, number, rounds } = subject;
    match kind {
        Kind::Spawn => {
            let timed = runtime.run(spawn::measure(tasks, number, seed));
            Ok(Finding::Timed(timed))
        }
        Kind::PingPong => {
            let timed = runtime.run(ping_pong::measure(tasks, number));
            Ok(Finding::Timed(timed))
        }
        Kind::Fork => {
            let timed = runtime.run(fork::measure(tasks, number, rounds));
            Ok(Finding::Timed(timed))
        }
        Kind::Waiting => runtime.run(waiting::measure(tasks, number)).map(Finding::Memory),
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
                for (kind, size) in
                    [("spawn", "300"), ("ping-pong", "200"), ("fork", "10x20"), ("fork", "500")]
                {
                    let Finding::Timed(timed) = found(local, kind, size, workers) else {
                        panic!("{kind} takes time")
                    };
                    assert!(timed.seconds > 0.0);
                    assert_eq!(timed.apart.is_some(), kind == "ping-pong");
                    assert!(workers > 1 || timed.apart.is_none_or(|share| share == 0.0));
                }
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn waiting_tasks_take_memory_and_all_go_on() {
        for local in &LOCAL {
            for workers in [1, 2].into_iter().filter(|&workers| local.can_have(workers)) {
                // More than a batch, and no whole number of them.
                let Finding::Memory(memory) = found(local, "waiting", "2345", workers) else {
                    panic!("it takes memory")
                };
                assert!(memory.future >= size_of::<usize>() as u64, "{memory:?}");
            }
        }
    }

    #[test]
    fn who_has_one_worker_has_no_two() {
        let local = find("tokio-current").unwrap();
        let fault = local.measure(Subject::find("spawn", "1").unwrap(), 2, 0).unwrap_err();
        assert!(matches!(fault, Fault::Input(_)), "{fault}");
    }
}
