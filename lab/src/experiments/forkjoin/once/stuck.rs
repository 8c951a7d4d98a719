//! Owners that are stuck: what becomes of the tasks in a worker's deque while that worker does something else?

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// For how long an owner is held. It sleeps, so that it takes no processor from the others.
pub const HOLD: Duration = Duration::from_millis(100);

/// A stuck owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The first closure of a join waits until the second has run.
    Wait,
    /// The owner forks eight tasks of 1 ms, one inside the other, and is held in the innermost.
    Spine,
    /// The same after some ten thousand forks that nobody needed to take.
    SpineAfterForks,
    /// After as many forks: a fork tree with a thousand leaves of 10 µs, whose first leaf holds the owner.
    TreeAfterForks,
}

/// What a shape's tasks are: how many, how long.
struct Tasks {
    number: u64,
    each: Duration,
}

/// Levels of the fork tree.
const TREE_HEIGHT: u32 = 10;

/// The quick forks before: those of fib(20), which are 10,945.
const QUICK: u64 = 20;

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 4] =
        [Shape::Wait, Shape::Spine, Shape::SpineAfterForks, Shape::TreeAfterForks];

    /// Its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Wait => "wait",
            Shape::Spine => "spine",
            Shape::SpineAfterForks => "spine-after-forks",
            Shape::TreeAfterForks => "tree-after-forks",
        }
    }

    /// What happens, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Shape::Wait => "join(|| wait_until(flag), || set(flag))",
            Shape::Spine => "held with 8 tasks of 1 ms in its deque",
            Shape::SpineAfterForks => "the same, after 10,945 quick forks",
            Shape::TreeAfterForks => {
                "held in the first leaf of a fork tree with 1,024 leaves of 10 µs, after as many quick forks"
            }
        }
    }

    /// The shape of that name.
    pub fn find(name: &str) -> Option<Shape> {
        Shape::ALL.into_iter().find(|shape| shape.name() == name)
    }

    fn tasks(self) -> Tasks {
        match self {
            Shape::Wait => Tasks { number: 1, each: Duration::ZERO },
            Shape::Spine | Shape::SpineAfterForks => {
                Tasks { number: 8, each: Duration::from_millis(1) }
            }
            Shape::TreeAfterForks => {
                Tasks { number: (1 << TREE_HEIGHT) - 1, each: Duration::from_micros(10) }
            }
        }
    }
}

/// When the tasks of a stuck owner were done, in milliseconds from when it got stuck.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Takeover {
    /// When the first of them began; 0 if that was before.
    pub first_ms: f64,
    /// When all of them were done; 0 if that was before.
    pub all_ms: f64,
}

/// A runtime as far as stuck owners need it. Speed is no matter here.
pub(super) trait Forks {
    /// What a task is given to fork with.
    type Context<'c>;

    /// A join in which the caller runs `first` at once and `second` is there to be taken.
    fn fork<A, B>(context: &mut Self::Context<'_>, first: A, second: B)
    where
        A: for<'c> FnOnce(&mut Self::Context<'c>) + Send,
        B: for<'c> FnOnce(&mut Self::Context<'c>) + Send;
}

/// When things happened, in nanoseconds from the log's beginning. All are written before the joins end that lead to the
/// reader, so `Relaxed` suffices.
struct Log {
    beginning: Instant,
    stuck: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
    done: AtomicU64,
}

impl Log {
    fn new() -> Log {
        Log {
            beginning: Instant::now(),
            stuck: AtomicU64::new(0),
            first: AtomicU64::new(u64::MAX),
            last: AtomicU64::new(0),
            done: AtomicU64::new(0),
        }
    }

    fn now(&self) -> u64 {
        self.beginning.elapsed().as_nanos() as u64
    }

    /// The owner is stuck from now on.
    fn stuck(&self) {
        self.stuck.store(self.now(), Ordering::Relaxed);
    }

    /// The owner is stuck from now on, for a while.
    fn hold(&self) {
        self.stuck();
        thread::sleep(HOLD);
    }

    /// A task that takes so long.
    fn task(&self, time: Duration) {
        let begun = self.now();
        self.first.fetch_min(begun, Ordering::Relaxed);
        while self.now() - begun < time.as_nanos() as u64 {
            std::hint::spin_loop();
        }
        self.last.fetch_max(self.now(), Ordering::Relaxed);
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn takeover(&self) -> Takeover {
        let stuck = self.stuck.load(Ordering::Relaxed);
        let milliseconds =
            |at: &AtomicU64| at.load(Ordering::Relaxed).saturating_sub(stuck) as f64 / 1e6;
        Takeover { first_ms: milliseconds(&self.first), all_ms: milliseconds(&self.last) }
    }
}

/// Goes through `shape` as the owner; `None` if tasks got lost.
pub(super) fn run<F: Forks>(shape: Shape, context: &mut F::Context<'_>) -> Option<Takeover> {
    let log = Log::new();
    if let Shape::SpineAfterForks | Shape::TreeAfterForks = shape {
        quick_forks::<F>(context, QUICK);
    }
    let Tasks { number, each } = shape.tasks();
    match shape {
        Shape::Wait => {
            let flag = AtomicBool::new(false);
            F::fork(
                context,
                |_| {
                    log.stuck();
                    while !flag.load(Ordering::Acquire) {
                        thread::yield_now();
                    }
                },
                |_| {
                    log.task(each);
                    flag.store(true, Ordering::Release);
                },
            );
        }
        Shape::Spine | Shape::SpineAfterForks => spine::<F>(context, number, each, &log),
        Shape::TreeAfterForks => tree::<F>(context, TREE_HEIGHT, true, each, &log),
    }
    (log.done.load(Ordering::Relaxed) == number).then(|| log.takeover())
}

/// Forks `tasks` tasks, each inside the first half of the one before, and is held.
fn spine<F: Forks>(context: &mut F::Context<'_>, tasks: u64, each: Duration, log: &Log) {
    if tasks == 0 {
        return log.hold();
    }
    F::fork(context, |c| spine::<F>(c, tasks - 1, each, log), |_| log.task(each));
}

/// A fork tree; if it is the `owner`'s, the first leaf holds it.
fn tree<F: Forks>(
    context: &mut F::Context<'_>,
    height: u32,
    owner: bool,
    each: Duration,
    log: &Log,
) {
    match (height, owner) {
        (0, true) => log.hold(),
        (0, false) => log.task(each),
        _ => F::fork(
            context,
            |c| tree::<F>(c, height - 1, owner, each, log),
            |c| tree::<F>(c, height - 1, false, each, log),
        ),
    }
}

/// The forks of fib(n).
fn quick_forks<F: Forks>(context: &mut F::Context<'_>, n: u64) {
    if black_box(n) >= 2 {
        F::fork(context, |c| quick_forks::<F>(c, n - 1), |c| quick_forks::<F>(c, n - 2));
    }
}
