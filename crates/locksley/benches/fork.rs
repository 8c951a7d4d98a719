//! The cost of a fork, compared with rayon and chili; the time until a task of a stuck worker
//! begins on another; and the cost of a pool's other operations, compared with rayon.
//!
//! `cargo bench -p locksley --bench fork`. `fib` and `tree` report the time per fork. The cost of a
//! fork is that time less the time of `serial`. With one worker there are no steals.

use std::hint::{black_box, spin_loop};
use std::num::NonZero;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use locksley::{Pool, Worker};

fn serial(n: u32) -> u32 {
    if n < 2 { n } else { serial(n - 1) + serial(n - 2) }
}

fn on_worker(w: &Worker, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| on_worker(w, n - 1), |w| on_worker(w, n - 2));
    a + b
}

fn looked_up(n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = locksley::join(|| looked_up(n - 1), || looked_up(n - 2));
    a + b
}

fn on_rayon(n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| on_rayon(n - 1), || on_rayon(n - 2));
    a + b
}

/// Chili's join runs the second closure first. Reversed, so that all runtimes use the same order.
fn on_chili(scope: &mut chili::Scope<'_>, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (b, a) = scope.join(|s| on_chili(s, n - 2), |s| on_chili(s, n - 1));
    a + b
}

fn time<R>(times: u64, mut operation: impl FnMut() -> R) -> Duration {
    let start = Instant::now();
    for _ in 0..times {
        black_box(operation());
    }
    start.elapsed()
}

fn pools(workers: usize) -> (Pool, rayon::ThreadPool) {
    let rayon = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
    (Pool::new(workers).unwrap(), rayon.unwrap())
}

/// The thread that uses the pool is one of the workers.
fn chili_pool(workers: usize) -> chili::ThreadPool {
    let thread_count = NonZero::new(workers);
    chili::ThreadPool::with_config(chili::Config { thread_count, ..Default::default() })
}

/// Runs a group of benchmarks, each with this number of forks.
fn forks(
    c: &mut Criterion,
    name: String,
    forks: u64,
    benchmarks: impl FnOnce(&mut BenchmarkGroup<'_, WallTime>),
) {
    let mut group = c.benchmark_group(name);
    group.sample_size(30).measurement_time(Duration::from_secs(2));
    group.throughput(Throughput::Elements(forks));
    benchmarks(&mut group);
    group.finish();
}

fn fib(c: &mut Criterion) {
    // With two workers it takes longer, so that their start does not matter.
    for (workers, n) in [(1, 22), (2, 27)] {
        // The number of calls with `n >= 2`.
        let number = u64::from(serial(n + 1) - 1);
        let ((pool, rayon), chili) = (pools(workers), chili_pool(workers));
        forks(c, format!("fib({n})/P={workers}"), number, |group| {
            group.bench_function("serial", |b| b.iter(|| serial(black_box(n))));
            group.bench_function("locksley worker", |b| {
                b.iter_custom(|times| pool.install(|w| time(times, || on_worker(w, black_box(n)))));
            });
            group.bench_function("locksley join", |b| {
                b.iter_custom(|times| pool.install(|_| time(times, || looked_up(black_box(n)))));
            });
            group.bench_function("rayon", |b| {
                b.iter_custom(|times| rayon.install(|| time(times, || on_rayon(black_box(n)))));
            });
            group.bench_function("chili", |b| {
                let mut scope = chili.scope();
                b.iter_custom(|times| time(times, || on_chili(&mut scope, black_box(n))));
            });
        });
    }
}

/// A node with two children or none.
struct Node {
    value: u64,
    children: Option<Box<[Node; 2]>>,
}

/// A perfect tree with `levels` levels.
fn tree(levels: u32) -> Node {
    let children = (levels > 1).then(|| Box::new([tree(levels - 1), tree(levels - 1)]));
    Node { value: 1, children }
}

fn sum_serially(node: &Node) -> u64 {
    let Some(children) = &node.children else { return node.value };
    node.value + sum_serially(&children[0]) + sum_serially(&children[1])
}

fn sum_on_worker(w: &Worker, node: &Node) -> u64 {
    let Some(children) = &node.children else { return node.value };
    let [left, right] = &**children;
    let (a, b) = w.join(|w| sum_on_worker(w, left), |w| sum_on_worker(w, right));
    node.value + a + b
}

fn sum_on_rayon(node: &Node) -> u64 {
    let Some(children) = &node.children else { return node.value };
    let [left, right] = &**children;
    let (a, b) = rayon::join(|| sum_on_rayon(left), || sum_on_rayon(right));
    node.value + a + b
}

/// In reverse, as in [`on_chili`].
fn sum_on_chili(scope: &mut chili::Scope<'_>, node: &Node) -> u64 {
    let Some(children) = &node.children else { return node.value };
    let [left, right] = &**children;
    let (b, a) = scope.join(|s| sum_on_chili(s, right), |s| sum_on_chili(s, left));
    node.value + a + b
}

/// The sum over a tree that fits into the cache, with a fork at each inner node.
fn tree_sum(c: &mut Criterion) {
    for (workers, levels) in [(1, 14), (2, 17)] {
        let root = tree(levels);
        let ((pool, rayon), chili) = (pools(workers), chili_pool(workers));
        forks(
            c,
            format!("tree of {levels} levels/P={workers}"),
            (1 << (levels - 1)) - 1,
            |group| {
                group.bench_function("serial", |b| b.iter(|| sum_serially(black_box(&root))));
                group.bench_function("locksley worker", |b| {
                    b.iter_custom(|times| {
                        pool.install(|w| time(times, || sum_on_worker(w, black_box(&root))))
                    });
                });
                group.bench_function("rayon", |b| {
                    b.iter_custom(|times| {
                        rayon.install(|| time(times, || sum_on_rayon(black_box(&root))))
                    });
                });
                group.bench_function("chili", |b| {
                    let mut scope = chili.scope();
                    b.iter_custom(|times| {
                        time(times, || sum_on_chili(&mut scope, black_box(&root)))
                    });
                });
            },
        );
    }
}

/// A join with a first task that spins until the second has begun: the owner is stuck, and keeps
/// its processor.
#[derive(Default)]
struct Stuck(OnceLock<Instant>);

impl Stuck {
    /// The first task.
    fn wait(&self) {
        while self.0.get().is_none() {
            spin_loop();
        }
    }

    /// The second task.
    fn begin(&self) {
        self.0.set(Instant::now()).expect("a task runs once");
    }

    /// The time from `forked` until the second task began.
    fn since(&self, forked: Instant) -> Duration {
        self.0.get().map_or(Duration::ZERO, |begun| *begun - forked)
    }
}

/// The time from a fork until its task begins on the other one of two workers, while the owner is
/// stuck: at once, or after thousands of forks without a steal. Chili would not finish, since it
/// shares tasks only at forks of their owner.
fn stuck_owner(c: &mut Criterion) {
    let (pool, rayon) = pools(2);
    let mut group = c.benchmark_group("stuck owner");
    group.sample_size(30).measurement_time(Duration::from_secs(1));
    for (name, n) in [("at once", 1), ("after forks", 18)] {
        let on_locksley = |w: &Worker| {
            on_worker(w, black_box(n));
            let (stuck, forked) = (Stuck::default(), Instant::now());
            w.join(|_| stuck.wait(), |_| stuck.begin());
            stuck.since(forked)
        };
        let on_rayon = || {
            on_rayon(black_box(n));
            let (stuck, forked) = (Stuck::default(), Instant::now());
            rayon::join(|| stuck.wait(), || stuck.begin());
            stuck.since(forked)
        };
        group.bench_function(format!("locksley, {name}"), |b| {
            b.iter_custom(|times| pool.install(|w| (0..times).map(|_| on_locksley(w)).sum()));
        });
        group.bench_function(format!("rayon, {name}"), |b| {
            b.iter_custom(|times| rayon.install(|| (0..times).map(|_| on_rayon()).sum()));
        });
    }
    group.finish();
}

fn scope(c: &mut Criterion) {
    let (pool, rayon) = pools(1);
    let mut group = c.benchmark_group("scope of 100");
    group.throughput(Throughput::Elements(100));
    let on_locksley = |_: &Worker| {
        locksley::in_place_scope(|scope| {
            (0..100).for_each(|n| {
                scope.spawn(move |_| {
                    black_box(n);
                });
            });
        });
    };
    let on_rayon = || {
        rayon::scope(|scope| {
            (0..100).for_each(|n| {
                scope.spawn(move |_| {
                    black_box(n);
                });
            });
        });
    };
    group.bench_function("locksley", |b| {
        b.iter_custom(|times| pool.install(|w| time(times, || on_locksley(w))));
    });
    group.bench_function("rayon", |b| {
        b.iter_custom(|times| rayon.install(|| time(times, on_rayon)));
    });
    group.finish();
}

/// The round trip of an `install` from a thread that is no worker.
fn run(c: &mut Criterion) {
    let mut group = c.benchmark_group("run");
    for workers in [1, 2, 4] {
        let (pool, rayon) = pools(workers);
        group.bench_function(format!("locksley, {workers} workers"), |b| {
            b.iter(|| pool.install(|w| w.index()));
        });
        group.bench_function(format!("rayon, {workers} workers"), |b| {
            b.iter(|| rayon.install(rayon::current_thread_index));
        });
    }
    group.finish();
}

criterion_group!(benches, fib, tree_sum, stuck_owner, scope, run);
criterion_main!(benches);
