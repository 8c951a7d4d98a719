//! The co-runner `cycler(p, w, W)` of Hood (Blumofe and Papadopoulos, "Hood: A user-level threads
//! library for multiprogrammed multiprocessors", 1998, section 5.2): a program that takes
//! processors away, at random, and little else.
//!
//! Its p workers park. Again and again the main thread releases a random number of them, from 1 to
//! p, and waits until they have parked again. Each that is released adds one to a shared counter, a
//! random number of times from 1 to w, and before each addition it counts through an empty loop of
//! fixed length. All ends when the counter is found to be at least W after such an iteration. Here
//! it can also end after some time, or when it is told to.
//!
//! Every so many additions a timestamp is taken. With the rate of additions of a worker that has a
//! processor to itself, which [`calibrated`] finds, the timestamps tell how many processors the
//! cycler had between any two of them, and an [`Account`] between any two moments: what was left
//! for its neighbour follows.

mod account;

pub use account::Account;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::experiment::{seconds, workers};
use crate::fault::{Fault, Outcome};
use crate::machine::default_workers;
use crate::random::{DEFAULT_SEED, Random};

/// Iterations of the empty loop before each addition (n₁): a few hundred microseconds.
pub const LOOP: u64 = 400_000;

/// A timestamp is taken whenever the counter is a multiple of this (n₂): each few milliseconds, of
/// a lone worker.
pub const STAMP_EVERY: u64 = 16;

/// What a cycler is to do. The names p, w and W are those of the papers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Args)]
#[group(skip)]
pub struct Cycler {
    /// p: the number of workers, of which 1 to p are released at a time; one for each processor
    /// allowed unless it is given
    #[serde(rename = "p")]
    #[arg(long, value_name = "P", default_value_t = default_workers(), value_parser = workers)]
    pub workers: usize,
    /// w: the most increments of a worker that was released; each takes some hundred microseconds
    #[serde(rename = "w")]
    #[arg(long = "increments", value_name = "w", default_value_t = 1000, value_parser = positive())]
    pub most: u64,
    /// W: the sum of increments at which it ends [default: none]
    #[serde(rename = "W")]
    #[arg(long, value_name = "W", value_parser = positive())]
    pub total: Option<u64>,
    /// The time after which it ends, in seconds [default: none; it also ends by SIGTERM and SIGINT]
    #[serde(skip)]
    #[arg(long = "secs", value_name = "S", value_parser = seconds)]
    pub time: Option<Duration>,
    /// What all random choices follow from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// Iterations of the empty loop: less in tests.
    #[serde(skip)]
    #[arg(skip = LOOP)]
    pub spin: u64,
}

fn positive() -> RangedU64ValueParser {
    clap::value_parser!(u64).range(1..)
}

/// What made a cycler end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// The counter has reached W.
    Total,
    /// The time is over.
    Time,
    /// It was told to.
    Signal,
}

/// The counter's value at a point of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// When, by the machine's clock ([`clock`]) in nanoseconds, so that other programs can tell
    /// what they did meanwhile.
    pub at: u64,
    /// The counter.
    pub count: u64,
}

/// What a cycler has done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// What it was to do.
    #[serde(flatten)]
    pub cycler: Cycler,
    /// How long it took.
    pub seconds: f64,
    /// How often workers were released.
    pub iterations: u64,
    /// The counter at the end.
    pub increments: u64,
    /// What made it end.
    pub ended_by: End,
    /// The timestamps, in the order of their counts.
    pub stamps: Vec<Stamp>,
}

impl Done {
    /// Additions in a second.
    pub fn rate(&self) -> f64 {
        self.increments as f64 / self.seconds
    }
}

/// The papers' calibration: one worker and one release that would never end, for some time. On an
/// idle machine, the rate of that is what one processor does.
pub fn calibrated(time: Duration, stop: &AtomicBool) -> Outcome<Done> {
    let cycler = Cycler {
        workers: 1,
        most: u64::MAX,
        total: Some(1),
        time: Some(time),
        seed: 0,
        spin: LOOP,
    };
    cycler.run(stop)
}

/// What the workers share.
struct Shared<'a> {
    cycler: &'a Cycler,
    counter: AtomicU64,
    deadline: Option<Instant>,
    stop: &'a AtomicBool,
}

impl Cycler {
    /// Runs until it ends; `stop` tells it to.
    ///
    /// # Errors
    ///
    /// [`Fault::Missing`] if the workers cannot be started.
    pub fn run(&self, stop: &AtomicBool) -> Outcome<Done> {
        let start = Instant::now();
        let cannot =
            |error| Fault::Missing(format!("the cycler's workers cannot be started: {error}"));
        let shared = Shared {
            cycler: self,
            counter: AtomicU64::new(0),
            deadline: self.time.and_then(|time| start.checked_add(time)),
            stop,
        };
        let shared = &shared;
        thread::scope(|scope| {
            let (mut workers, mut releases) = (Vec::new(), Vec::new());
            let (parked, all_parked) = mpsc::channel();
            for number in 0..self.workers {
                // Dropped with the others, which ends all workers, if one cannot be started.
                let (release, released) = mpsc::channel();
                let (worker, parked) = (thread::Builder::new(), parked.clone());
                let worker = worker.name(format!("cycler-{number}"));
                let work = move || shared.work(number, &released, &parked);
                workers.push(worker.spawn_scoped(scope, work).map_err(cannot)?);
                releases.push(release);
            }
            let mut random = Random::new(self.seed);
            let mut iterations = 0;
            let ended_by = loop {
                let number = one_to(self.workers as u64, &mut random) as usize;
                // Each in turn.
                for release in releases.iter().cycle().skip(iterations as usize).take(number) {
                    release.send(()).expect("a worker lives until it is left alone");
                }
                all_parked.iter().take(number).for_each(drop);
                iterations += 1;
                // What the workers did before they parked is seen here: the channel orders it.
                let count = shared.counter.load(Ordering::Relaxed);
                if let Some(end) = shared.end(count) {
                    break end;
                }
            };
            let seconds = start.elapsed().as_secs_f64();
            drop(releases);
            let mut stamps: Vec<Stamp> = workers
                .into_iter()
                .flat_map(|worker| worker.join().expect("a cycler's worker panicked"))
                .collect();
            stamps.sort_by_key(|stamp| stamp.count);
            let increments = shared.counter.load(Ordering::Relaxed);
            Ok(Done { cycler: *self, seconds, iterations, increments, ended_by, stamps })
        })
    }
}

impl Shared<'_> {
    /// A worker: works whenever it is released, and returns its timestamps at the end.
    fn work(&self, number: usize, released: &Receiver<()>, parked: &Sender<()>) -> Vec<Stamp> {
        let mut random = Random::new(self.cycler.seed ^ crate::random::mix(number as u64 + 1));
        let mut stamps = Vec::new();
        while released.recv().is_ok() {
            for _ in 0..one_to(self.cycler.most, &mut random) {
                if self.end_at_once().is_some() {
                    break;
                }
                for _ in 0..self.cycler.spin {
                    black_box(());
                }
                // It counts, and orders nothing else.
                let count = self.counter.fetch_add(1, Ordering::Relaxed) + 1;
                if count.is_multiple_of(STAMP_EVERY) {
                    stamps.push(Stamp { at: clock::now(), count });
                }
            }
            parked.send(()).expect("it is waited for");
        }
        stamps
    }

    /// Why to end after an iteration, if that is to be.
    fn end(&self, count: u64) -> Option<End> {
        self.end_at_once()
            .or_else(|| self.cycler.total.is_some_and(|total| count >= total).then_some(End::Total))
    }

    /// Why to end at once, if that is to be.
    fn end_at_once(&self) -> Option<End> {
        // The flag says nothing but what it says.
        if self.stop.load(Ordering::Relaxed) {
            return Some(End::Signal);
        }
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(End::Time)
    }
}

/// A number from 1 to `most`, none likelier than another by more than 2⁻⁶⁴ of the whole.
fn one_to(most: u64, random: &mut Random) -> u64 {
    let scaled = u128::from(random.next_u64()) * u128::from(most);
    1 + (scaled >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycler(workers: usize, most: u64, total: u64) -> Cycler {
        Cycler { workers, most, total: Some(total), time: None, seed: 7, spin: 10 }
    }

    #[test]
    fn it_ends_after_the_iteration_in_which_the_total_is_reached() {
        for (workers, most, total) in [(1, 1, 1), (1, 10, 1000), (3, 5, 2000), (7, 100, 5000)] {
            let done = cycler(workers, most, total).run(&AtomicBool::new(false)).unwrap();
            let per_iteration = workers as u64 * most;
            assert_eq!(done.ended_by, End::Total);
            assert!((total..total + per_iteration).contains(&done.increments), "{done:?}");
            assert!(
                done.iterations <= done.increments
                    && done.increments <= done.iterations * per_iteration
            );
            let counts: Vec<u64> = done.stamps.iter().map(|stamp| stamp.count).collect();
            let expected: Vec<u64> =
                (1..=done.increments / STAMP_EVERY).map(|n| n * STAMP_EVERY).collect();
            assert_eq!(counts, expected);
        }
    }

    #[test]
    fn a_release_has_the_size_of_its_draws_on_average() {
        let done = cycler(4, 9, 20_000).run(&AtomicBool::new(false)).unwrap();
        // 2.5 workers of 4, each 5 times of 9.
        let mean = done.increments as f64 / done.iterations as f64;
        assert!((11.5..13.5).contains(&mean), "{mean}");
    }

    #[test]
    fn time_and_a_signal_end_even_a_release_without_end() {
        let endless =
            Cycler { time: Some(Duration::from_millis(5)), ..cycler(2, u64::MAX, u64::MAX) };
        let done = endless.run(&AtomicBool::new(false)).unwrap();
        assert_eq!((done.ended_by, done.iterations), (End::Time, 1));
        assert!(done.seconds >= 0.005);

        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let worker = scope.spawn(|| cycler(2, u64::MAX, u64::MAX).run(&stop).unwrap());
            stop.store(true, Ordering::Relaxed);
            assert_eq!(worker.join().unwrap().ended_by, End::Signal);
        });
    }

    #[test]
    fn draws_are_from_one_to_the_most() {
        let mut random = Random::new(2);
        let mut seen = [0; 5];
        for _ in 0..5000 {
            seen[one_to(5, &mut random) as usize - 1] += 1;
        }
        assert!(seen.iter().all(|&times| (850..1150).contains(&times)), "{seen:?}");
        assert!((0..100).all(|_| one_to(1, &mut random) == 1));
        assert!((0..100).all(|_| one_to(u64::MAX, &mut random) >= 1));
    }
}
