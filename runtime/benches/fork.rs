//! What a fork costs that nobody steals, and what a pool's other operations cost, beside rayon.
//!
//! `cargo bench -p locksley`. Where one worker is used nothing is stolen; `fib` is given per fork, over what the serial
//! program takes for the same calls see `fib/serial`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use locksley::{Pool, Worker};

const N: u32 = 22;
/// Forks of fib(22): calls with n of 2 or more.
const FORKS: u64 = 28_656;

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

fn fib(c: &mut Criterion) {
    let (pool, rayon) = pools(1);
    let mut group = c.benchmark_group("fib");
    group.throughput(Throughput::Elements(FORKS));
    group.bench_function("serial", |b| b.iter(|| serial(black_box(N))));
    group.bench_function("locksley worker", |b| {
        b.iter_custom(|times| pool.run(|w| time(times, || on_worker(w, black_box(N)))));
    });
    group.bench_function("locksley join", |b| {
        b.iter_custom(|times| pool.run(|_| time(times, || looked_up(black_box(N)))));
    });
    group.bench_function("rayon join", |b| {
        b.iter_custom(|times| rayon.install(|| time(times, || on_rayon(black_box(N)))));
    });
    group.finish();
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

/// The sum over a tree that fits into the cache: a fork at each inner node.
fn tree_sum(c: &mut Criterion) {
    const LEVELS: u32 = 14;
    let (pool, rayon) = pools(1);
    let root = tree(LEVELS);
    let mut group = c.benchmark_group("tree");
    group.throughput(Throughput::Elements((1 << (LEVELS - 1)) - 1));
    group.bench_function("serial", |b| b.iter(|| sum_serially(black_box(&root))));
    group.bench_function("locksley worker", |b| {
        b.iter_custom(|times| pool.run(|w| time(times, || sum_on_worker(w, black_box(&root)))));
    });
    group.bench_function("rayon join", |b| {
        b.iter_custom(|times| rayon.install(|| time(times, || sum_on_rayon(black_box(&root)))));
    });
    group.finish();
}

fn scope(c: &mut Criterion) {
    let (pool, rayon) = pools(1);
    let mut group = c.benchmark_group("scope of 100");
    group.throughput(Throughput::Elements(100));
    let on_locksley = |w: &Worker| {
        w.scope(|w, scope| {
            (0..100).for_each(|n| {
                scope.spawn_on(w, move |_, _| {
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
        b.iter_custom(|times| pool.run(|w| time(times, || on_locksley(w))));
    });
    group.bench_function("rayon", |b| {
        b.iter_custom(|times| rayon.install(|| time(times, on_rayon)));
    });
    group.finish();
}

/// There and back, from a thread that is no worker.
fn run(c: &mut Criterion) {
    let mut group = c.benchmark_group("run");
    for workers in [1, 2, 4] {
        let (pool, rayon) = pools(workers);
        group.bench_function(format!("locksley, {workers} workers"), |b| {
            b.iter(|| pool.run(|w| w.index()));
        });
        group.bench_function(format!("rayon, {workers} workers"), |b| {
            b.iter(|| rayon.install(rayon::current_thread_index));
        });
    }
    group.finish();
}

criterion_group!(benches, fib, tree_sum, scope, run);
criterion_main!(benches);
