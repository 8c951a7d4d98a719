//! What a fork costs that nobody steals, and what a pool's other operations cost, beside rayon.
//!
//! `cargo bench -p locksley`. One worker, so that nothing is stolen; divide a fib by its number of forks (28,656 for
//! `fib(22)`) to have the cost of one.

use std::hint::black_box;

use divan::Bencher;
use locksley::{Pool, Worker};

const N: u32 = 22;

fn main() {
    divan::main();
}

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

#[divan::bench]
fn fib_serial(bencher: Bencher) {
    bencher.bench(|| serial(black_box(N)));
}

#[divan::bench]
fn fib_locksley_worker(bencher: Bencher) {
    let pool = Pool::new(1).unwrap();
    pool.run(|w| bencher.bench_local(|| on_worker(w, black_box(N))));
}

#[divan::bench]
fn fib_locksley_join(bencher: Bencher) {
    let pool = Pool::new(1).unwrap();
    pool.run(|_| bencher.bench_local(|| looked_up(black_box(N))));
}

#[divan::bench]
fn fib_rayon(bencher: Bencher) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| bencher.bench(|| on_rayon(black_box(N))));
}

#[divan::bench(args = [1, 2, 4])]
fn run_locksley(bencher: Bencher, workers: usize) {
    let pool = Pool::new(workers).unwrap();
    bencher.bench_local(|| pool.run(|w| w.index()));
}

#[divan::bench(args = [1, 2, 4])]
fn run_rayon(bencher: Bencher, workers: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
    bencher.bench_local(|| pool.install(rayon::current_thread_index));
}

#[divan::bench]
fn scope_of_100_locksley(bencher: Bencher) {
    let pool = Pool::new(1).unwrap();
    pool.run(|w| {
        bencher.bench_local(|| {
            w.scope(|w, scope| {
                for n in 0..100 {
                    scope.spawn_on(w, move |_, _| {
                        black_box(n);
                    });
                }
            });
        });
    });
}

#[divan::bench]
fn scope_of_100_rayon(bencher: Bencher) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        bencher.bench(|| {
            rayon::scope(|scope| {
                for n in 0..100 {
                    scope.spawn(move |_| {
                        black_box(n);
                    });
                }
            });
        });
    });
}
