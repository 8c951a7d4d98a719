//! A tokio program has its heavy work done by Locksley:
//! `cargo run --release -p locksley --example offload`
//!
//! Tokio's workers are for tasks that wait. A task that computes for long holds up what is queued
//! behind it. So the heavy part of a request is spawned as a task of a pool, where it may fork, and
//! is awaited like any other future. In the other direction, a task awaits tokio's channels, which
//! need no runtime.

use locksley::Pool;

/// The number of primes below `end`.
fn primes(end: u32) -> usize {
    let is_prime = |n: u32| (2..).take_while(|d| d * d <= n).all(|d| n % d != 0);
    let count = |found, n| found + usize::from(is_prime(n));
    locksley::loops::par(2..end).reduce(|| 0, count, |a, b| a + b)
}

fn main() {
    let pool = Pool::new(2).expect("a pool of two workers");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
    let runtime = runtime.expect("a runtime with one worker");
    runtime.block_on(async {
        let (sender, mut answers) = tokio::sync::mpsc::channel(2);
        let requests: Vec<_> = [10, 1_000, 30_000]
            .map(|end| {
                let sender = sender.clone();
                pool.spawn_future(async move {
                    let found = primes(end);
                    let _ = sender.send((end, found)).await; // waits without taking up a worker
                    found
                })
            })
            .into();
        drop(sender);
        while let Some((end, found)) = answers.recv().await {
            println!("{found} primes below {end}");
        }
        let mut found = Vec::new();
        for request in requests {
            found.push(request.await.expect("it neither panics nor is cancelled"));
        }
        assert_eq!(found, [4, 168, 3245]);
    });
}
