//! One measurement, in a process of its own: the hidden command `meter-once`. It computes the same again and again on one pool, metered and
//! not, by turns.

mod subject;

use std::fmt::Display;
use std::hint::black_box;
use std::time::{Duration, Instant};

use ::locksley::{Pool, Worker};

use super::record::Reading;
use crate::apps;
use crate::experiments::calibration;
use crate::experiments::checked::Checked;
use crate::experiments::forkjoin::once::{Subject as Recursion, fib_on_worker};
use crate::fault::{Fault, Outcome};
use crate::rounds::{Round, run_leaf};
pub use subject::{Kind, Subject};

/// How long it goes on.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Until there are so many pairs,
    pub pairs: usize,
    /// or so much time is over.
    pub time: Duration,
}

/// Whether a computation is metered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meter {
    Off,
    On,
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
    // Whatever the environment says.
    let pool = Pool::builder().workers(workers).metered(false).build();
    let pool = pool.map_err(|error| Fault::run(error.to_string()))?;
    let found = match *subject {
        Subject::Fork(n) => fibonacci(&pool, limits, n, fib_on_worker),
        Subject::Apart(n) => fibonacci(&pool, limits, n, apart),
        Subject::Leaves { number, nanos } => leaves(&pool, limits, number, nanos),
        Subject::Regions(number) => pairs(limits, |meter| Ok(regions(&pool, meter, number))),
        Subject::App { ref app, ref size } => {
            let mut instance = apps::problem(apps::find(app)?, size)?.prepare(seed);
            pairs(limits, |meter| {
                instance.reset();
                let ((), time, _) = on_worker(&pool, meter, |_| instance.locksley(&pool));
                instance.check().map(|()| time)
            })
        }
    };
    Ok(found.map_or_else(Checked::Wrong, |nanos| Checked::Read(Reading { nanos })))
}

/// Pairs of computations, next to each other in time, in nanoseconds: without the meter, and with it. As many as the limits say, at least two; and in as
/// many of them the first one is metered as the second one.
fn pairs(
    limits: Limits,
    mut compute: impl FnMut(Meter) -> Computed,
) -> Result<Vec<[u64; 2]>, String> {
    let mut nanos = |meter| compute(meter).map(in_nanos);
    // Once for the caches.
    for meter in [Meter::Off, Meter::On] {
        nanos(meter)?;
    }
    let begun = Instant::now();
    let mut pairs = Vec::new();
    while pairs.is_empty() || pairs.len() < limits.pairs && begun.elapsed() < limits.time {
        let off = nanos(Meter::Off)?;
        pairs.push([off, nanos(Meter::On)?]);
        let on = nanos(Meter::On)?;
        pairs.push([nanos(Meter::Off)?, on]);
    }
    Ok(pairs)
}

/// For centuries.
fn in_nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What `task` returns on a worker, how long that takes, and, with the meter, how many forks it has. What a region costs itself is not in the time.
fn on_worker<R: Send>(
    pool: &Pool,
    meter: Meter,
    task: impl FnOnce(&Worker) -> R + Send,
) -> (R, Duration, Option<u64>) {
    let timed = |worker: &Worker| {
        let begun = Instant::now();
        let answer = task(worker);
        (answer, begun.elapsed())
    };
    match meter {
        Meter::Off => {
            let (answer, time) = pool.run(timed);
            (answer, time, None)
        }
        Meter::On => {
            let ((answer, time), report) = pool.metered(timed);
            (answer, time, Some(report.forks))
        }
    }
}

/// The time, if the answer is right, and if the meter has seen so many forks, where it was on.
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
            Err(format!("the meter has counted {counted} forks of {forks}"))
        }
        _ => Ok(time),
    }
}

fn fibonacci(
    pool: &Pool,
    limits: Limits,
    n: u32,
    fib: fn(&Worker, u64) -> u64,
) -> Result<Vec<[u64; 2]>, String> {
    let subject = Recursion::Fib(n);
    let right = subject.answer(0).expect("a computation has an answer");
    pairs(limits, |meter| {
        let n = black_box(u64::from(n));
        checked(on_worker(pool, meter, |worker| fib(worker, n)), &right, subject.forks())
    })
}

/// A Fibonacci number, each join in another function than the one around it.
fn apart(worker: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|w| from_apart(w, n - 1), |w| from_apart(w, n - 2));
    a + b
}

/// The other function of [`apart`].
fn from_apart(worker: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|w| apart(w, n - 1), |w| apart(w, n - 2));
    a + b
}

fn leaves(pool: &Pool, limits: Limits, number: u64, nanos: u64) -> Result<Vec<[u64; 2]>, String> {
    let leaf = calibration::times_within(nanos, run_leaf);
    let round = Round { leaf, chunks: number, serial: 0 };
    let right = round.sum(1);
    pairs(limits, |meter| {
        let found = on_worker(pool, meter, |worker| round.once_on(worker));
        checked(found, &right, number - 1)
    })
}

/// How long so many regions take, one after the other, or as many calls of the pool.
fn regions(pool: &Pool, meter: Meter, number: u64) -> Duration {
    let begun = Instant::now();
    for _ in 0..number {
        match meter {
            Meter::Off => pool.run(|_| ()),
            Meter::On => drop(pool.metered(|_| ())),
        }
    }
    begun.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_PAIRS: Limits = Limits { pairs: 2, time: Duration::from_secs(3600) };

    #[test]
    fn either_comes_first_in_as_many_pairs() {
        let mut order = Vec::new();
        let limits = Limits { pairs: 3, ..TWO_PAIRS };
        let found = pairs(limits, |meter| {
            order.push(meter);
            Ok(Duration::from_nanos(order.len() as u64))
        });
        use Meter::{Off, On};
        // Once each for the caches; then pairs, until there are three.
        assert_eq!(order, [Off, On, Off, On, On, Off, Off, On, On, Off]);
        assert_eq!(found.unwrap(), [[3, 4], [6, 5], [7, 8], [10, 9]]);
        let no_time = Limits { time: Duration::ZERO, ..limits };
        assert_eq!(pairs(no_time, |_| Ok(Duration::ZERO)).unwrap().len(), 2);
    }

    #[test]
    fn every_subject_is_measured_on_some_workers() {
        for (kind, size) in
            [("fork", "9"), ("apart", "9"), ("leaves", "16x50"), ("regions", "2"), ("msort", "5K")]
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
    fn wrong_answers_and_forks_that_were_not_metered_are_seen() {
        let pool = Pool::new(1).unwrap();
        let wrong = fibonacci(&pool, TWO_PAIRS, 9, |_, n| n).unwrap_err();
        assert_eq!(wrong, "9 and not 34");
        let lost = fibonacci(&pool, TWO_PAIRS, 9, |_, _| 34).unwrap_err();
        assert_eq!(lost, "the meter has counted 0 forks of 54");
    }
}
