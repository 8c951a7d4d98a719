//! One measurement, made once, in this process: what the experiment starts as a child, so that workers are fresh, and a
//! runtime that never finishes can be given up. Programs of other runtimes (`peers/`) take the same arguments after
//! their name and print the same lines:
//!
//! ```text
//! fib N P SEED            {"runtime":..,"seconds":..,"answer":..}
//! tree LEVELS P SEED      the same
//! stuck SHAPE P SEED      {"runtime":..,"first_ms":..,"all_ms":..}
//! ```

mod calls;
mod fib;
mod stuck;
mod tree;
mod workers;

pub(in crate::experiments) use fib::on_worker as fib_on_worker;
pub use stuck::{HOLD, Shape, Takeover};
pub use workers::{LOCAL, Local};

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Outcome};

/// The largest n, and the most levels: beyond, it takes hours, or all memory.
const LARGEST_FIB: u32 = 60;
const MOST_LEVELS: u32 = 30;

/// What is computed before anything is timed: workers have started, and the code is in the cache.
const WARM_UP: u64 = 20;

/// Something to compute or to go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The n-th Fibonacci number.
    Fib(u32),
    /// The sum over a perfect binary tree with so many levels.
    Tree(u32),
    /// A stuck owner.
    Stuck(Shape),
}

/// A computation's time and answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// The time.
    pub seconds: f64,
    /// The answer.
    pub answer: u64,
}

/// What a child found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Finding {
    /// Of a computation.
    Timed(Timed),
    /// Of a stuck owner.
    Takeover(Takeover),
}

impl Subject {
    /// The names of the kinds.
    pub const FIB: &str = "fib";
    /// See [`Subject::FIB`].
    pub const TREE: &str = "tree";
    /// See [`Subject::FIB`].
    pub const STUCK: &str = "stuck";

    /// The subject that a command line or a record names.
    pub fn find(kind: &str, size: &str) -> Outcome<Subject> {
        let number = |least, most| match size.parse::<u32>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => {
                Err(Fault::input(format!("the size of {kind} is a number from {least} to {most}")))
            }
        };
        match kind {
            Subject::FIB => Ok(Subject::Fib(number(2, LARGEST_FIB)?)),
            Subject::TREE => Ok(Subject::Tree(number(2, MOST_LEVELS)?)),
            Subject::STUCK => Shape::find(size).map(Subject::Stuck).ok_or_else(|| {
                let known = Shape::ALL.map(Shape::name).join(", ");
                Fault::input(format!("unknown stuck owner '{size}'; there are {known}"))
            }),
            _ => Err(Fault::input(format!("unknown subject '{kind}'; there are fib, tree, stuck"))),
        }
    }

    /// The number of forks of a computation; 0 for a stuck owner, where they do not count.
    pub fn forks(self) -> u64 {
        match self {
            Subject::Fib(n) => fibonacci(n + 1) - 1,
            Subject::Tree(levels) => (1 << (levels - 1)) - 1,
            Subject::Stuck(_) => 0,
        }
    }

    /// The right answer of a computation, found in another way.
    pub fn answer(self, seed: u64) -> Option<u64> {
        match self {
            Subject::Fib(n) => Some(fibonacci(n)),
            Subject::Tree(levels) => Some(tree::sum(levels, seed)),
            Subject::Stuck(_) => None,
        }
    }
}

/// Measures `subject` once on `workers` fresh workers of `local`.
pub fn measure(local: &Local, subject: Subject, workers: usize, seed: u64) -> Outcome<Finding> {
    let warm_up = workers::Work::Fib(WARM_UP);
    let work = match subject {
        Subject::Fib(n) => workers::Work::Fib(u64::from(n)),
        Subject::Tree(levels) => workers::Work::Tree(tree::build(levels, seed)),
        Subject::Stuck(shape) => {
            let takeover = started(local, workers)?.stick(shape);
            return takeover.map(Finding::Takeover).ok_or_else(|| {
                Fault::run(format!("{} has no forks, or it lost some", local.name))
            });
        }
    };
    let timed = started(local, workers)?.time(&warm_up, &work);
    // The process ends soon: millions of nodes need not be given back one by one.
    std::mem::forget(work);
    Ok(Finding::Timed(timed))
}

fn started(local: &Local, workers: usize) -> Outcome<workers::Workers> {
    local.start(workers).map_err(|reason| {
        Fault::run(format!("{} cannot start {workers} workers: {reason}", local.name))
    })
}

fn fibonacci(n: u32) -> u64 {
    (0..n).fold((0u64, 1u64), |(a, b), _| (b, a + b)).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_know_their_forks_and_answers() {
        assert_eq!((Subject::Fib(2).forks(), Subject::Fib(22).forks()), (1, 28_656));
        assert_eq!(Subject::Fib(32).answer(0), Some(2_178_309));
        assert_eq!((Subject::Tree(2).forks(), Subject::Tree(24).forks()), (1, (1 << 23) - 1));
        assert!(Subject::find("fib", "1").is_err() && Subject::find("tree", "31").is_err());
        assert!(Subject::find("stuck", "pigs").is_err() && Subject::find("sort", "9").is_err());
    }

    #[test]
    fn every_runtime_computes_the_answer() {
        for local in &LOCAL {
            for subject in [Subject::Fib(13), Subject::Tree(9)] {
                for workers in [1, 3] {
                    let found = measure(local, subject, workers, 5).unwrap();
                    let Finding::Timed(timed) = found else { panic!("it is a computation") };
                    assert_eq!(Some(timed.answer), subject.answer(5), "{}", local.name);
                }
            }
        }
    }

    #[test]
    fn whoever_steals_takes_over_from_a_stuck_owner() {
        for name in ["locksley", "locksley-join", "rayon"] {
            for shape in Shape::ALL {
                let local = Local::find(name).unwrap();
                let found = measure(local, Subject::Stuck(shape), 2, 0).unwrap();
                assert!(matches!(found, Finding::Takeover(_)), "{name}, {}", shape.name());
            }
        }
        assert!(measure(&LOCAL[0], Subject::Stuck(Shape::Wait), 2, 0).is_err(), "serial code");
    }
}
