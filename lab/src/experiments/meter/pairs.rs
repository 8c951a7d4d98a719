//! The computations that `meter` measures, each in turn on a pool without a profiler and on one
//! with a profiler.

use std::hint::black_box;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use locksley::{Pool, Worker};

use crate::apps;
use crate::experiment::Readings;
use crate::experiment::estimate::median;
use crate::experiments::calibration;
use crate::experiments::forkjoin::local;
use crate::fault::{Fault, Outcome};
use crate::leaf;
use crate::rounds::Round;
use crate::runtimes::{self, Profiled};

/// The most pairs of a process. Beyond, another process tells more than another pair.
const PAIRS: usize = 64;

/// The most leaves, nanoseconds of a leaf, nanoseconds of all leaves, and regions: some seconds.
const MOST_LEAVES: u64 = 10_000_000;
const MOST_NANOS: u64 = 10_000_000;
const MOST_LEAF_NANOS: u64 = 10_000_000_000;
const MOST_REGIONS: u64 = 10_000;

/// Measures pairs of a subject for so long: the medians of both times and of their difference, in
/// nanoseconds for each fork, leaf or region, and of their ratio.
///
/// # Errors
///
/// [`Fault::Input`] if there is no such subject; [`Fault::Run`] if an answer is wrong, or the
/// profiler has missed forks.
pub(super) fn measure(
    subject: &str,
    workers: usize,
    time: Duration,
    seed: u64,
) -> Outcome<Readings> {
    let (kind, size) = subject.split_once(' ').unwrap_or((subject, ""));
    let wrong = || Fault::input(format!("there is no {kind} of size '{size}'"));
    let number = |text: &str, numbers: RangeInclusive<u64>| {
        text.parse().ok().filter(|number| numbers.contains(number)).ok_or_else(wrong)
    };
    let (number, pairs) = match kind {
        "fork" => {
            let fib = local::Subject::find(&format!("fib {size}"))?;
            (fib.forks(), fibonacci(&Pools::start(workers)?, time, fib, local::fib))
        }
        "leaves" => {
            let (leaves, nanos) = size.split_once('x').ok_or_else(wrong)?;
            let leaves = number(leaves, 2..=MOST_LEAVES)?;
            let nanos = number(nanos, 1..=MOST_NANOS.min(MOST_LEAF_NANOS / leaves))?;
            (leaves, tree_of_leaves(&Pools::start(workers)?, time, leaves, nanos))
        }
        "regions" => {
            let regions = number(size, 1..=MOST_REGIONS)?;
            let pools = Pools::start(workers)?;
            (regions, pairs(PAIRS, time, |on| Ok(pools.regions(on, regions))))
        }
        _ => {
            let mut instance = apps::problem(apps::find(kind)?, size)?.prepare(seed);
            let pools = Pools::start(workers)?;
            let compute = |on| {
                instance.reset();
                let pool = pools.pool(on);
                let time = pools.compute(on, (0, None), |_| {
                    instance.locksley(pool);
                    0
                });
                instance.check().and(time)
            };
            (1, pairs(PAIRS, time, compute))
        }
    };
    Ok(readings(&pairs.map_err(Fault::run)?, number))
}

/// The medians of pairs of times, of so many things each.
fn readings(pairs: &[[f64; 2]], number: u64) -> Readings {
    let number = number as f64;
    let figure = |name: &str, of: &dyn Fn(f64, f64) -> f64| {
        let mut values: Vec<f64> = pairs.iter().map(|&[off, on]| of(off, on)).collect();
        (name.to_owned(), median(&mut values).expect("there are two pairs at least"))
    };
    Readings::from([
        figure("ns off", &|off, _| off / number),
        figure("ns on", &|_, on| on / number),
        figure("ns more", &|off, on| (on - off) / number),
        figure("ratio", &|off, on| on / off),
        ("pairs".to_owned(), pairs.len() as f64),
    ])
}

/// The pool that computes.
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

/// The time of a computation, or what is wrong with its answer.
type Computed = Result<Duration, String>;

/// Times of pairs, in nanoseconds: without a profiler, and with one.
type Pairs = Result<Vec<[f64; 2]>, String>;

/// Pairs of computations, next to each other in time: at least two; in half of them the profiled
/// one comes first.
fn pairs(most: usize, time: Duration, mut compute: impl FnMut(Profiler) -> Computed) -> Pairs {
    let mut nanos = |on| compute(on).map(|time| time.as_secs_f64() * 1e9);
    // Once for the caches.
    for on in [Profiler::Off, Profiler::On] {
        nanos(on)?;
    }
    let begun = Instant::now();
    let mut pairs = Vec::new();
    while pairs.is_empty() || pairs.len() < most && begun.elapsed() < time {
        let off = nanos(Profiler::Off)?;
        pairs.push([off, nanos(Profiler::On)?]);
        let on = nanos(Profiler::On)?;
        pairs.push([nanos(Profiler::Off)?, on]);
    }
    Ok(pairs)
}

impl Pools {
    fn start(workers: usize) -> Outcome<Pools> {
        let profiled = runtimes::find("locksley")?.start_profiled(workers)?;
        let plain = Pool::new(workers).map_err(|error| Fault::input(error.to_string()))?;
        Ok(Pools { plain, profiled })
    }

    fn pool(&self, on: Profiler) -> &Pool {
        match on {
            Profiler::Off => &self.plain,
            Profiler::On => self.profiled.pool(),
        }
    }

    /// Computes `task` on a worker, and checks its answer and, where there is a number of forks,
    /// that the profiler has counted them. The time does not include the profiler's report.
    fn compute(
        &self,
        on: Profiler,
        (right, forks): (u64, Option<u64>),
        task: impl FnOnce(&Worker) -> u64 + Send,
    ) -> Computed {
        let timed = |worker: &Worker| {
            let begun = Instant::now();
            let answer = task(worker);
            (answer, begun.elapsed())
        };
        let ((answer, time), tasks) = match on {
            Profiler::Off => (self.plain.install(timed), None),
            Profiler::On => {
                let (found, report) = self.profiled.measure(timed);
                (found, Some(report.tasks))
            }
        };
        if answer != right {
            return Err(format!("{answer} and not {right}"));
        }
        match forks.zip(tasks) {
            Some((forks, tasks)) if tasks != forks => {
                Err(format!("the profiler has counted {tasks} tasks of {forks}"))
            }
            _ => Ok(time),
        }
    }

    /// The time of so many regions, one after the other, or of as many calls of the pool.
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

fn fibonacci(
    pools: &Pools,
    time: Duration,
    subject: local::Subject,
    fib: fn(&Worker, u64) -> u64,
) -> Pairs {
    let local::Subject::Fib(n) = subject else { unreachable!("it is a Fibonacci number") };
    let expected = (subject.answer(0), Some(subject.forks()));
    pairs(PAIRS, time, |on| {
        let n = black_box(u64::from(n));
        pools.compute(on, expected, |worker| fib(worker, n))
    })
}

fn tree_of_leaves(pools: &Pools, time: Duration, leaves: u64, nanos: u64) -> Pairs {
    let leaf = calibration::times_within(nanos, leaf::run);
    let round = Round { leaf, chunks: leaves, serial: 0 };
    let expected = (round.sum(1), Some(leaves - 1));
    pairs(PAIRS, time, |on| pools.compute(on, expected, |worker| round.once_on(worker)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_comes_first_in_as_many_pairs() {
        let mut order = Vec::new();
        let found = pairs(3, Duration::from_secs(3600), |on| {
            order.push(on);
            Ok(Duration::from_secs(order.len() as u64))
        });
        use Profiler::{Off, On};
        // Once each for the caches; then pairs, until there are three.
        assert_eq!(order, [Off, On, Off, On, On, Off, Off, On, On, Off]);
        let seconds = [[3e9, 4e9], [6e9, 5e9], [7e9, 8e9], [10e9, 9e9]];
        assert_eq!(found.unwrap(), seconds);
        assert_eq!(pairs(3, Duration::ZERO, |_| Ok(Duration::ZERO)).unwrap().len(), 2);
    }

    #[test]
    fn figures_are_medians_for_each_thing() {
        // fib(5) has 7 forks: 5 ns each, and 20 more, or 21.
        let found = readings(&[[35.0, 175.0], [35.0, 182.0], [35.0, 175.0]], 7);
        let expected = [("ns off", 5.0), ("ns on", 25.0), ("ns more", 20.0), ("ratio", 5.0)];
        for (name, figure) in expected.into_iter().chain([("pairs", 3.0)]) {
            assert_eq!(found[name], figure, "{name}");
        }
    }

    #[test]
    fn every_subject_is_measured_on_some_workers() {
        for subject in ["fork 9", "leaves 16x50", "regions 2", "msort 5K"] {
            for workers in [1, 3] {
                let found = measure(subject, workers, Duration::ZERO, 7).unwrap();
                assert_eq!(found["pairs"], 2.0, "{subject}");
            }
        }
    }

    #[test]
    fn subjects_that_do_not_exist_are_refused() {
        for wrong in [
            "fork 1",
            "leaves 10",
            "leaves 1x1000",
            "leaves 10x0",
            "leaves 10000000x10000000",
            "leaves 10x10x10",
            "regions 0",
            "msort many",
            "nothing 1",
        ] {
            let found = measure(wrong, 1, Duration::ZERO, 7);
            assert!(matches!(found, Err(Fault::Input(_))), "{wrong}");
        }
    }

    #[test]
    fn wrong_answers_and_tasks_that_were_not_profiled_are_seen() {
        let pools = Pools::start(1).unwrap();
        let fib = local::Subject::Fib(9);
        let wrong = fibonacci(&pools, Duration::ZERO, fib, |_, n| n).unwrap_err();
        assert_eq!(wrong, "9 and not 34");
        let lost = fibonacci(&pools, Duration::ZERO, fib, |_, _| 34).unwrap_err();
        assert_eq!(lost, "the profiler has counted 0 tasks of 54");
    }
}
