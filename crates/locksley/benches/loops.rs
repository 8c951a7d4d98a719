//! Loops that find the size of their leaves, compared with sizes tuned by hand.
//!
//! `cargo bench -p locksley --bench loops`. A body is a number of steps of xorshift64. `tuned/N`
//! has leaves of N items. Compare `found` with the best of these. On a shared host, differences
//! below a tenth mean nothing.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use locksley::loops::par;
use locksley::{Pool, Worker};

/// The number of items and of the steps of a body: from a nanosecond to a millisecond.
const BODIES: [(u64, u64); 4] = [(1_000_000, 1), (100_000, 50), (2_000, 5_000), (50, 500_000)];

const LEAVES: [usize; 6] = [1, 4, 16, 64, 1024, 16_384];

fn body(item: u64, steps: u64) -> u64 {
    let mut x = item | 1;
    for _ in 0..black_box(steps) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

fn found(_: &Worker, items: u64, steps: u64) -> u64 {
    par(0..items).reduce(|| 0, |sum, item| sum ^ body(item, steps), |a, b| a ^ b)
}

fn tuned(_: &Worker, items: u64, steps: u64, leaf: usize) -> u64 {
    let items = par(0..items).grain(leaf);
    items.reduce(|| 0, |sum, item| sum ^ body(item, steps), |a, b| a ^ b)
}

fn serial(items: u64, steps: u64) -> u64 {
    (0..items).fold(0, |sum, item| sum ^ body(item, steps))
}

fn loops(c: &mut Criterion) {
    for workers in [1, 2] {
        let pool = Pool::new(workers).unwrap();
        for (items, steps) in BODIES {
            let expected = serial(items, steps);
            let mut group = c.benchmark_group(format!("loops/P={workers}/{steps} steps"));
            group.throughput(Throughput::Elements(items));
            group.bench_function("serial", |b| b.iter(|| serial(items, steps)));
            group.bench_function("found", |b| {
                b.iter(|| assert_eq!(pool.install(|w| found(w, items, steps)), expected));
            });
            for leaf in LEAVES.into_iter().filter(|&leaf| leaf as u64 * 2 <= items) {
                group.bench_function(BenchmarkId::new("tuned", leaf), |b| {
                    b.iter(|| assert_eq!(pool.install(|w| tuned(w, items, steps, leaf)), expected));
                });
            }
            group.finish();
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    targets = loops
}
criterion_main!(benches);
