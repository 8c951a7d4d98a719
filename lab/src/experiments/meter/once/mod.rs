//! One measurement, in a process of its own: the hidden command `meter-once`. It computes the same
//! again and again, by turns on a pool without a profiler and on one with a profiler.

mod subject;

use std::fmt::Display;
use std::hint::black_box;
use std::time::{Duration, Instant};

use locksley::{Pool, Worker};

use super::plan::LOCKSLEY;
use super::record::Reading;
use crate::apps;
use crate::experiments::calibration;
use crate::experiments::checked::Checked;
use crate::experiments::forkjoin::once::{Subject as Recursion, fib_on_worker};
use crate::fault::{Fault, Outcome};
use crate::rounds::{Round, run_leaf};
use crate::runtimes::{self, Profiled};
pub use subject::{Kind, Subject};

/// How long it goes on.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Until there are so many pairs,
    pub pairs: usize,
    /// or so much time is over.
    pub time: Duration,
}

/// Which of the pools computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Profiler {
    Off,
    On,
}

/// Two pools that differ in the profiler alone.
struct Pools {
    plain: Pool,
    profiled: Profiled,
}

/// How long a computation took, or what is wrong with its answer.
type Computed = Result<Duration, String>;

/// Measures `subject` on so many workers.
pub fn measure(
    subject: &Subject,
    workers: usize,
    limits: Limits,
    seed: u64,
) -> Outcome<Checked<Reading>> {
    let pools = Pools::start(workers)?;
    let found = match *subject {
        Subject::Fork(n) => fibonacci(&pools, limits, n, fib_on_worker),
        Subject::Apart(_) => return Err(Fault::input("it is in old records only")),
        Subject::Leaves { number, nanos } => leaves(&pools, limits, number, nanos),
        Subject::Regions(number) => pairs(limits, |on| Ok(pools.regions(on, number))),
        Subject::App { ref app, ref size } => {
            let mut instance = apps::problem(apps::find(app)?, size)?.prepare(seed);
            pairs(limits, |on| {
                instance.reset();
                let pool = pools.pool(on);
                let ((), time, _) = pools.on_worker(on, |_| instance.locksley(pool));
                instance.check().map(|()| time)
            })
        }
    };
    Ok(found.map_or_else(Checked::Wrong, |nanos| Checked::Read(Reading { nanos })))
}

/// Pairs of computations, next to each other in time, in nanoseconds: without a profiler, and with
/// one. As many as the limits say, at least two; in half of them the profiled one comes first.
fn pairs(
    limits: Limits,
    mut compute: impl FnMut(Profiler) -> Computed,
) -> Result<Vec<[u64; 2]>, String> {
    let mut nanos = |on| compute(on).map(in_nanos);
    // Once for the caches.
    for on in [Profiler::Off, Profiler::On] {
        nanos(on)?;
    }
    let begun = Instant::now();
    let mut pairs = Vec::new();
    while pairs.is_empty() || pairs.len() < limits.pairs && begun.elapsed() < limits.time {
        let off = nanos(Profiler::Off)?;
        pairs.push([off, nanos(Profiler::On)?]);
        let on = nanos(Profiler::On)?;
        pairs.push([nanos(Profiler::Off)?, on]);
    }
    Ok(pairs)
}

/// For centuries.
fn in_nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Pools {
    fn start(workers: usize) -> Outcome<Pools> {
        let profiled = runtimes::find(LOCKSLEY)?.start_profiled(workers)?;
        let plain = Pool::new(workers).map_err(|error| Fault::run(error.to_string()))?;
        Ok(Pools { plain, profiled })
    }

    fn pool(&self, on: Profiler) -> &Pool {
        match on {
            Profiler::Off => &self.plain,
            Profiler::On => self.profiled.pool(),
        }
    }

    /// What `task` returns on a worker, how long that takes, and, with a profiler, how many tasks
    /// it has. What a report costs is not in the time.
    fn on_worker<R: Send>(
        &self,
        on: Profiler,
        task: impl FnOnce(&Worker) -> R + Send,
    ) -> (R, Duration, Option<u64>) {
        let timed = |worker: &Worker| {
            let begun = Instant::now();
            let answer = task(worker);
            (answer, begun.elapsed())
        };
        match on {
            Profiler::Off => {
                let (answer, time) = self.plain.install(timed);
                (answer, time, None)
            }
            Profiler::On => {
                let ((answer, time), report) = self.profiled.measure(timed);
                (answer, time, Some(report.tasks))
            }
        }
    }

    /// How long so many regions take, one after the other, or as many calls of the pool.
    fn regions(&self, on: Profiler, number: u64) -> Duration {
        let begun = Instant::now();
        for _ in 0..number {
            match on {
                Profiler::Off => self.plain.install(|_| ()),
                Profiler::On => drop(self.profiled.measure(|_| ())),
            }
        }
        begun.elapsed()
    }
}

/// The time, if the answer is right, and if a profiler has seen as many tasks as there are forks.
fn checked<R: PartialEq + Display>(
    (answer, time, counted): (R, Duration, Option<u64>),
    right: &R,
    forks: u64,
) -> Computed {
    if answer != *right {
        return Err(format!("{answer} and not {right}"));
    }
    match counted {
        Some(counted) if counted != forks => {
            Err(format!("the profiler has counted {counted} tasks of {forks}"))
        }
        _ => Ok(time),
    }
}

fn fibonacci(
    pools: &Pools,
    limits: Limits,
    n: u32,
    fib: fn(&Worker, u64) -> u64,
) -> Result<Vec<[u64; 2]>, String> {
    let subject = Recursion::Fib(n);
    let right = subject.answer(0).expect("a computation has an answer");
    pairs(limits, |on| {
        let n = black_box(u64::from(n));
        checked(pools.on_worker(on, |worker| fib(worker, n)), &right, subject.forks())
    })
}

fn leaves(pools: &Pools, limits: Limits, number: u64, nanos: u64) -> Result<Vec<[u64; 2]>, String> {
    let leaf = calibration::times_within(nanos, run_leaf);
    let round = Round { leaf, chunks: number, serial: 0 };
    let right = round.sum(1);
    pairs(limits, |on| {
        let found = pools.on_worker(on, |worker| round.once_on(worker));
        checked(found, &right, number - 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_PAIRS: Limits = Limits { pairs: 2, time: Duration::from_secs(3600) };

    #[test]
    fn either_comes_first_in_as_many_pairs() {
        let mut order = Vec::new();
        let limits = Limits { pairs: 3, ..TWO_PAIRS };
        let found = pairs(limits, |on| {
            order.push(on);
            Ok(Duration::from_nanos(order.len() as u64))
        });
        use Profiler::{Off, On};
        // Once each for the caches; then pairs, until there are three.
        assert_eq!(order, [Off, On, Off, On, On, Off, Off, On, On, Off]);
        assert_eq!(found.unwrap(), [[3, 4], [6, 5], [7, 8], [10, 9]]);
        let no_time = Limits { time: Duration::ZERO, ..limits };
        assert_eq!(pairs(no_time, |_| Ok(Duration::ZERO)).unwrap().len(), 2);
    }

    #[test]
    fn every_subject_is_measured_on_some_workers() {
        for (kind, size) in [("fork", "9"), ("leaves", "16x50"), ("regions", "2"), ("msort", "5K")]
        {
            let subject = Subject::find(kind, size).unwrap();
            for workers in [1, 3] {
                let found = measure(&subject, workers, TWO_PAIRS, 7).unwrap();
                let Checked::Read(reading) = found else { panic!("{kind} is wrong: {found:?}") };
                assert_eq!(reading.nanos.len(), 2, "{kind}");
            }
        }
    }

    #[test]
    fn wrong_answers_and_tasks_that_were_not_profiled_are_seen() {
        let pools = Pools::start(1).unwrap();
        let wrong = fibonacci(&pools, TWO_PAIRS, 9, |_, n| n).unwrap_err();
        assert_eq!(wrong, "9 and not 34");
        let lost = fibonacci(&pools, TWO_PAIRS, 9, |_, _| 34).unwrap_err();
        assert_eq!(lost, "the profiler has counted 0 tasks of 54");
    }
}
