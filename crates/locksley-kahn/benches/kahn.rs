//! What a message between processes costs, beside tokio's tasks and its bounded channel:
//! `cargo bench -p locksley-kahn`.
//!
//! One item is one hop of a token in a ring of a thousand processes, or one message through one
//! channel, or through a pipeline of ten.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use locksley::Pool;
use locksley_kahn::Network;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

const RING: u64 = 1000;
const TURNS: u64 = 300;
const MESSAGES: u64 = 400_000;
const PIPELINE: usize = 10;
const CAPACITY: usize = 64;

fn ring(pool: &Pool) -> Duration {
    let mut network = Network::new();
    let (outlets, mut inlets): (Vec<_>, Vec<_>) =
        (0..RING).map(|_| network.channel::<u64>("", 8)).unzip();
    inlets.rotate_right(1);
    let mut first = None;
    for (n, ends) in outlets.into_iter().zip(inlets).enumerate() {
        let product = network.process("", ends, async move |(mut output, mut input)| {
            let since = Instant::now();
            if n == 0 {
                output.send(0).await;
            }
            for _ in 0..TURNS {
                let Some(hops) = input.recv().await else { break };
                output.send(hops + 1).await;
            }
            since.elapsed()
        });
        first.get_or_insert(product);
    }
    network.run(pool).expect("it ends");
    first.and_then(|product| product.take()).expect("it has ended")
}

fn ring_of_tokio(runtime: &Runtime) -> Duration {
    let (outputs, mut inputs): (Vec<_>, Vec<_>) =
        (0..RING).map(|_| mpsc::channel::<u64>(8)).unzip();
    inputs.rotate_right(1);
    let tasks = outputs.into_iter().zip(inputs).enumerate().map(|(n, (output, mut input))| {
        runtime.spawn(async move {
            let since = Instant::now();
            if n == 0 {
                let _ = output.send(0).await;
            }
            for _ in 0..TURNS {
                let Some(hops) = input.recv().await else { break };
                let _ = output.send(hops + 1).await;
            }
            since.elapsed()
        })
    });
    let tasks: Vec<_> = tasks.collect();
    let times: Vec<_> =
        tasks.into_iter().map(|task| runtime.block_on(task).expect("it ends")).collect();
    times[0]
}

/// Messages through that many stages between the first and the last process.
fn stream(pool: &Pool, stages: usize) -> Duration {
    let mut network = Network::new();
    let (output, mut input) = network.channel::<u64>("", CAPACITY);
    network.process("", output, async |mut output| {
        for n in 0..MESSAGES {
            output.send(n).await;
        }
    });
    for _ in 0..stages {
        let (output, next) = network.channel("", CAPACITY);
        network.process("", (input, output), async |(mut input, mut output)| {
            while let Some(n) = input.recv().await {
                output.send(n + 1).await;
            }
        });
        input = next;
    }
    let time = network.process("", input, async |mut input| {
        let mut since = None;
        while let Some(n) = input.recv().await {
            since.get_or_insert_with(Instant::now);
            black_box(n);
        }
        since.map_or(Duration::ZERO, |since| since.elapsed())
    });
    network.run(pool).expect("it ends");
    time.take().expect("it has ended")
}

fn stream_of_tokio(runtime: &Runtime, stages: usize) -> Duration {
    let (output, mut input) = mpsc::channel::<u64>(CAPACITY);
    runtime.spawn(async move {
        for n in 0..MESSAGES {
            let _ = output.send(n).await;
        }
    });
    for _ in 0..stages {
        let (output, next) = mpsc::channel(CAPACITY);
        let mut from = std::mem::replace(&mut input, next);
        runtime.spawn(async move {
            while let Some(n) = from.recv().await {
                let _ = output.send(n + 1).await;
            }
        });
    }
    let last = runtime.spawn(async move {
        let mut since = None;
        while let Some(n) = input.recv().await {
            since.get_or_insert_with(Instant::now);
            black_box(n);
        }
        since.map_or(Duration::ZERO, |since| since.elapsed())
    });
    runtime.block_on(last).expect("it ends")
}

fn main() {
    let mut criterion = Criterion::default()
        .configure_from_args()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500));
    for workers in [1, 2] {
        let pool = Pool::new(workers).expect("a pool");
        let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).build();
        let tokio = tokio.expect("a runtime");
        let mut group = criterion.benchmark_group(format!("{workers} workers"));
        group.throughput(Throughput::Elements(RING * TURNS));
        let sum = |times: u64, once: &dyn Fn() -> Duration| (0..times).map(|_| once()).sum();
        group.bench_function(BenchmarkId::new("ring", "locksley"), |bencher| {
            bencher.iter_custom(|times| sum(times, &|| ring(&pool)));
        });
        group.bench_function(BenchmarkId::new("ring", "tokio"), |bencher| {
            bencher.iter_custom(|times| sum(times, &|| ring_of_tokio(&tokio)));
        });
        group.throughput(Throughput::Elements(MESSAGES));
        for (name, stages) in [("one channel", 0), ("pipeline", PIPELINE - 2)] {
            group.bench_function(BenchmarkId::new(name, "locksley"), |bencher| {
                bencher.iter_custom(|times| sum(times, &|| stream(&pool, stages)));
            });
            group.bench_function(BenchmarkId::new(name, "tokio"), |bencher| {
                bencher.iter_custom(|times| sum(times, &|| stream_of_tokio(&tokio, stages)));
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
