//! The recursions that `forkjoin` measures, on the runtimes of this process.

use std::hint::black_box;
use std::num::NonZero;
use std::sync::atomic::{Ordering, compiler_fence};
use std::time::Instant;

use locksley::Worker;

use super::{PLAIN, SERIAL};
use crate::experiment::prelude::*;
use crate::random::mix;
use crate::runtimes::{self, Crew};

/// The version of this package's own runtimes.
const OURS: &str = env!("CARGO_PKG_VERSION");

const JOIN: &str = "locksley-join";
const CHILI: &str = "chili";

/// The runtimes of this process: name, version, and what each is.
pub const LOCAL: [(&str, &str, &str); 7] = [
    (SERIAL, OURS, "the same code with two calls for a fork"),
    (PLAIN, OURS, "the plain recursion, Ts; compilers turn some of its calls into loops"),
    ("locksley", OURS, "Worker::join"),
    (JOIN, OURS, "join: the worker is looked up at each fork"),
    ("locksley-profiled", OURS, "Worker::join, in a pool with a profiler"),
    ("rayon", env!("LAB_RAYON"), "rayon::join"),
    (CHILI, env!("LAB_CHILI"), "Scope::join; most joins only call, and share at a heartbeat"),
];

/// Above these, a measurement takes hours, or all memory.
const LARGEST_FIB: u32 = 60;
const MOST_LEVELS: u32 = 30;

/// The n of the fib that is computed before anything is timed.
const WARM_UP: u64 = 20;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The n-th Fibonacci number, doubly recursive: nothing but forks.
    Fib(u32),
    /// The sum over a perfect binary tree with so many levels: forks, and memory that is read.
    Tree(u32),
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
            _ => Err(Fault::input(format!("unknown subject '{kind}'; there are fib, tree"))),
        }
    }

    /// The forks of a computation.
    pub fn forks(self) -> u64 {
        match self {
            Subject::Fib(n) => fibonacci(n + 1) - 1,
            Subject::Tree(levels) => (1 << (levels - 1)) - 1,
        }
    }

    /// The right answer, found in another way.
    pub fn answer(self, seed: u64) -> u64 {
        match self {
            Subject::Fib(n) => fibonacci(n),
            Subject::Tree(levels) => sum(levels, seed),
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
/// [`Fault::Input`] if there is no such runtime, or it has no forks; [`Fault::Run`] if the answer
/// is wrong, or tasks are lost.
pub fn measure(runtime: &str, subject: Subject, workers: usize, seed: u64) -> Outcome<Readings> {
    chosen("runtime", &[runtime.to_owned()], &LOCAL.map(|local| local.0), &[])?;
    let work = match subject {
        Subject::Fib(n) => Work::Fib(u64::from(n)),
        Subject::Tree(levels) => Work::Tree(build(levels, seed)),
    };
    let crew = |name| runtimes::find(name)?.start(workers).map_err(Fault::input);
    let (seconds, answer) = match runtime {
        PLAIN => timed(&work, plain),
        CHILI => {
            let thread_count = NonZero::new(workers);
            let config = chili::Config { thread_count, ..chili::Config::default() };
            // The calling thread is one of its workers.
            let pool = chili::ThreadPool::with_config(config);
            on_chili::measure(&mut pool.scope(), &work)
        }
        _ => match crew(runtime.trim_end_matches("-join"))? {
            Crew::Rayon(pool) => pool.install(|| on_rayon::measure(&work)),
            Crew::Locksley(pool) if runtime == JOIN => pool.install(|_| on_join::measure(&work)),
            Crew::Locksley(pool) => pool.install(|worker| on_worker::measure(worker, &work)),
            _ => on_calls::measure(&work),
        },
    };
    right(answer, subject.answer(seed))?;
    // The process ends soon: it does not free millions of nodes one by one.
    std::mem::forget(work);
    Ok(named([(SECONDS, seconds)]))
}

/// A subject with its input.
enum Work {
    Fib(u64),
    Tree(Node),
}

/// The time of `compute`, in seconds, and its answer. The worker that begins the computation takes
/// the time, so it does not include the way into the pool.
fn timed(work: &Work, mut compute: impl FnMut(&Work) -> u64) -> (f64, u64) {
    compute(black_box(&Work::Fib(WARM_UP)));
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
            fn fib($($c: $context,)? n: u64) -> u64 {
                if n < 2 {
                    return n;
                }
                let (a, b) =
                    $fork($($c,)? |$($c)?| fib($($c,)? n - 1), |$($c)?| fib($($c,)? n - 2));
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

            pub(super) fn measure($($c: $context,)? work: &Work) -> (f64, u64) {
                timed(work, |work| match work {
                    Work::Fib(n) => fib($($c,)? *n),
                    Work::Tree(node) => tree($($c,)? node),
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
        for wrong in ["fib", "fib 1", "fib many", "tree 31", "stuck wait", "sort 9", ""] {
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
}
