//! The recursions that `forkjoin` measures, on the runtimes of this process.

use std::hint::black_box;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use std::thread;
use std::time::{Duration, Instant};

use locksley::{Pool, Worker};
use locksley_profile::Profiler;

use super::{PLAIN, SERIAL};
use crate::experiment::Readings;
use crate::fault::{Fault, Outcome};
use crate::random::mix;

/// The version of this package's own runtimes.
const OURS: &str = env!("CARGO_PKG_VERSION");

/// The runtimes of this process: name, version, and what each is.
pub const LOCAL: [(&str, &str, &str); 7] = [
    (SERIAL, OURS, "the same code with two calls for a fork"),
    (PLAIN, OURS, "the plain recursion, Ts; compilers turn some of its calls into loops"),
    ("locksley", OURS, "Worker::join"),
    ("locksley-join", OURS, "join: the worker is looked up at each fork"),
    ("locksley-profiled", OURS, "Worker::join, in a pool with a profiler"),
    ("rayon", env!("LAB_RAYON"), "rayon::join"),
    ("chili", env!("LAB_CHILI"), "Scope::join; most joins only call, and share at a heartbeat"),
];

/// The owners that get stuck, with what they do.
pub const SHAPES: [(Shape, &str, &str); 4] = [
    (Shape::Wait, "wait", "the first task of a join waits until the second has run"),
    (Shape::Spine, "spine", "held with 8 tasks of 1 ms in its deque"),
    (Shape::SpineAfterForks, "spine-after-forks", "the same, after 10,945 quick forks"),
    (
        Shape::TreeAfterForks,
        "tree-after-forks",
        "held in the first leaf of a fork tree with 1,024 leaves of 10 µs, after as many forks",
    ),
];

/// For how long an owner is held. It sleeps, so that the others have its processor.
pub const HOLD: Duration = Duration::from_millis(100);

/// Above these, a measurement takes hours, or all memory.
const LARGEST_FIB: u32 = 60;
const MOST_LEVELS: u32 = 30;

/// The n of the fib that is computed before anything is timed, and whose forks precede two shapes.
const WARM_UP: u64 = 20;

const TREE_HEIGHT: u32 = 10;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The n-th Fibonacci number, doubly recursive: nothing but forks.
    Fib(u32),
    /// The sum over a perfect binary tree with so many levels: forks, and memory that is read.
    Tree(u32),
    /// An owner that gets stuck while its deque has tasks.
    Stuck(Shape),
}

/// How an owner is stuck: see [`SHAPES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Shape {
    Wait,
    Spine,
    SpineAfterForks,
    TreeAfterForks,
}

impl Subject {
    /// The subject that a command line or a record names.
    ///
    /// # Errors
    ///
    /// [`Fault::Input`] if there is none.
    pub fn find(subject: &str) -> Outcome<Subject> {
        let (kind, size) = subject.split_once(' ').unwrap_or((subject, ""));
        let number = |most| match size.parse::<u32>() {
            Ok(number) if (2..=most).contains(&number) => Ok(number),
            _ => Err(Fault::input(format!("the size of {kind} is a number from 2 to {most}"))),
        };
        match kind {
            "fib" => Ok(Subject::Fib(number(LARGEST_FIB)?)),
            "tree" => Ok(Subject::Tree(number(MOST_LEVELS)?)),
            "stuck" => match SHAPES.into_iter().find(|shape| shape.1 == size) {
                Some((shape, ..)) => Ok(Subject::Stuck(shape)),
                None => {
                    let known = SHAPES.map(|shape| shape.1).join(", ");
                    Err(Fault::input(format!("unknown stuck owner '{size}'; there are {known}")))
                }
            },
            _ => Err(Fault::input(format!("unknown subject '{kind}'; there are fib, tree, stuck"))),
        }
    }

    /// The forks of a computation; the tasks that an owner forks before it is stuck.
    pub fn forks(self) -> u64 {
        match self {
            Subject::Fib(n) => fibonacci(n + 1) - 1,
            Subject::Tree(levels) => (1 << (levels - 1)) - 1,
            Subject::Stuck(Shape::Wait) => 1,
            Subject::Stuck(Shape::Spine | Shape::SpineAfterForks) => 8,
            Subject::Stuck(Shape::TreeAfterForks) => (1 << TREE_HEIGHT) - 1,
        }
    }

    /// The right answer, found in another way; the number of tasks of an owner that is stuck.
    pub fn answer(self, seed: u64) -> u64 {
        match self {
            Subject::Fib(n) => fibonacci(n),
            Subject::Tree(levels) => sum(levels, seed),
            Subject::Stuck(_) => self.forks(),
        }
    }
}

fn fibonacci(n: u32) -> u64 {
    (0..n).fold((0u64, 1u64), |(a, b), _| (b, a + b)).0
}

/// Measures `subject` once on so many fresh workers.
///
/// # Errors
///
/// [`Fault::Input`] if there is no such runtime, or it has no forks; [`Fault::Run`] if the answer is
/// wrong, or tasks are lost.
pub fn measure(runtime: &str, subject: Subject, workers: usize, seed: u64) -> Outcome<Readings> {
    let work = match subject {
        Subject::Fib(n) => Work::Fib(u64::from(n)),
        Subject::Tree(levels) => Work::Tree(build(levels, seed)),
        Subject::Stuck(shape) => Work::Stuck(shape, Log::new(shape)),
    };
    let cannot = |why: String| Fault::input(format!("it cannot start {workers} workers: {why}"));
    let pool = |builder: locksley::PoolBuilder| {
        builder.workers(workers).build().map_err(|error| cannot(error.to_string()))
    };
    let (seconds, answer) = match (runtime, &work) {
        (SERIAL | PLAIN, Work::Stuck(..)) => return Err(Fault::input("serial code has no forks")),
        (SERIAL, work) => on_calls::measure(work),
        (PLAIN, work) => timed(work, plain),
        ("locksley", work) => pool(Pool::builder())?.install(|w| on_worker::measure(w, work)),
        ("locksley-join", work) => pool(Pool::builder())?.install(|_| on_join::measure(work)),
        ("locksley-profiled", work) => {
            let pool = pool(Pool::builder().observer(Profiler::new()))?;
            pool.install(|w| on_worker::measure(w, work))
        }
        ("rayon", work) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
            let pool = pool.map_err(|error| cannot(error.to_string()))?;
            pool.install(|| on_rayon::measure(work))
        }
        ("chili", work) => {
            let thread_count = NonZero::new(workers);
            let config = chili::Config { thread_count, ..chili::Config::default() };
            // The calling thread is one of its workers.
            let pool = chili::ThreadPool::with_config(config);
            on_chili::measure(&mut pool.scope(), work)
        }
        _ => {
            let known = LOCAL.map(|local| local.0).join(", ");
            return Err(Fault::input(format!("unknown runtime '{runtime}'; there are {known}")));
        }
    };
    let right = subject.answer(seed);
    if answer != right {
        return Err(Fault::run(format!("{answer}, and not {right}")));
    }
    let readings = match &work {
        Work::Stuck(_, log) => log.readings(),
        _ => [("seconds".to_owned(), seconds)].into(),
    };
    // The process ends soon: it does not free millions of nodes one by one.
    std::mem::forget(work);
    Ok(readings)
}

/// A subject with its input.
enum Work {
    Fib(u64),
    Tree(Node),
    Stuck(Shape, Log),
}

/// The time of `compute`, in seconds, and its answer. The worker that begins the computation takes
/// the time, so it does not include the way into the pool.
fn timed(work: &Work, mut compute: impl FnMut(&Work) -> u64) -> (f64, u64) {
    if !matches!(work, Work::Stuck(..)) {
        compute(black_box(&Work::Fib(WARM_UP)));
    }
    let start = Instant::now();
    // The compiler must not see which numbers these are.
    let answer = compute(black_box(work));
    (start.elapsed().as_secs_f64(), answer)
}

/// A node with two children or none.
struct Node {
    value: u64,
    children: Option<Box<[Node; 2]>>,
}

impl Node {
    fn with(&self, left: u64, right: u64) -> u64 {
        self.value.wrapping_add(left).wrapping_add(right)
    }
}

/// The value of the node at `index` in preorder.
fn value(seed: u64, index: u64) -> u64 {
    mix(seed.wrapping_add(index))
}

/// A perfect tree with `depth` levels, in memory in the order in which it is visited.
fn build(depth: u32, seed: u64) -> Node {
    fn grow(node: &mut Node, depth: u32, seed: u64, index: u64) {
        if depth > 1 {
            let [left, right] = [index + 1, index + (1 << (depth - 1))];
            let leaf = |index| Node { value: value(seed, index), children: None };
            let children = node.children.insert(Box::new([leaf(left), leaf(right)]));
            grow(&mut children[0], depth - 1, seed, left);
            grow(&mut children[1], depth - 1, seed, right);
        }
    }
    let mut root = Node { value: value(seed, 0), children: None };
    grow(&mut root, depth, seed, 0);
    root
}

/// The sum over that tree, from the values alone.
fn sum(depth: u32, seed: u64) -> u64 {
    (0..(1u64 << depth) - 1).fold(0, |sum, index| sum.wrapping_add(value(seed, index)))
}

/// When the tasks of an owner ran, in nanoseconds from the log's beginning. The joins order all
/// accesses but those to `done`, for which one shape waits.
struct Log {
    beginning: Instant,
    /// What a task takes.
    each: Duration,
    stuck: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
    done: AtomicU64,
}

impl Log {
    fn new(shape: Shape) -> Log {
        let each = match shape {
            Shape::Wait => Duration::ZERO,
            Shape::Spine | Shape::SpineAfterForks => Duration::from_millis(1),
            Shape::TreeAfterForks => Duration::from_micros(10),
        };
        let [stuck, first, last, done] = [0, u64::MAX, 0, 0].map(AtomicU64::new);
        Log { beginning: Instant::now(), each, stuck, first, last, done }
    }

    fn now(&self) -> u64 {
        self.beginning.elapsed().as_nanos() as u64
    }

    /// The owner is stuck from now on, for [`HOLD`].
    fn hold(&self) {
        self.stuck.store(self.now(), Ordering::Relaxed);
        thread::sleep(HOLD);
    }

    /// The owner is stuck until a task has run.
    fn wait(&self) {
        self.stuck.store(self.now(), Ordering::Relaxed);
        while self.done.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
    }

    fn task(&self) {
        let begun = self.now();
        self.first.fetch_min(begun, Ordering::Relaxed);
        while self.now() - begun < self.each.as_nanos() as u64 {
            std::hint::spin_loop();
        }
        self.last.fetch_max(self.now(), Ordering::Relaxed);
        self.done.fetch_add(1, Ordering::Release);
    }

    /// When the first task began and when all were done, from when the owner got stuck; 0 if that
    /// was before.
    fn readings(&self) -> Readings {
        let stuck = self.stuck.load(Ordering::Relaxed);
        let ms = |at: &AtomicU64| at.load(Ordering::Relaxed).saturating_sub(stuck) as f64 / 1e6;
        [("first ms", ms(&self.first)), ("all ms", ms(&self.last))]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }
}

/// Two calls in place of a fork. The fences are for the compiler alone, and cost no instruction: it
/// cannot turn one of the calls into a loop, as it could not if there were a fork.
#[inline(always)]
fn calls<A, B>(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> (A, B) {
    let a = first();
    compiler_fence(Ordering::SeqCst);
    let b = second();
    compiler_fence(Ordering::SeqCst);
    (a, b)
}

/// The caller of chili's join runs the second task first: it gets them in reverse.
#[inline(always)]
fn chili_join<A: Send, B: Send>(
    scope: &mut chili::Scope<'_>,
    first: impl FnOnce(&mut chili::Scope<'_>) -> A + Send,
    second: impl FnOnce(&mut chili::Scope<'_>) -> B + Send,
) -> (A, B) {
    let (b, a) = scope.join(second, first);
    (a, b)
}

/// The recursions with a certain fork, which may need a context.
macro_rules! recursions {
    ($(#[$inline:meta])? $module:ident, $(|$c:ident: $context:ty|)? $fork:path) => {
        mod $module {
            use super::*;

            $(#[$inline])?
            pub(super) fn fib($($c: $context,)? n: u64) -> u64 {
                if n < 2 {
                    return n;
                }
                let (a, b) = $fork($($c,)? |$($c)?| fib($($c,)? n - 1), |$($c)?| fib($($c,)? n - 2));
                a + b
            }

            $(#[$inline])?
            fn tree($($c: $context,)? node: &Node) -> u64 {
                let Some(children) = &node.children else { return node.value };
                let [left, right] = &**children;
                let (left, right) =
                    $fork($($c,)? |$($c)?| tree($($c,)? left), |$($c)?| tree($($c,)? right));
                node.with(left, right)
            }

            fn task($(_: $context,)? log: &Log) {
                log.task();
            }

            /// Forks tasks, each inside of the first task of the fork before, and holds the owner.
            fn spine($($c: $context,)? tasks: u64, log: &Log) {
                if tasks == 0 {
                    return log.hold();
                }
                $fork($($c,)? |$($c)?| spine($($c,)? tasks - 1, log), |$($c)?| task($($c,)? log));
            }

            /// A fork tree; if it is the owner's, the first leaf holds it.
            fn leaves($($c: $context,)? height: u32, is_owners: bool, log: &Log) {
                if height > 0 {
                    $fork(
                        $($c,)?
                        |$($c)?| leaves($($c,)? height - 1, is_owners, log),
                        |$($c)?| leaves($($c,)? height - 1, false, log),
                    );
                } else if is_owners {
                    log.hold();
                } else {
                    log.task();
                }
            }

            fn wait($(_: $context,)? log: &Log) {
                log.wait();
            }

            fn stuck($($c: $context,)? shape: Shape, log: &Log) {
                let tasks = Subject::Stuck(shape).forks();
                if let Shape::SpineAfterForks | Shape::TreeAfterForks = shape {
                    black_box(fib($($c,)? WARM_UP));
                }
                match shape {
                    Shape::Wait => {
                        $fork($($c,)? |$($c)?| wait($($c,)? log), |$($c)?| task($($c,)? log));
                    }
                    Shape::Spine | Shape::SpineAfterForks => spine($($c,)? tasks, log),
                    Shape::TreeAfterForks => leaves($($c,)? TREE_HEIGHT, true, log),
                }
            }

            pub(super) fn measure($($c: $context,)? work: &Work) -> (f64, u64) {
                timed(work, |work| match work {
                    Work::Fib(n) => fib($($c,)? *n),
                    Work::Tree(node) => tree($($c,)? node),
                    Work::Stuck(shape, log) => {
                        stuck($($c,)? *shape, log);
                        log.done.load(Ordering::Relaxed)
                    }
                })
            }
        }
    };
}

recursions!(
    #[inline(never)]
    on_calls,
    calls
);
recursions!(on_worker, |c: &Worker| Worker::join);
recursions!(on_join, locksley::join);
recursions!(on_rayon, rayon::join);
recursions!(on_chili, |c: &mut chili::Scope<'_>| chili_join);

/// The n-th Fibonacci number by [`Worker::join`].
pub fn fib(worker: &Worker, n: u64) -> u64 {
    on_worker::fib(worker, n)
}

/// The recursions without forks in mind; the compiler may turn one of the two calls into a loop.
fn plain(work: &Work) -> u64 {
    #[inline(never)]
    fn fib(n: u64) -> u64 {
        if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
    }
    #[inline(never)]
    fn tree(node: &Node) -> u64 {
        match &node.children {
            None => node.value,
            Some(children) => node.with(tree(&children[0]), tree(&children[1])),
        }
    }
    match work {
        Work::Fib(n) => fib(*n),
        Work::Tree(node) => tree(node),
        Work::Stuck(..) => unreachable!("it has no forks"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_know_their_forks_and_answers() {
        assert_eq!((Subject::Fib(2).forks(), Subject::Fib(22).forks()), (1, 28_656));
        assert_eq!(Subject::Fib(32).answer(0), 2_178_309);
        assert_eq!((Subject::Tree(2).forks(), Subject::Tree(24).forks()), (1, (1 << 23) - 1));
        assert_ne!(sum(5, 1), sum(5, 2));
        for wrong in ["fib", "fib 1", "fib many", "tree 31", "stuck pigs", "sort 9", ""] {
            assert!(matches!(Subject::find(wrong), Err(Fault::Input(_))), "{wrong}");
        }
    }

    #[test]
    fn every_runtime_computes_the_answer() {
        for (runtime, ..) in LOCAL {
            for subject in [Subject::Fib(13), Subject::Tree(9)] {
                for workers in [1, 3] {
                    let readings = measure(runtime, subject, workers, 5).unwrap();
                    assert!(readings["seconds"] > 0.0, "{runtime}");
                }
            }
        }
    }

    #[test]
    fn a_thief_runs_the_tasks_of_a_stuck_owner() {
        for runtime in ["locksley", "locksley-join", "rayon"] {
            for (shape, name, _) in SHAPES {
                let readings = measure(runtime, Subject::Stuck(shape), 2, 0).unwrap();
                assert!(readings["all ms"] >= readings["first ms"], "{runtime}, {name}");
            }
        }
        let serial = measure(SERIAL, Subject::Stuck(Shape::Wait), 2, 0);
        assert!(matches!(serial, Err(Fault::Input(_))));
    }
}
